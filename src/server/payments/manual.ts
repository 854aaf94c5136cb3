// A payment that no provider confirms, vouched for by a super administrator (补单). Above the limit of an option another super administrator
// has to approve it first; until then it is an open event of the order (requirements Y39).
import { minorOf } from "#contract/money.ts";
import { faults } from "#server/errors.ts";
import { parseRational } from "#server/money/rational.ts";
import {
  AWAITS_SECOND,
  type EventRow,
  insertEvent,
  listEvents,
  type OrderRow,
  settleEvents,
  verdictOf,
} from "#server/store/orders.ts";
import { bringOddity, changeOrder, type EvidenceTools } from "./evidence.ts";
import { manualLimitYuan } from "./manual-limit.ts";
import type { Instance } from "./provider.ts";

/** What a super administrator vouches for: kept as the facts of the event. */
export interface Voucher {
  readonly trade_no: string;
  /** Decimal text in the order's currency. */
  readonly amount: string;
  readonly reason: string;
  readonly user_id: number;
  readonly actor_id: number;
}

/** Whether a sum is above the limit in yuan, at the rate of its account; a limit of 0 is none. */
export async function needsSecond(
  tools: Pick<EvidenceTools, "db" | "options" | "clock">,
  { amount, rate }: { readonly amount: string; readonly rate: string },
): Promise<boolean> {
  const limitYuan = await manualLimitYuan(tools);
  const { n, d } = parseRational(rate);
  return limitYuan > 0 && BigInt(minorOf(amount) ?? 0) * n > BigInt(limitYuan) * 100n * d;
}

function voucherKey(orderNo: string, tradeNo: string): string {
  return `${orderNo}/manual/${tradeNo}`;
}

/** Whether an order was credited by a voucher: its number of the payment was typed, and the provider does not know it. */
export async function isVouched(
  { db }: Pick<EvidenceTools, "db">,
  { instance_id, order_no, trade_no }: OrderRow,
): Promise<boolean> {
  return (await verdictOf(db, instance_id, `admin/${voucherKey(order_no, trade_no)}`)) === "credited";
}

/** Credits what was vouched for, once. Throws: AppError when the order or the provider's number does not allow it. */
export async function creditVoucher(
  tools: EvidenceTools,
  order: OrderRow,
  { voucher, approverId }: { readonly voucher: Voucher; readonly approverId?: number },
): Promise<void> {
  const { trade_no: tradeNo, amount, reason, actor_id: actorId } = voucher;
  const proof = { tradeNo, amountMinor: minorOf(amount) ?? 0, currency: order.currency, paidSec: 0 };
  const { outcome } = await changeOrder(tools, order, {
    act: { verb: "manual", proof, actorId, reason },
    origin: { kind: "admin", key: voucherKey(order.order_no, tradeNo), body: "" },
    facts: { ...voucher, ...(approverId !== undefined && { approver_id: approverId }) },
  });
  if (outcome === "trade_used") throw faults.refused("该平台交易号已用于另一个订单");
  if (outcome !== "credited") throw faults.refused("该订单不能补单");
}

/** Lets a voucher wait for another super administrator, and tells of it. One waits per order. Throws: AppError. */
export async function askSecond(
  tools: EvidenceTools,
  order: OrderRow,
  { voucher, instance }: { readonly voucher: Voucher; readonly instance: Pick<Instance, "id" | "name"> },
): Promise<void> {
  const { order_no: orderNo, status } = order;
  if (status === "credited" || status === "paid") throw faults.refused("该订单不能补单");
  const earlier = (await listEvents(tools.db, orderNo)).filter(({ verdict }) => verdict === AWAITS_SECOND);
  // Of two at once the second has the same key.
  const origin = { kind: "admin", key: `${orderNo}/second/${earlier.length}`, body: "" } as const;
  const isAsked =
    !earlier.some((event) => event.is_open === 1) &&
    (await bringOddity(tools, instance, {
      orderNo,
      verdict: AWAITS_SECOND,
      origin,
      facts: { ...voucher },
    }));
  if (!isAsked) throw faults.refused("该订单已有一笔补单等待批准");
}

/** The voucher that an event lets wait; undefined = it is another event, or was decided. */
export function waitingVoucher({
  verdict,
  is_open,
  facts,
}: Pick<EventRow, "verdict" | "is_open" | "facts">): Voucher | undefined {
  // Written by `askSecond` alone.
  return verdict === AWAITS_SECOND && is_open === 1 ? (JSON.parse(facts) as Voucher) : undefined;
}

export interface Judgement {
  readonly isApproved: boolean;
  readonly actorId: number;
  readonly reason: string;
}

/**
 * What another super administrator decided. The event is closed first, so that of several only one decides; where the credit fails then, it has
 * to be asked for again. Throws: AppError.
 */
export async function judgeVoucher(
  tools: EvidenceTools,
  {
    event,
    voucher,
    order,
  }: { readonly event: EventRow; readonly voucher: Voucher; readonly order: OrderRow },
  { isApproved, actorId, reason }: Judgement,
): Promise<void> {
  await tools.db.transaction().execute(async (tx) => {
    if (!(await settleEvents(tx, { id: event.id }))) throw faults.refused("这笔补单已经处理过");
    await insertEvent(tx, {
      instance_id: event.instance_id,
      kind: "admin",
      event_key: `${event.event_key}/judged`,
      order_no: order.order_no,
      verdict: isApproved ? "second_approved" : "second_refused",
      is_open: 0,
      facts: JSON.stringify({ reason, actor_id: actorId }),
      body_sealed: "",
      created_at: tools.clock.seconds(),
    });
  });
  if (isApproved) await creditVoucher(tools, order, { voucher, approverId: actorId });
}
