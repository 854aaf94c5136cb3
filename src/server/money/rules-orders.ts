// Payments: what a confirmed payment does to an order, and what it brings to its user, the owner of a gift code and the inviter. Pure, part of
// rules.ts; refunds are in rules-refunds.ts. A payment that does not fit is kept for a person, never credited by guess (requirements Y14).
import { moneyText } from "#contract/money.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import { MAX_AMOUNT } from "./amount.ts";
import { NOTHING_BOUGHT, nanoOfMicro, rounded, together } from "./bought.ts";
import type { OrderChange, OrderVerdict, Proof } from "./order-operations.ts";
import { type OrderBook, tradeKey } from "./order-rows.ts";
import type { UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";
import { allowed, commissionBook, earnBy } from "./rules-commission.ts";
import { credit, entry, noteBought } from "./rules-entries.ts";
import { amountText, note } from "./rules-notes.ts";
import { enabled, payDebt, tellGift } from "./rules-partner.ts";
import { saleFault, sell } from "./rules-plan-orders.ts";
import { claw, finishRefund, holdRefund, restOf, restore } from "./rules-refunds.ts";
import { LogType, UserStatus } from "./states.ts";

/** Carries out one act on an order, and writes it to the order's history. */
export function changeOrder(desk: Desk, change: OrderChange): OrderVerdict {
  const order = desk.orders.get(change.orderNo);
  if (!order) return said("not_found");
  const verdict = act(desk, order, change);
  record(desk, change, verdict);
  return verdict;
}

function said(outcome: OrderVerdict["outcome"], review = ""): OrderVerdict {
  return { outcome, review, amountMinor: 0 };
}

function act(desk: Desk, order: OrderBook, change: OrderChange): OrderVerdict {
  const { act } = change;
  switch (act.verb) {
    case "prove":
      return prove(desk, order, { change, proof: act.proof });
    case "decide":
      return decide(desk, order, { change, ...act });
    case "manual":
      return vouch(desk, order, { change, ...act });
    case "hold":
      return holdRefund(desk, order, { change, ...act });
    case "finish":
      return finishRefund(desk, order, { change, ...act });
    case "claw":
      return claw(desk, order, { change, ...act });
    case "restore":
      return restore(desk, order, { change, refundNo: act.refundNo });
  }
}

const NEEDS_A_PERSON: readonly OrderVerdict["outcome"][] = ["review", "paid_twice", "trade_used"];

/** A repetition of what is known is not written again; neither is what was refused to an administrator, or fits nowhere. */
function record(desk: Desk, { event, orderNo }: OrderChange, { outcome, review }: OrderVerdict): void {
  if (["short", "too_much", "other_trade", "wrong_state"].includes(outcome)) return;
  const verdict = review === "" ? outcome : review;
  const isOpen = NEEDS_A_PERSON.includes(outcome);
  desk.changes.orderEvents.push({ ...event, orderNo, verdict, isOpen, createdAt: desk.nowSec });
}

interface Proven {
  readonly change: OrderChange;
  readonly proof: Proof;
}

/** A payment that the provider confirmed for this order (requirements Y04, Y13–Y15, Y20). */
function prove(desk: Desk, order: OrderBook, { change, proof }: Proven): OrderVerdict {
  const holder = desk.trades.get(tradeKey(order.instanceId, proof.tradeNo));
  if (proof.tradeNo === "" || change.event.instanceId !== order.instanceId) return said("wrong_state");
  if (holder === order.orderNo) return said("duplicate");
  if (holder !== undefined) return said("trade_used", "trade_used");
  if (order.status === "credited") return flag(desk, order, "paid_twice");
  const { user, fault } = payeeOf(desk, order, order.quota, proof);
  // What went back of the first one is not to count against this one.
  if (order.status === "paid" && (fault !== "" || hasGoneBack(order))) return flag(desk, order, "paid_twice");
  // The first payment did not fit and waits for a person; this one fits, and the first has to go back.
  const review = order.status === "paid" ? "paid_twice" : "";
  take(desk, order, proof);
  if (!user) {
    order.status = "paid";
    order.review = fault;
    return said("review", fault);
  }
  const { span } = proof;
  creditOrder(desk, order, {
    change,
    user,
    quota: order.quota,
    actorId: order.userId,
    ...(span && { span }),
  });
  order.review = review;
  return said("credited", review);
}

/** A second payment of one order: noted, so that a person sends it back. */
function flag(desk: Desk, order: OrderBook, review: string): OrderVerdict {
  order.review = review;
  desk.changes.orders.add(order);
  return said("paid_twice", review);
}

/** Keeps the payment in the order's row. */
function take(desk: Desk, order: OrderBook, proof: Proof): void {
  order.tradeNo = proof.tradeNo;
  order.paidMinor = proof.amountMinor;
  order.paidAt = proof.paidSec || desk.nowSec;
  order.nextCheck = 0;
  desk.trades.set(tradeKey(order.instanceId, proof.tradeNo), order.orderNo);
  desk.changes.orders.add(order);
}

type Payee =
  | { readonly user: UserBook; readonly fault: "" }
  | { readonly user: undefined; readonly fault: string };

/** The user that a payment is credited to, or why it is not credited by itself. A banned user's is: it is that user's money. */
function payeeOf(desk: Desk, order: OrderBook, quota: bigint, proof?: Proof): Payee {
  const user = desk.users.get(order.userId);
  const no = (fault: string) => ({ user: undefined, fault });
  if (proof && proof.currency !== order.currency) return no("currency");
  if (proof && proof.amountMinor !== order.amountMinor) return no("amount");
  if (proof?.doubt) return no(proof.doubt);
  if (!user || user.status === UserStatus.deleted) return no("user_gone");
  const fault = order.sale ? saleFault(desk, order, order.sale) : quotaFault(user, quota);
  return fault === "" ? { user, fault } : no(fault);
}

function quotaFault(user: UserBook, quota: bigint): string {
  return user.quota + quota > MAX_AMOUNT ? "too_large" : "";
}

/** Whether any of the money went back, or is on its way. */
function hasGoneBack(order: OrderBook): boolean {
  return restOf(order) < order.paidMinor;
}

/** What an administrator decided about a payment that did not fit. One of which money went back only goes back. */
function decide(
  desk: Desk,
  order: OrderBook,
  { change, as, actorId }: { change: OrderChange; as: "paid" | "ordered"; actorId: number },
): OrderVerdict {
  if (order.status !== "paid") return said(order.status === "credited" ? "duplicate" : "wrong_state");
  if (hasGoneBack(order)) return said("wrong_state");
  const quota = as === "ordered" ? order.quota : quotaFor(order);
  if (quota <= 0n) return said("wrong_state");
  const { user, fault } = payeeOf(desk, order, quota);
  if (!user) return said("wrong_state", fault);
  if (order.review !== "currency") priceAsPaid(order);
  creditOrder(desk, order, { change, user, quota, actorId });
  order.review = "";
  return said("credited");
}

/** Another sum than was ordered brings in as much as it is of that. */
function priceAsPaid(order: OrderBook): void {
  const share = (sum: bigint) => rounded(sum * BigInt(order.paidMinor), BigInt(order.amountMinor));
  order.income = share(order.income);
  order.fees = share(order.fees);
}

/** What was paid is worth, at the order's own price: rounded down; a payment in another currency is worth nothing by this rule. */
function quotaFor(order: OrderBook): bigint {
  if (order.review === "currency") return 0n;
  // Half a plan is none.
  if (order.sale) return order.paidMinor === order.amountMinor ? order.quota : 0n;
  return (order.quota * BigInt(order.paidMinor)) / BigInt(order.amountMinor);
}

/** A payment an administrator vouches for; the provider's number keeps it from being credited again (requirements Y39). No commission. */
function vouch(
  desk: Desk,
  order: OrderBook,
  { change, proof, actorId }: { change: OrderChange; proof: Proof; actorId: number },
): OrderVerdict {
  const holder = desk.trades.get(tradeKey(order.instanceId, proof.tradeNo));
  if (holder !== undefined) return said(holder === order.orderNo ? "duplicate" : "trade_used", "trade_used");
  if (order.status === "credited" || order.status === "paid") return said("wrong_state");
  const quota = (order.quota * BigInt(proof.amountMinor)) / BigInt(order.amountMinor);
  const { user, fault } = payeeOf(desk, order, quota);
  const isPart = order.sale !== undefined && proof.amountMinor !== order.amountMinor;
  if (quota <= 0n || isPart || !user) return said("wrong_state", fault);
  take(desk, order, proof);
  priceAsPaid(order);
  creditOrder(desk, order, { change, user, quota, actorId, isVouched: true });
  return said("credited");
}

interface Credit {
  readonly change: OrderChange;
  readonly user: UserBook;
  readonly quota: bigint;
  readonly actorId: number;
  readonly span?: Proof["span"];
  /** No provider said that it was paid: nothing is earned by it. */
  readonly isVouched?: true;
}

/** Books everything the payment brings, once. Parts in proportion when less or more was credited than ordered. */
function creditOrder(
  desk: Desk,
  order: OrderBook,
  { change, user, quota, actorId, span, isVouched }: Credit,
): void {
  order.status = "credited";
  order.creditedAt = desk.nowSec;
  order.creditedQuota = order.sale ? 0n : quota;
  order.nextCheck = 0;
  desk.changes.orders.add(order);
  const key = `order/${order.orderNo}`;
  const { display } = change;
  const paid = moneyText(order.paidMinor, order.currency);
  const period = order.sale && sell(desk, order, order.sale, span);
  if (order.sale) {
    entry(desk, user, { kind: "plan", operationId: `${key}/credit`, actorId, detail: paid });
    const what = order.sale.upgrade_of === 0 ? "购买套餐" : "升级到套餐";
    const content = `${what}“${order.sale.terms.name}”，支付 ${paid}（订单 ${order.orderNo}）`;
    note(desk, user, { type: LogType.system, content, quota: 0n });
  } else {
    const { income, fees } = order;
    // What older programs made without its worth stays quota of which nothing is known.
    const bought = income === 0n ? NOTHING_BOUGHT : { ...NOTHING_BOUGHT, quota, income, fees };
    const operationId = `${key}/credit`;
    credit(desk, user, { kind: "pay", operationId, actorId, amount: quota, bought, detail: paid });
    const content = `在线充值 ${amountText(quota, display)}，支付 ${paid}（订单 ${order.orderNo}）`;
    note(desk, user, { type: LogType.topup, content, quota });
  }
  const share = (part: bigint) => (part * quota) / order.quota;
  giveGift(desk, order, { user, gift: share(order.giftQuota), display });
  if (isVouched !== true) payInviter(desk, order, { user, micro: share(order.commissionMicro) });
  const commission = { ...NOTHING_BOUGHT, commission: nanoOfMicro(order.creditedMicro) };
  // A plan brings the wallet nothing.
  if (period) period.bought = together(period.bought, commission);
  else {
    noteBought(desk, user, commission);
    payDebt(desk, user, { operationId: key, display });
  }
}

/** A gift code that has become invalid is skipped: it must not stop a payment (requirements Y38). */
function giveGift(
  desk: Desk,
  order: OrderBook,
  { user, gift, display }: { user: UserBook; gift: bigint; display: QuotaDisplay },
): void {
  const giver = order.giverId === 0 || order.giverId === user.id ? undefined : enabled(desk, order.giverId);
  if (!giver || gift <= 0n || user.quota + gift > MAX_AMOUNT || giver.quota + gift > MAX_AMOUNT) return;
  const key = `order/${order.orderNo}`;
  credit(desk, user, { kind: "gift", operationId: `${key}/gift`, actorId: user.id, amount: gift });
  credit(desk, giver, { kind: "gift", operationId: `${key}/giver`, actorId: user.id, amount: gift });
  payDebt(desk, giver, { operationId: `${key}/giver`, display });
  order.creditedGift = gift;
  tellGift(desk, user, `使用礼品码，额外获得 ${amountText(gift, display)}`, gift);
  tellGift(desk, giver, `礼品码被使用，获得 ${amountText(gift, display)}`, gift);
}

function payInviter(
  desk: Desk,
  order: OrderBook,
  { user, micro }: { readonly user: UserBook; readonly micro: bigint },
): void {
  const inviter = order.inviterId === order.userId ? undefined : enabled(desk, order.inviterId);
  if (!inviter) return;
  const earned = allowed(desk, { inviter, invited: user, micro, bounds: order.commissionBounds });
  if (earned <= 0n || commissionBook(desk, inviter).micro + earned > MAX_AMOUNT) return;
  order.creditedMicro = earned;
  const operationId = `order/${order.orderNo}/inviter`;
  earnBy(desk, { inviter, invited: user }, { operationId, actorId: order.userId, yuanMicro: earned });
}
