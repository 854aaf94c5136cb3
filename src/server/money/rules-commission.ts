// Commission: what an inviter earns, within its bounds, and what is taken back or paid out. Pure, part of rules.ts.
import { monthOf } from "#contract/month.ts";
import { yuanText } from "#contract/yuan.ts";
import { min } from "./amount.ts";
import type { CommissionBounds, CommissionChange, CommissionChanged } from "./partner-operations.ts";
import type { CommissionBook, UserBook } from "./rows.ts";
import { balanceFault, type Desk } from "./rules-booking.ts";
import { type EntryParts, entry } from "./rules-entries.ts";
import { note, noteChange } from "./rules-notes.ts";
import { LogType } from "./states.ts";

/** The stored commission of a user that an operation names. */
export function commissionBook(desk: Desk, { id }: UserBook): CommissionBook {
  const known = desk.commissions.get(id);
  if (!known) throw new Error(`the commission of user ${id} was not loaded`);
  return known;
}

type YuanParts = EntryParts & { readonly yuanMicro: bigint };

interface Invitation {
  readonly inviter: UserBook;
  readonly invited: UserBook;
}

/** What of a commission its bounds let through: nothing after the first orders of the invited user, no more than the inviter's month has left. */
export function allowed(
  desk: Desk,
  {
    inviter,
    invited,
    micro,
    bounds,
  }: Invitation & { readonly micro: bigint; readonly bounds: CommissionBounds },
): bigint {
  const { firstOrders, monthMicro } = bounds;
  if (firstOrders > 0 && commissionBook(desk, invited).orders >= firstOrders) return 0n;
  if (monthMicro === 0n) return micro;
  const left = monthMicro - earnedInMonth(desk, commissionBook(desk, inviter));
  return left > 0n ? min(micro, left) : 0n;
}

/** A clock that was set back opens no month again (requirements F08). */
function earnedInMonth({ nowSec }: Desk, { month, monthMicro }: CommissionBook): bigint {
  return month >= monthOf(nowSec) ? monthMicro : 0n;
}

/** Books what an order of an invited user brings the inviter, and counts it against the bounds. What goes back later stays counted. */
export function earnBy(desk: Desk, { inviter, invited }: Invitation, parts: Omit<YuanParts, "kind">): void {
  const book = commissionBook(desk, inviter);
  const month = monthOf(desk.nowSec);
  book.monthMicro = earnedInMonth(desk, book) + parts.yuanMicro;
  if (month > book.month) book.month = month;
  const own = commissionBook(desk, invited);
  own.orders += 1;
  desk.changes.commissions.add(own);
  earn(desk, inviter, { ...parts, kind: "commission" });
}

/** Of what the balance lacked, or of what filled that later. */
function debtEntry(desk: Desk, inviter: UserBook, { operationId, actorId, yuanMicro }: YuanParts): void {
  entry(desk, inviter, { kind: "commission-debt", operationId: `${operationId}/debt`, actorId, yuanMicro });
}

/** Commission that comes in fills first what refunds could not take back (requirements Z23). The wallet has no part in it. */
export function earn(desk: Desk, inviter: UserBook, parts: YuanParts): void {
  const book = commissionBook(desk, inviter);
  const { yuanMicro } = parts;
  const filled = book.owedMicro < yuanMicro ? book.owedMicro : yuanMicro;
  book.micro += yuanMicro - filled;
  book.owedMicro -= filled;
  desk.changes.commissions.add(book);
  entry(desk, inviter, parts);
  if (filled > 0n) debtEntry(desk, inviter, { ...parts, yuanMicro: -filled });
  if (parts.kind !== "commission") return;
  const content =
    filled === 0n
      ? `邀请的用户充值，获得返现 ${yuanText(yuanMicro)} 元`
      : `邀请的用户充值，获得返现 ${yuanText(yuanMicro)} 元，其中 ${yuanText(filled)} 元抵扣此前退款欠下的返现`;
  note(desk, inviter, { type: LogType.system, content, quota: 0n });
}

/** Takes commission back: what the balance has, the rest is owed (requirements Z23). */
export function takeCommission(desk: Desk, inviter: UserBook, parts: YuanParts): void {
  const book = commissionBook(desk, inviter);
  const due = parts.yuanMicro;
  const taken = book.micro < due ? book.micro : due;
  const owed = due - taken;
  book.micro -= taken;
  book.owedMicro += owed;
  desk.changes.commissions.add(book);
  entry(desk, inviter, { ...parts, yuanMicro: -due });
  if (owed === 0n) return;
  // The balance does not go below 0: what it lacked is owed.
  debtEntry(desk, inviter, { ...parts, yuanMicro: owed });
  const content = `邀请的用户退款，收回返现 ${yuanText(due)} 元，余额不足的 ${yuanText(owed)} 元从以后的返现中抵扣`;
  note(desk, inviter, { type: LogType.system, content, quota: 0n });
}

/** Changes what the plan owes a user: a correction, or a payment of no less than is paid out at once (requirements B9). */
export function changeCommission(
  desk: Desk,
  change: CommissionChange,
  operationId: string,
): CommissionChanged {
  if (desk.booked.has(operationId)) return { outcome: "repeated" };
  const user = desk.users.get(change.userId);
  if (!user) return { outcome: "not_found" };
  const commission = commissionBook(desk, user);
  const before = commission.micro;
  const after = "target" in change.micro ? change.micro.target : before + change.micro.delta;
  if (change.kind === "withdraw" && before - after < (change.leastMicro ?? 0n))
    return { outcome: "below_least" };
  const fault = balanceFault(before, after);
  if (fault) return { outcome: fault };
  // What is owed stays too: a balance beside it is an administrator's correction.
  if (change.kind === "withdraw" && after < (change.keepMicro ?? 0n) + commission.owedMicro)
    return { outcome: "held" };
  commission.micro = after;
  desk.changes.commissions.add(commission);
  const { kind, actorId, reason, log } = change;
  entry(desk, user, { kind, operationId, actorId, yuanMicro: after - before, detail: reason });
  if (log)
    noteChange(desk, user, { log, before, after, text: (micro) => `${yuanText(micro)} 元`, quota: 0n });
  return { outcome: "done", before, after };
}
