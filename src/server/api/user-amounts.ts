// The amounts in a user form: the changes of balances they stand for, and their booking in the ledger (requirements W3.5).
import { LogType } from "#contract/log.ts";
import type { UserUpdate } from "#contract/user-admin.ts";
import { microOf, yuanText } from "#contract/yuan.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { bookedUnder } from "#server/money/booked.ts";
import { leastWithdrawal } from "#server/money/commission-terms.ts";
import type { LogNote } from "#server/money/partner-operations.ts";
import { balanceFault } from "#server/money/rules-booking.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import type { Options } from "#server/options.ts";
import type { UserChange, UserRow } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";

/** undefined = none. */
type AmountChange = { readonly delta: bigint } | { readonly target: bigint } | undefined;

export interface AmountChanges {
  readonly quota: AmountChange;
  /** Commission, millionths of a yuan. */
  readonly micro: AmountChange;
}

/**
 * A form without the fields that are as they are stored: consoles of the family send the whole row back, also what their user may not
 * change, and an amount that he did not touch must not undo what calls took meanwhile (requirements Z19).
 */
export function changedFields(body: UserUpdate, target: UserRow): UserUpdate {
  const stored: Readonly<Record<string, unknown>> = {
    group: target.group,
    role: target.role,
    status: target.status,
    quota: body.original_quota ?? target.quota,
    invite_commission_balance:
      body.original_invite_commission_balance ?? yuanText(target.invite_commission_micro),
  };
  // Only fields that may be left out are left out.
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !Object.hasOwn(stored, name) || value !== stored[name]),
  ) as UserUpdate;
}

/** The changes of a user's balances that the amounts in a form stand for. Throws: AppError when a balance cannot become that. */
export function amountChanges(body: UserUpdate, target: UserRow): AmountChanges {
  const amounts = {
    quota: amountChange(units(body.quota), units(body.original_quota), BigInt(target.quota)),
    micro: amountChange(
      micro(body.invite_commission_balance),
      micro(body.original_invite_commission_balance),
      BigInt(target.invite_commission_micro),
    ),
  };
  refuseUnbooked({ outcome: foreseen(amounts.quota, BigInt(target.quota)) });
  refuseUnbooked({ outcome: foreseen(amounts.micro, BigInt(target.invite_commission_micro)) });
  return amounts;
}

/** By how much a change raises a balance; below 0 = it lowers it. */
export function deltaOf(change: AmountChange, current: bigint): bigint {
  if (change === undefined) return 0n;
  return "target" in change ? change.target - current : change.delta;
}

/** What the ledger will answer if the balance does not change before. */
function foreseen(change: AmountChange, current: bigint): string {
  if (change === undefined) return "done";
  return balanceFault(current, current + deltaOf(change, current)) ?? "done";
}

function units(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

function micro(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : microOf(text);
}

/** With the amount that the form was opened with, the difference to it; else the new amount. */
function amountChange(
  given: bigint | undefined,
  original: bigint | undefined,
  current: bigint,
): AmountChange {
  if (given === undefined) return undefined;
  if (original !== undefined) return given === original ? undefined : { delta: given - original };
  return given === current ? undefined : { target: given };
}

/**
 * Books changed amounts: entries in the ledger with actor and reason, and rows in the user's log. A form that is sent again, with the
 * same Idempotency-Key, changes each balance once (requirements M20, M22). The audit log has the edit by then; what the ledger refuses
 * after all is logged too. Throws: AppError then, which says that the rest is done.
 */
export async function pay(
  ctx: Context,
  call: ActCall & { readonly idempotencyKey: string | undefined },
  order: { target: UserRow; remark: string; amounts: AmountChanges },
): Promise<void> {
  const { target, remark, amounts } = order;
  const { actor, idempotencyKey } = call;
  const note = (content: string): LogNote => ({
    type: LogType.manage,
    content: withRemark(content, remark),
    display: quotaDisplay(ctx.options),
  });
  const by = { userId: target.id, actorId: actor.id };
  const refused: string[] = [];
  const hear = async (what: string, outcome: string) => {
    await noteRefused(ctx, call, { of: "user", id: target.id }, { what, outcome });
    const refusal = REFUSALS.get(outcome);
    if (refusal !== undefined) refused.push(refusal);
  };
  const { quota, micro } = amounts;
  if (quota) {
    const reason = remark || "管理员修改额度";
    const log = note("管理员将额度从 {before} 修改为 {after}");
    const once = onceIn(quota, idempotencyKey && `edit-quota-${idempotencyKey}`);
    const { outcome } = await ctx.ledger.adjust({ ...by, ...once, kind: "adjust", quota, reason, log });
    await hear("quota", outcome);
    if (outcome === "repeated") await refuseOther(ctx, once, "quota", quota);
  }
  if (micro) {
    const reason = remark || "管理员修改返现余额";
    const log = note("管理员将返现余额从 {before} 修改为 {after}");
    const once = onceIn(micro, idempotencyKey && `edit-commission-${idempotencyKey}`);
    const change = { ...by, ...once, kind: "commission-adjust", micro, reason, log } as const;
    const { outcome } = await ctx.ledger.changeCommission(change);
    await hear("invite_commission_balance", outcome);
    if (outcome === "repeated") await refuseOther(ctx, once, "micro", micro);
  }
  if (refused.length > 0) throw faults.refused(`${refused.join("；")}；其余修改已保存`);
}

/** Logs that the ledger did not do what the audit log's row before says: that row comes first (requirements Z13). */
export async function noteRefused(
  ctx: Context,
  call: ActCall,
  { of, id }: { readonly of: "user" | "team"; readonly id: number },
  { what, outcome }: { readonly what: string; readonly outcome: string },
): Promise<void> {
  if (outcome === "done" || outcome === "repeated") return;
  await audit(ctx, ctx.db, call, { action: `${of}.amount_refused`, target: id, detail: { what, outcome } });
}

interface Once {
  readonly operationId?: string;
}

/** The natural key of a difference; an absolute amount may be set twice. */
function onceIn(change: NonNullable<AmountChange>, operationId: string | undefined): Once {
  return operationId && "delta" in change ? { operationId } : {};
}

/** Throws: AppError when the form was booked before with another difference, which this one would be added to. */
async function refuseOther(
  ctx: Pick<Context, "db">,
  { operationId = "" }: Once,
  part: "quota" | "micro",
  change: NonNullable<AmountChange>,
): Promise<void> {
  const booked = await bookedUnder(ctx.db, operationId);
  if ("delta" in change && booked?.[part] !== change.delta)
    throw faults.refused("这次修改的金额已经入账，请重新打开后再修改");
}

/** A log text followed by the administrator's remark. */
export function withRemark(content: string, remark: string): string {
  return remark === "" ? content : `${content}（${remark}）`;
}

/** What the ledger answers when it changed nothing; `repeated` is no failure. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ["not_found", "找不到该用户"],
  ["below_zero", "余额不足，不能减少这么多"],
  ["too_large", "额度超出范围"],
]);

/** Throws: AppError when the ledger changed nothing. */
export function refuseUnbooked({ outcome }: { readonly outcome: string }): void {
  const refusal = REFUSALS.get(outcome);
  if (refusal !== undefined) throw faults.refused(refusal);
}

/** Why less than is paid out at once is refused. */
export function leastText(options: Options): string {
  return `提现金额不能少于 ${yuanText(leastWithdrawal(options))} 元`;
}

/** The audit log's detail of an edit: what changed, a password only by its name. */
export function describeEdit(
  change: UserChange,
  body: UserUpdate,
  amounts: AmountChanges,
): Record<string, unknown> {
  return {
    ...change,
    ...(change.password === undefined ? {} : { password: "changed" }),
    ...(amounts.quota ? { quota: body.quota, original_quota: body.original_quota } : {}),
    ...(amounts.micro ? { invite_commission_balance: body.invite_commission_balance } : {}),
    ...(body.remark ? { remark: body.remark } : {}),
  };
}
