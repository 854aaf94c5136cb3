// Money that goes back to a payer: by us, at the provider, or by a dispute. Pure, part of rules.ts. What is taken back follows one formula
// over all that went back so far, so that parts add up whatever their sizes (requirements Y34–Y37).
import { moneyText } from "#contract/money.ts";
import type { OrderChange, OrderVerdict } from "./order-operations.ts";
import type { OrderBook, RefundBook } from "./order-rows.ts";
import type { UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";
import { amountText, note } from "./rules-notes.ts";
import { commissionBook, credit, earn, entry, payDebt, takeCommission } from "./rules-partner.ts";
import { endPeriod, refundableOf, resumePeriod } from "./rules-plan-orders.ts";
import { LogType } from "./states.ts";

/** What goes back when `back` of `paid` went back in all and `taken` was taken before: rounded down, the last part takes the rest. Pure. */
export function partOf(
  total: bigint,
  { back, paid, taken }: { back: number; paid: number; taken: bigint },
): bigint {
  const due = (total * BigInt(back)) / BigInt(paid);
  return due > taken ? due - taken : 0n;
}

interface Parts {
  readonly quota: bigint;
  readonly gift: bigint;
  readonly micro: bigint;
}

/** What of quota, gift and commission goes back with so much money more. */
function partsOf(order: OrderBook, amountMinor: number): Parts {
  const back = order.refundedMinor + order.disputedMinor + amountMinor;
  const paid = order.paidMinor;
  return {
    quota: partOf(order.creditedQuota, { back, paid, taken: order.takenQuota }),
    gift: partOf(order.creditedGift, { back, paid, taken: order.takenGift }),
    micro: partOf(order.creditedMicro, { back, paid, taken: order.takenMicro }),
  };
}

/** Money that has not gone back yet. */
function restOf(order: OrderBook): number {
  return order.paidMinor - order.refundedMinor - order.disputedMinor;
}

/** The most money whose quota the wallet still holds. */
function affordable(order: OrderBook, user: UserBook | undefined): number {
  if (!user) return 0;
  const rest = restOf(order);
  const total = order.creditedQuota + order.creditedGift;
  const taken = order.takenQuota + order.takenGift;
  if (total === 0n) return rest;
  const back = ((user.quota + taken) * BigInt(order.paidMinor)) / total;
  const more = Number(back) - (order.paidMinor - rest);
  return Math.max(0, Math.min(rest, more));
}

function said(outcome: OrderVerdict["outcome"], amountMinor = 0): OrderVerdict {
  return { outcome, review: "", amountMinor };
}

interface Hold {
  readonly change: OrderChange;
  readonly refundNo: string;
  readonly amountMinor: number | null;
  readonly actorId: number;
  readonly reason: string;
}

/** Takes the quota before the provider is asked; refused when the wallet has less (requirements Y34). */
export function holdRefund(desk: Desk, order: OrderBook, hold: Hold): OrderVerdict {
  const { refundNo, actorId, reason } = hold;
  const known = desk.refunds.get(refundNo);
  if (known) return said("duplicate", known.amountMinor);
  // A payment that waits for a person can go back too: it brought no quota.
  if (order.status !== "credited" && order.status !== "paid") return said("wrong_state");
  const user = desk.users.get(order.userId);
  const most = order.sale ? refundableOf(desk, order) : restOf(order);
  const amountMinor = hold.amountMinor ?? (order.sale ? most : affordable(order, user));
  if (amountMinor <= 0) return said(hold.amountMinor === null ? "short" : "wrong_state");
  if (amountMinor > most) return said("too_much");
  const parts = partsOf(order, amountMinor);
  const sum = parts.quota + parts.gift;
  if (sum > 0n && (!user || user.quota < sum)) return said("short");
  order.refundedMinor += amountMinor;
  open(desk, order, { refundNo, source: "admin", providerId: "", amountMinor, parts, actorId, reason });
  if (user && sum > 0n)
    credit(desk, user, {
      kind: "refund",
      operationId: `refund/${refundNo}/hold`,
      actorId,
      amount: -sum,
      detail: reason,
    });
  return said("done", amountMinor);
}

interface Opened
  extends Pick<RefundBook, "refundNo" | "source" | "providerId" | "amountMinor" | "actorId" | "reason"> {
  readonly parts: Parts;
}

/** Writes the row of what goes back, and counts it as taken. */
function open(desk: Desk, order: OrderBook, { parts, ...opened }: Opened): RefundBook {
  const refund: RefundBook = {
    ...opened,
    orderNo: order.orderNo,
    userId: order.userId,
    quota: parts.quota,
    gift: parts.gift,
    micro: parts.micro,
    state: opened.source === "admin" ? "held" : "done",
    createdAt: desk.nowSec,
    updatedAt: desk.nowSec,
    nextCheck: opened.source === "admin" ? desk.nowSec : 0,
  };
  order.takenQuota += parts.quota;
  order.takenGift += parts.gift;
  order.takenMicro += parts.micro;
  endPeriod(desk, order);
  desk.refunds.set(refund.refundNo, refund);
  desk.changes.refunds.add(refund);
  desk.changes.orders.add(order);
  return refund;
}

/** The provider's last word: done, or the quota goes back to the wallet. */
export function finishRefund(
  desk: Desk,
  order: OrderBook,
  finish: { change: OrderChange; refundNo: string; isDone: boolean; providerId: string },
): OrderVerdict {
  const refund = desk.refunds.get(finish.refundNo);
  if (refund?.orderNo !== order.orderNo) return said("not_found");
  if (refund.state === "done" || refund.state === "failed") return said("duplicate", refund.amountMinor);
  refund.updatedAt = desk.nowSec;
  refund.nextCheck = 0;
  refund.providerId = finish.providerId || refund.providerId;
  desk.changes.refunds.add(refund);
  const user = desk.users.get(order.userId);
  if (finish.isDone) endRefund(desk, order, { refund, user, change: finish.change });
  else undoRefund(desk, order, { refund, user });
  return said("done", refund.amountMinor);
}

interface Ending {
  readonly refund: RefundBook;
  readonly user: UserBook | undefined;
}

function endRefund(
  desk: Desk,
  order: OrderBook,
  { refund, user, change }: Ending & { change: OrderChange },
): void {
  refund.state = "done";
  desk.changes.orders.add(order);
  const key = `refund/${refund.refundNo}`;
  takeFromOthers(desk, order, { refund, key });
  if (order.status === "paid" && restOf(order) === 0) order.review = "";
  if (!user) return;
  entry(desk, user, {
    kind: "refund",
    operationId: `${key}/done`,
    actorId: refund.actorId,
    detail: refund.reason,
  });
  const money = moneyText(refund.amountMinor, order.currency);
  const content = `订单 ${order.orderNo} 退款 ${money}，收回 ${amountText(refund.quota + refund.gift, change.display)}`;
  note(desk, user, { type: LogType.system, content, quota: 0n });
}

function undoRefund(desk: Desk, order: OrderBook, { refund, user }: Ending): void {
  refund.state = "failed";
  uncount(desk, order, refund);
  order.refundedMinor -= refund.amountMinor;
  resumePeriod(desk, order);
  const sum = refund.quota + refund.gift;
  if (user && sum > 0n)
    credit(desk, user, {
      kind: "refund",
      operationId: `refund/${refund.refundNo}/back`,
      actorId: refund.actorId,
      amount: sum,
    });
}

function uncount(desk: Desk, order: OrderBook, refund: RefundBook): void {
  order.takenQuota -= refund.quota;
  order.takenGift -= refund.gift;
  order.takenMicro -= refund.micro;
  desk.changes.orders.add(order);
}

/** The owner of the gift code and the inviter lose their part too: what they have, the rest is debt. */
function takeFromOthers(
  desk: Desk,
  order: OrderBook,
  { refund, key }: { refund: RefundBook; key: string },
): void {
  const giver = desk.users.get(order.giverId);
  if (giver && refund.gift > 0n)
    takeQuota(desk, giver, {
      kind: "refund",
      operationId: `${key}/giver`,
      due: refund.gift,
      actorId: refund.actorId,
    });
  const inviter = desk.users.get(order.inviterId);
  if (!inviter) {
    // No inviter is left to take it from.
    order.takenMicro -= refund.micro;
    refund.micro = 0n;
  } else if (refund.micro > 0n)
    takeCommission(desk, inviter, {
      kind: "commission-adjust",
      operationId: `${key}/inviter`,
      actorId: refund.actorId,
      yuanMicro: refund.micro,
      detail: `order ${order.orderNo}`,
    });
}

/** Takes what the wallet has; the rest becomes debt, which later credits pay (requirements Y36). */
function takeQuota(
  desk: Desk,
  user: UserBook,
  { kind, operationId, due, actorId }: { kind: string; operationId: string; due: bigint; actorId: number },
): void {
  const has = user.quota > 0n ? user.quota : 0n;
  const amount = has < due ? has : due;
  credit(desk, user, { kind, operationId, actorId, amount: -amount, shortfall: due - amount });
  if (amount === due) return;
  const book = commissionBook(desk, user);
  book.debt += due - amount;
  desk.changes.commissions.add(book);
}

interface Claw {
  readonly change: OrderChange;
  readonly refundNo: string;
  readonly source: "elsewhere" | "dispute";
  readonly providerId: string;
  readonly amountMinor: number;
}

/** Money that went back without us, once (requirements Y37). More than is left counts as what is left. */
export function claw(desk: Desk, order: OrderBook, clawed: Claw): OrderVerdict {
  const { change, refundNo, source, providerId } = clawed;
  const known = desk.refunds.get(refundNo);
  if (known) return said("duplicate", known.amountMinor);
  if (order.status !== "credited" && order.status !== "paid") return said("wrong_state");
  const amountMinor = Math.min(clawed.amountMinor, restOf(order));
  if (amountMinor <= 0) return said("too_much");
  const parts = partsOf(order, amountMinor);
  if (source === "dispute") order.disputedMinor += amountMinor;
  else order.refundedMinor += amountMinor;
  const refund = open(desk, order, {
    refundNo,
    source,
    providerId,
    amountMinor,
    parts,
    actorId: 0,
    reason: "",
  });
  const user = desk.users.get(order.userId);
  const key = source === "dispute" ? refundNo : `refund/${refundNo}`;
  const due = parts.quota + parts.gift;
  if (user && due > 0n) {
    takeQuota(desk, user, {
      kind: source === "dispute" ? "dispute" : "refund",
      operationId: `${key}/open`,
      due,
      actorId: 0,
    });
    const what = source === "dispute" ? "被拒付" : "已退款";
    const content = `订单 ${order.orderNo} ${what} ${moneyText(amountMinor, order.currency)}，收回 ${amountText(due, change.display)}`;
    note(desk, user, { type: LogType.system, content, quota: 0n });
  }
  takeFromOthers(desk, order, { refund, key });
  return said("done", amountMinor);
}

/** A dispute that was won: quota, gift and commission come back, and quota pays debt first. */
export function restore(
  desk: Desk,
  order: OrderBook,
  { change, refundNo }: { change: OrderChange; refundNo: string },
): OrderVerdict {
  const refund = desk.refunds.get(refundNo);
  if (refund?.source !== "dispute") return said("not_found");
  if (refund.state === "won") return said("duplicate", refund.amountMinor);
  refund.state = "won";
  refund.updatedAt = desk.nowSec;
  desk.changes.refunds.add(refund);
  order.disputedMinor -= refund.amountMinor;
  uncount(desk, order, refund);
  resumePeriod(desk, order);
  const { display } = change;
  const giveBack = (user: UserBook | undefined, amount: bigint, operationId: string) => {
    if (!user || amount === 0n) return;
    credit(desk, user, { kind: "dispute", operationId, actorId: 0, amount });
    payDebt(desk, user, { operationId, display });
    const content = `订单 ${order.orderNo} 的拒付已撤销，恢复 ${amountText(amount, display)}`;
    note(desk, user, { type: LogType.system, content, quota: 0n });
  };
  giveBack(desk.users.get(order.userId), refund.quota + refund.gift, `${refundNo}/won`);
  giveBack(desk.users.get(order.giverId), refund.gift, `${refundNo}/won/giver`);
  const inviter = desk.users.get(order.inviterId);
  if (!inviter || refund.micro === 0n) return said("done", refund.amountMinor);
  const operationId = `${refundNo}/won/inviter`;
  earn(desk, inviter, { kind: "commission-adjust", operationId, actorId: 0, yuanMicro: refund.micro });
  return said("done", refund.amountMinor);
}
