// Money that goes back to a payer: by us, at the provider, or by a dispute. Pure, part of rules.ts. What is taken back follows one formula
// over all that went back so far, so that parts add up whatever their sizes (requirements Y34–Y37).
import { moneyText } from "#contract/money.ts";
import { type Bought, NOTHING_BOUGHT, nanoOfMicro } from "./bought.ts";
import type { OrderChange, OrderVerdict } from "./order-operations.ts";
import type { OrderBook, RefundBook } from "./order-rows.ts";
import type { UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";
import { commissionBook, earn, takeCommission } from "./rules-commission.ts";
import { credit, entry, noteBought } from "./rules-entries.ts";
import { amountText, note } from "./rules-notes.ts";
import { payDebt } from "./rules-partner.ts";
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

/** The quota of an order that a wallet gets back, what was given with it included; below 0 = that goes. */
function ofOrder(quota: bigint, gift: bigint): Bought {
  return { ...NOTHING_BOUGHT, quota, given: gift };
}

/**
 * Money that went back is none that the wallet's quota was bought for; nor that quota any more which was used before. By what went back in
 * all, so that parts add up. A plan's period ends with it.
 */
function moveMoney(desk: Desk, order: OrderBook, user: UserBook | undefined, before: number): void {
  if (!user || order.creditedQuota === 0n) return;
  const now = order.refundedMinor + order.disputedMinor;
  const paid = BigInt(order.paidMinor);
  const share = (sum: bigint) => (sum * BigInt(before)) / paid - (sum * BigInt(now)) / paid;
  noteBought(desk, user, { ...NOTHING_BOUGHT, income: share(order.income), fees: share(order.fees) });
}

/** The same of commission that an inviter gave back, or got again. */
function moveCommission(desk: Desk, order: OrderBook, micro: bigint): void {
  const user = desk.users.get(order.userId);
  if (user && order.creditedQuota > 0n)
    noteBought(desk, user, { ...NOTHING_BOUGHT, commission: nanoOfMicro(micro) });
}

/** Money that has not gone back yet. */
export function restOf(order: OrderBook): number {
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
  const before = order.refundedMinor + order.disputedMinor;
  order.refundedMinor += amountMinor;
  moveMoney(desk, order, user, before);
  open(desk, order, { refundNo, source: "admin", providerId: "", amountMinor, parts, actorId, reason });
  if (user && sum > 0n)
    credit(desk, user, {
      kind: "refund",
      operationId: `refund/${refundNo}/hold`,
      actorId,
      amount: -sum,
      bought: ofOrder(-sum, -parts.gift),
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
  else undoRefund(desk, order, { refund, user, change: finish.change });
  return said("done", refund.amountMinor);
}

interface Ending {
  readonly refund: RefundBook;
  readonly user: UserBook | undefined;
  readonly change: OrderChange;
}

function endRefund(desk: Desk, order: OrderBook, { refund, user, change }: Ending): void {
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
  const taken = refund.quota + refund.gift;
  // A plan's payment, and one that was never credited, brought the wallet nothing.
  const content =
    taken === 0n
      ? `订单 ${order.orderNo} 退款 ${money}`
      : `订单 ${order.orderNo} 退款 ${money}，收回 ${amountText(taken, change.display)}`;
  note(desk, user, { type: LogType.system, content, quota: 0n });
}

function undoRefund(desk: Desk, order: OrderBook, { refund, user, change }: Ending): void {
  refund.state = "failed";
  uncount(desk, order, refund);
  const before = order.refundedMinor + order.disputedMinor;
  order.refundedMinor -= refund.amountMinor;
  moveMoney(desk, order, user, before);
  resumePeriod(desk, order);
  const sum = refund.quota + refund.gift;
  if (!user || sum === 0n) return;
  const operationId = `refund/${refund.refundNo}/back`;
  const bought = ofOrder(sum, refund.gift);
  credit(desk, user, { kind: "refund", operationId, actorId: refund.actorId, amount: sum, bought });
  payDebt(desk, user, { operationId, display: change.display });
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
      gift: refund.gift,
      actorId: refund.actorId,
    });
  const inviter = desk.users.get(order.inviterId);
  if (!inviter) {
    // No inviter is left to take it from.
    order.takenMicro -= refund.micro;
    refund.micro = 0n;
  } else if (refund.micro > 0n) {
    takeCommission(desk, inviter, {
      kind: "commission-adjust",
      operationId: `${key}/inviter`,
      actorId: refund.actorId,
      yuanMicro: refund.micro,
      detail: `order ${order.orderNo}`,
    });
    moveCommission(desk, order, -refund.micro);
  }
}

interface Due {
  readonly kind: string;
  readonly operationId: string;
  readonly due: bigint;
  /** Of it what was given. */
  readonly gift: bigint;
  readonly actorId: number;
}

/** Takes what the wallet has; the rest becomes debt, which later credits pay (requirements Y36). */
function takeQuota(desk: Desk, user: UserBook, { due, gift, ...parts }: Due): void {
  const has = user.quota > 0n ? user.quota : 0n;
  const amount = has < due ? has : due;
  const bought = ofOrder(-amount, -gift);
  credit(desk, user, { ...parts, amount: -amount, bought, shortfall: due - amount });
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
  readonly tradeNo: string;
  readonly amountMinor: number;
  readonly isTotal?: true;
}

/** How much of what went back counts, or why none of it does. More than is left counts as what is left. */
function toClaw(desk: Desk, order: OrderBook, clawed: Claw): OrderVerdict {
  const { refundNo, tradeNo } = clawed;
  const known = desk.refunds.get(refundNo);
  if (known) return said("duplicate", known.amountMinor);
  if (order.status !== "credited" && order.status !== "paid") return said("wrong_state");
  if (tradeNo !== "" && tradeNo !== order.tradeNo) return said("other_trade");
  // Of totals that are told at the same time each counts what the one before it left.
  const told = clawed.isTotal ? clawed.amountMinor - order.refundedMinor : clawed.amountMinor;
  if (clawed.isTotal && told <= 0) return said("duplicate");
  const amountMinor = Math.min(told, restOf(order));
  return amountMinor > 0 ? said("done", amountMinor) : said("too_much");
}

/** Money that went back without us, once (requirements Y37). */
export function claw(desk: Desk, order: OrderBook, clawed: Claw): OrderVerdict {
  const verdict = toClaw(desk, order, clawed);
  if (verdict.outcome !== "done") return verdict;
  const { amountMinor } = verdict;
  const { change, refundNo, source, providerId } = clawed;
  const parts = partsOf(order, amountMinor);
  const before = order.refundedMinor + order.disputedMinor;
  if (source === "dispute") order.disputedMinor += amountMinor;
  else order.refundedMinor += amountMinor;
  const user = desk.users.get(order.userId);
  moveMoney(desk, order, user, before);
  const refund = open(desk, order, {
    refundNo,
    source,
    providerId,
    amountMinor,
    parts,
    actorId: 0,
    reason: "",
  });
  const key = source === "dispute" ? refundNo : `refund/${refundNo}`;
  const due = parts.quota + parts.gift;
  if (user) {
    // Also where there is no quota to take: statements find by the entry what went back of a plan's payment.
    takeQuota(desk, user, {
      kind: source === "dispute" ? "dispute" : "refund",
      operationId: `${key}/open`,
      due,
      gift: parts.gift,
      actorId: 0,
    });
    const what = source === "dispute" ? "被拒付" : "已退款";
    const money = moneyText(amountMinor, order.currency);
    const content =
      due === 0n
        ? `订单 ${order.orderNo} ${what} ${money}`
        : `订单 ${order.orderNo} ${what} ${money}，收回 ${amountText(due, change.display)}`;
    note(desk, user, { type: LogType.system, content, quota: 0n });
  }
  takeFromOthers(desk, order, { refund, key });
  return verdict;
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
  const before = order.refundedMinor + order.disputedMinor;
  order.disputedMinor -= refund.amountMinor;
  moveMoney(desk, order, desk.users.get(order.userId), before);
  // The payment was dealt with when its money was gone.
  if (order.status === "paid" && order.review === "") order.review = "dispute_won";
  uncount(desk, order, refund);
  resumePeriod(desk, order);
  const { display } = change;
  const giveBack = (user: UserBook | undefined, amount: bigint, operationId: string) => {
    if (!user) return;
    const bought = ofOrder(amount, refund.gift);
    credit(desk, user, { kind: "dispute", operationId, actorId: 0, amount, bought });
    payDebt(desk, user, { operationId, display });
    const content =
      amount === 0n
        ? `订单 ${order.orderNo} 的拒付已撤销`
        : `订单 ${order.orderNo} 的拒付已撤销，恢复 ${amountText(amount, display)}`;
    note(desk, user, { type: LogType.system, content, quota: 0n });
  };
  giveBack(desk.users.get(order.userId), refund.quota + refund.gift, `${refundNo}/won`);
  if (refund.gift > 0n) giveBack(desk.users.get(order.giverId), refund.gift, `${refundNo}/won/giver`);
  const inviter = desk.users.get(order.inviterId);
  if (!inviter || refund.micro === 0n) return said("done", refund.amountMinor);
  const operationId = `${refundNo}/won/inviter`;
  earn(desk, inviter, { kind: "commission-adjust", operationId, actorId: 0, yuanMicro: refund.micro });
  moveCommission(desk, order, refund.micro);
  return said("done", refund.amountMinor);
}
