// Orders and merchant accounts for tests of the books: rows as the payments room writes them.
import type { OrderAct, OrderChange } from "#server/money/order-operations.ts";
import type { InstanceSettings } from "#server/payments/instances.ts";
import type { Db } from "#server/store/db.ts";
import { findOrder, insertOrder, type NewOrder, type OrderRow } from "#server/store/orders.ts";
import { insertInstance } from "#server/store/payment-instances.ts";

let serial = 0;

export function seedInstance(db: Db): Promise<number> {
  serial += 1;
  return insertInstance(db, {
    slug: `slug${serial}`,
    provider: "epay-v1",
    name: "test",
    merchant_id: "1001",
    currency: "CNY",
    settings: JSON.stringify({ methods: [], fee_bp: 0, rate: "1", fields: {} } satisfies InstanceSettings),
    secrets_sealed: "{}",
    enabled: 1,
    created_at: 1,
    updated_at: 1,
  });
}

/** An order of 30 yuan for 5,000,000 that waits. */
export async function seedOrder(
  db: Db,
  parts: Partial<NewOrder> & Pick<NewOrder, "user_id" | "instance_id">,
): Promise<OrderRow> {
  serial += 1;
  const order_no = `TG${String(serial).padStart(8, "0")}`;
  await insertOrder(db, {
    order_no,
    method: "alipay",
    product: '{"rate":"1","feeBp":0}',
    quota: 5_000_000,
    currency: "CNY",
    amount_minor: 3_000,
    fee_minor: 0,
    giver_id: 0,
    inviter_id: 0,
    gift_quota: 0,
    commission_micro: 0,
    status: "pending",
    created_at: 1,
    expires_at: 2,
    next_check: 5,
    ...parts,
  });
  return orderOf(db, order_no);
}

/** The row as it is now. Throws: when there is none. */
export async function orderOf(db: Db, orderNo: string): Promise<OrderRow> {
  const row = await findOrder(db, orderNo);
  if (!row) throw new Error(`no order ${orderNo}`);
  return row;
}

/** An act on an order, as the payments room gives it to the ledger. */
export function orderChange(order: OrderRow, act: OrderAct, eventKey?: string): OrderChange {
  serial += 1;
  return {
    operationId:
      "refundNo" in act
        ? `act/${order.order_no}/${act.verb}/${act.refundNo}`
        : `act/${order.order_no}/${act.verb}/${serial}`,
    orderNo: order.order_no,
    userId: order.user_id,
    giverId: order.giver_id,
    inviterId: order.inviter_id,
    act,
    event: {
      instanceId: order.instance_id,
      kind: "notify",
      eventKey: eventKey ?? `event${serial}`,
      facts: "{}",
      bodySealed: "",
    },
    display: { quotaPerUnit: 500_000, inCurrency: true },
  };
}

/** The payment that was asked for, or another. */
export function proofOf(
  order: OrderRow,
  change: Partial<{ tradeNo: string; amountMinor: number; currency: string }> = {},
): Extract<OrderAct, { verb: "prove" }> {
  return {
    verb: "prove",
    proof: {
      tradeNo: `trade-${order.order_no}`,
      amountMinor: order.amount_minor,
      currency: order.currency,
      paidSec: 0,
      ...change,
    },
  };
}
