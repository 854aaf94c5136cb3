// Quota that administrators make by hand: added to an account, or put into codes. It needs no second one, unlike a payment that is vouched
// for; but more of it in a day than may be vouched for alone stands so in the audit log, and super administrators are told (requirements Y39).
import type { AuditAction } from "#contract/audit-actions.ts";
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { parseRational } from "#server/money/rational.ts";
import { manualLimitYuan } from "#server/payments/manual-limit.ts";
import { listDetails } from "#server/store/audit.ts";
import type { ActCall } from "./audit-log.ts";

/** What the audit log keeps of a raise, before the rest of its detail. */
export interface Raise {
  /** Quota in its units. */
  readonly raised?: number;
  readonly above_limit?: true;
}

export interface RaiseOrder {
  readonly action: AuditAction & ("user.update" | "user.topup" | "team.adjust");
  /** User or team id. */
  readonly target: number;
  readonly delta: bigint;
}

/** What is to be written of a raise; nothing where quota is not added. By the face value of all that was added in 24 hours. */
export function raiseOf(ctx: Context, { target, action, delta }: RaiseOrder): Promise<Raise> {
  const actions = action === "team.adjust" ? ([action] as const) : (["user.update", "user.topup"] as const);
  return judged(ctx, { of: { target: String(target) }, actions, delta });
}

/** The same of codes that are made, or made worth more: by the face value of all that an administrator made in 24 hours, used or not. */
export function mintOf(
  ctx: Context,
  { actor }: Pick<ActCall, "actor">,
  { delta }: Pick<RaiseOrder, "delta">,
): Promise<Raise> {
  return judged(ctx, {
    of: { actorId: actor.id },
    actions: ["redemption.create", "redemption.update"],
    delta,
  });
}

interface Added extends Pick<RaiseOrder, "delta"> {
  readonly of: { readonly target: string } | { readonly actorId: number };
  /** The acts that count together. */
  readonly actions: readonly AuditAction[];
}

async function judged(ctx: Context, { of, actions, delta }: Added): Promise<Raise> {
  if (delta <= 0n) return {};
  const raised = Number(delta);
  const limitYuan = await manualLimitYuan(ctx);
  if (limitYuan === 0) return { raised };
  const since = ctx.clock.seconds() - DAY_SEC;
  const details = await Promise.all(actions.map((action) => listDetails(ctx.db, { ...of, action, since })));
  const sum = details.flat().reduce((all, detail) => all + raisedIn(detail), delta);
  const { n, d } = parseRational(ctx.options.get("QuotaPerUnit"));
  const isAbove = sum * d * BigInt(yuanOfDollar) > BigInt(limitYuan) * n;
  return isAbove ? { raised, above_limit: true } : { raised };
}

/** A detail of an older version may be cut off, and is no JSON then; what a raise is stands first. */
function raisedIn(detail: string): bigint {
  return BigInt(/^\{"raised":(\d+)/.exec(detail)?.[1] ?? 0);
}

type Teller = Pick<Context, "notify">;
type Named = Raise & { readonly name: string };

/** Tells super administrators of a raise above the limit. Call it once it is in the audit log. */
export function tellRaise(
  teller: Teller,
  { actor }: Pick<ActCall, "actor">,
  { above_limit, name }: Named,
): void {
  tell(teller, above_limit, {
    about: `raise ${name}`,
    title: "管理员增加的额度超过了补单的限额",
    content: `管理员“${actor.username}”为“${name}”增加额度，24 小时内按面值合计超过了补单须另一位超级管理员批准的金额。请在操作审计中核对。`,
  });
}

/** The same of codes. */
export function tellMint(
  teller: Teller,
  { actor }: Pick<ActCall, "actor">,
  { above_limit, name }: Named,
): void {
  tell(teller, above_limit, {
    about: `codes ${actor.id}`,
    title: "管理员制作的兑换码超过了补单的限额",
    content: `管理员“${actor.username}”制作了兑换码“${name}”，24 小时内按面值合计超过了补单须另一位超级管理员批准的金额。请在操作审计中核对。`,
  });
}

function tell(
  { notify }: Teller,
  isAbove: Raise["above_limit"],
  words: { readonly about: string; readonly title: string; readonly content: string },
): void {
  if (isAbove === true) notify({ event: "payment_review", ...words });
}
