// The amounts in a user form: what they mean as changes of balances, and their booking by the bank (contract 3.5).
import { LogType } from "#contract/log.ts";
import type { UserUpdate } from "#contract/user-admin.ts";
import { microOf } from "#contract/yuan.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { bookedUnder } from "#server/money/booked.ts";
import type { LogNote } from "#server/money/partner-operations.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import type { UserChange, UserRow } from "#server/store/users.ts";
import type { ActCall } from "./audit-trail.ts";

/** undefined = none. */
type AmountChange = { readonly delta: bigint } | { readonly target: bigint } | undefined;

export interface AmountChanges {
  readonly quota: AmountChange;
  /** Commission, millionths of a yuan. */
  readonly micro: AmountChange;
}

/** What the amounts in a form mean for the balances of a user. */
export function amountChanges(body: UserUpdate, target: UserRow): AmountChanges {
  return {
    quota: amountChange(units(body.quota), units(body.original_quota), BigInt(target.quota)),
    micro: amountChange(
      micro(body.invite_commission_balance),
      micro(body.original_invite_commission_balance),
      BigInt(target.invite_commission_micro),
    ),
  };
}

function units(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

function micro(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : microOf(text);
}

/** With what the form was opened with, the difference to it; else the amount that there shall be. */
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
 * Books changed amounts: entries in the ledger with actor and reason, and lines in the user's log. A form that is sent again, with the
 * same Idempotency-Key, changes each balance once (reliability M20, M22). Throws: refusals.
 */
export async function pay(
  ctx: Context,
  { actor, idempotencyKey }: Pick<ActCall, "actor"> & { readonly idempotencyKey: string | undefined },
  order: { target: UserRow; remark: string; amounts: AmountChanges },
): Promise<void> {
  const { target, remark, amounts } = order;
  const note = (content: string): LogNote => ({
    type: LogType.manage,
    content: withRemark(content, remark),
    display: quotaDisplay(ctx.options),
  });
  const by = { userId: target.id, actorId: actor.id };
  const { quota, micro } = amounts;
  if (quota) {
    const reason = remark || "管理员修改额度";
    const log = note("管理员将额度从 {before} 修改为 {after}");
    const once = onceIn(quota, idempotencyKey && `edit-quota-${idempotencyKey}`);
    const adjusted = await ctx.ledger.adjust({ ...by, ...once, kind: "adjust", quota, reason, log });
    refuseUnbooked(adjusted);
    if (adjusted.outcome === "repeated") await refuseOther(ctx, once, "quota", quota);
  }
  if (micro) {
    const reason = remark || "管理员修改返现余额";
    const log = note("管理员将返现余额从 {before} 修改为 {after}");
    const once = onceIn(micro, idempotencyKey && `edit-commission-${idempotencyKey}`);
    const change = { ...by, ...once, kind: "commission-adjust", micro, reason, log } as const;
    const changed = await ctx.ledger.changeCommission(change);
    refuseUnbooked(changed);
    if (changed.outcome === "repeated") await refuseOther(ctx, once, "micro", micro);
  }
}

interface Once {
  readonly operationId?: string;
}

/** The natural key of a difference; an amount that there shall be may be set twice. */
function onceIn(change: NonNullable<AmountChange>, operationId: string | undefined): Once {
  return operationId && "delta" in change ? { operationId } : {};
}

/** Throws: a refusal when the form was booked before with another difference, which this one would come on top of. */
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

/** A log text with the administrator's remark behind it. */
export function withRemark(content: string, remark: string): string {
  return remark === "" ? content : `${content}（${remark}）`;
}

/** Throws: a refusal when the bank changed nothing; `repeated` is no failure. */
export function refuseUnbooked({ outcome }: { readonly outcome: string }): void {
  if (outcome === "not_found") throw faults.notFound("找不到该用户");
  if (outcome === "below_zero") throw faults.refused("余额不足，不能减少这么多");
  if (outcome === "too_large") throw faults.refused("额度超出范围");
}

/** What the trail says of an edit: what changed, a password only by its name. */
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
