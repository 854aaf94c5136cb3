// Orders and refunds as the rules see them, and their rows; the same for both databases. Column order is the order of values.
import type { Selectable } from "kysely";
import type { PlanSale } from "#contract/plan-terms.ts";
import type { OrderRefundsTable, OrdersTable } from "#server/store/tables-payments.ts";
import type { EventEntry, OrderBook, RefundBook } from "./order-rows.ts";
import { type Sheet, toNumber } from "./row-codec.ts";

const ORDER_FIELDS = [
  "id",
  "order_no",
  "user_id",
  "instance_id",
  "quota",
  "currency",
  "amount_minor",
  "giver_id",
  "inviter_id",
  "gift_quota",
  "commission_micro",
  "commission_orders",
  "commission_month_micro",
  "income",
  "fees",
  "status",
  "review",
  "trade_no",
  "paid_minor",
  "credited_quota",
  "credited_gift",
  "credited_micro",
  "taken_quota",
  "taken_gift",
  "taken_micro",
  "refunded_minor",
  "disputed_minor",
  "paid_at",
  "credited_at",
  "next_check",
  "plan_sale",
] as const;
export const ORDER_COLUMNS = ORDER_FIELDS.join(", ");
export type OrderRow = Pick<Selectable<OrdersTable>, (typeof ORDER_FIELDS)[number]>;

/** What the column of an order holds; undefined = no plan. */
export function saleOf(text: string): PlanSale | undefined {
  // Written from a checked plan alone.
  return text === "" ? undefined : (JSON.parse(text) as PlanSale);
}

export function orderBook(row: OrderRow): OrderBook {
  return {
    id: row.id,
    orderNo: row.order_no,
    userId: row.user_id,
    instanceId: row.instance_id,
    quota: BigInt(row.quota),
    currency: row.currency,
    amountMinor: row.amount_minor,
    giverId: row.giver_id,
    inviterId: row.inviter_id,
    giftQuota: BigInt(row.gift_quota),
    commissionMicro: BigInt(row.commission_micro),
    commissionBounds: {
      firstOrders: row.commission_orders,
      monthMicro: BigInt(row.commission_month_micro),
    },
    income: BigInt(row.income),
    fees: BigInt(row.fees),
    sale: saleOf(row.plan_sale),
    status: row.status,
    review: row.review,
    tradeNo: row.trade_no,
    paidMinor: row.paid_minor,
    creditedQuota: BigInt(row.credited_quota),
    creditedGift: BigInt(row.credited_gift),
    creditedMicro: BigInt(row.credited_micro),
    takenQuota: BigInt(row.taken_quota),
    takenGift: BigInt(row.taken_gift),
    takenMicro: BigInt(row.taken_micro),
    refundedMinor: row.refunded_minor,
    disputedMinor: row.disputed_minor,
    paidAt: row.paid_at,
    creditedAt: row.credited_at,
    nextCheck: row.next_check,
  };
}

export const REFUND_COLUMNS =
  "refund_no, order_no, user_id, source, provider_id, amount_minor, quota, gift, micro, state, actor_id, reason, " +
  "created_at, updated_at, next_check";
export type RefundRow = Omit<Selectable<OrderRefundsTable>, "id" | "checks">;

export function refundBook(row: RefundRow): RefundBook {
  return {
    refundNo: row.refund_no,
    orderNo: row.order_no,
    userId: row.user_id,
    source: row.source,
    providerId: row.provider_id,
    amountMinor: row.amount_minor,
    quota: BigInt(row.quota),
    gift: BigInt(row.gift),
    micro: BigInt(row.micro),
    state: row.state,
    actorId: row.actor_id,
    reason: row.reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    nextCheck: row.next_check,
  };
}

/** What of an order changes; the first column finds the row. */
export const ORDER_SHEET: Sheet<OrderBook> = {
  table: "orders",
  columns: [
    ["id", "int"],
    ["status", "text"],
    ["review", "text"],
    ["trade_no", "text"],
    ["paid_minor", "count"],
    ["income", "int"],
    ["fees", "int"],
    ["credited_quota", "count"],
    ["credited_gift", "count"],
    ["credited_micro", "count"],
    ["taken_quota", "count"],
    ["taken_gift", "count"],
    ["taken_micro", "count"],
    ["refunded_minor", "count"],
    ["disputed_minor", "count"],
    ["paid_at", "int"],
    ["credited_at", "int"],
    ["next_check", "int"],
  ],
  values: (order) => [
    order.id,
    order.status,
    order.review,
    order.tradeNo,
    order.paidMinor,
    toNumber(order.income),
    toNumber(order.fees),
    toNumber(order.creditedQuota),
    toNumber(order.creditedGift),
    toNumber(order.creditedMicro),
    toNumber(order.takenQuota),
    toNumber(order.takenGift),
    toNumber(order.takenMicro),
    order.refundedMinor,
    order.disputedMinor,
    order.paidAt,
    order.creditedAt,
    order.nextCheck,
  ],
};

/** A refund, new or changed. */
export const REFUND_SHEET: Sheet<RefundBook> = {
  table: "order_refunds",
  columns: [
    ["refund_no", "text"],
    ["order_no", "text"],
    ["user_id", "int"],
    ["source", "text"],
    ["provider_id", "text"],
    ["amount_minor", "count"],
    ["quota", "count"],
    ["gift", "count"],
    ["micro", "count"],
    ["state", "text"],
    ["actor_id", "int"],
    ["reason", "text"],
    ["created_at", "int"],
    ["updated_at", "int"],
    ["next_check", "int"],
  ],
  values: (refund) => [
    refund.refundNo,
    refund.orderNo,
    refund.userId,
    refund.source,
    refund.providerId,
    refund.amountMinor,
    toNumber(refund.quota),
    toNumber(refund.gift),
    toNumber(refund.micro),
    refund.state,
    refund.actorId,
    refund.reason,
    refund.createdAt,
    refund.updatedAt,
    refund.nextCheck,
  ],
};

/** The tail of an INSERT of refunds: of one that is there, what may change does. */
export const REFUND_TAIL = `ON CONFLICT (refund_no) DO UPDATE SET state = excluded.state, micro = excluded.micro,
  provider_id = excluded.provider_id, updated_at = excluded.updated_at, next_check = excluded.next_check`;

export const EVENT_SHEET: Sheet<EventEntry> = {
  table: "payment_events",
  columns: [
    ["instance_id", "int"],
    ["kind", "text"],
    ["event_key", "text"],
    ["order_no", "text"],
    ["verdict", "text"],
    ["is_open", "int"],
    ["facts", "text"],
    ["body_sealed", "text"],
    ["created_at", "int"],
  ],
  values: (event) => [
    event.instanceId,
    event.kind,
    event.eventKey,
    event.orderNo,
    event.verdict,
    event.isOpen ? 1 : 0,
    event.facts,
    event.bodySealed,
    event.createdAt,
  ],
};

/** The tail of an INSERT of events: what is known is not stored again. */
export const EVENT_TAIL = "ON CONFLICT (instance_id, event_key) DO NOTHING";
