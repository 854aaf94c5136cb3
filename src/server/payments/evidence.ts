// Brings what a provider said to the order it speaks of: one transaction of the ledger, or a note for a person. The caller may answer the
// provider as soon as this has returned, not before (requirements Y05).

import { PAYMENT_DOUBTS } from "#contract/payment-admin.ts";
import { saleOf } from "#server/money/order-books.ts";
import type { OrderAct, OrderVerdict, Proof } from "#server/money/order-operations.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { findOrder, findOrderByTrade, insertEvent, type OrderRow } from "#server/store/orders.ts";
import { lookSoon } from "#server/store/plan-renewals.ts";
import { findPeriod } from "#server/store/plans.ts";
import type { Tools } from "#server/tools.ts";
import { judgeReversals } from "./invoices.ts";
import type { Instance, Invoiced, Payment, Reversal } from "./provider.ts";
import { invoiceDoubt, noteInvoice, orderOfInvoice } from "./renewals.ts";

export type EvidenceTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "ledger" | "options" | "notify" | "events" | "coord"
>;

/** Where the evidence comes from, and its natural key there. */
export interface Origin {
  readonly kind: "notify" | "poll" | "admin";
  readonly key: string;
  /** As it came; "" = nothing worth keeping. */
  readonly body: string;
}

/** A confirmed payment. Throws: StoreError; the provider tells again then. */
export async function bringPayment(
  tools: EvidenceTools,
  instance: Instance,
  { payment, origin }: { payment: Payment; origin: Origin },
): Promise<OrderVerdict | undefined> {
  const { tradeNo, amountMinor, currency, paidSec } = payment;
  const facts = { trade_no: tradeNo, amount_minor: amountMinor, currency };
  const { invoice } = payment;
  const order = await (invoice
    ? orderOfInvoice(tools, instance, { payment, invoice })
    : findOrder(tools.db, payment.orderNo));
  if (order?.instance_id !== instance.id) {
    await bringOddity(tools, instance, { orderNo: payment.orderNo, verdict: "unknown_order", origin, facts });
    return undefined;
  }
  const proof: Proof = {
    tradeNo,
    amountMinor: Math.max(0, amountMinor),
    currency,
    paidSec,
    ...(invoice && {
      ...(invoice.startsAt < invoice.endsAt && { span: spanOf(invoice) }),
      doubt: await invoiceDoubt(tools, instance, { payment, invoice }),
    }),
  };
  const verdict = await changeOrder(tools, order, { act: { verb: "prove", proof }, origin, facts });
  if (invoice && (verdict.outcome === "credited" || verdict.outcome === "duplicate"))
    await noteInvoice(tools, instance, { orderNo: order.order_no, invoice });
  if (verdict.review !== "") alarm(tools, instance, { orderNo: order.order_no, verdict: verdict.review });
  return verdict;
}

function spanOf({ startsAt, endsAt }: Invoiced): Exclude<Proof["span"], undefined> {
  return { startsAt, endsAt };
}

/** Carries an act on an order to the ledger. */
export async function changeOrder(
  tools: EvidenceTools,
  order: OrderRow,
  { act, origin, facts }: { act: OrderAct; origin: Origin; facts: Readonly<Record<string, unknown>> },
): Promise<OrderVerdict> {
  const { db: _, ...rest } = tools;
  const eventKey = `${origin.kind}/${origin.key}`.slice(0, 300);
  const { order_no: orderNo, user_id: userId, giver_id: giverId, inviter_id: inviterId } = order;
  const verdict = await rest.ledger.changeOrder({
    operationId: `${act.verb}/${"refundNo" in act ? act.refundNo : orderNo}`,
    orderNo,
    userId,
    giverId,
    inviterId,
    act,
    event: {
      instanceId: order.instance_id,
      kind: origin.kind,
      eventKey,
      facts: JSON.stringify(facts).slice(0, 2_000),
      bodySealed: sealBody(tools, origin.body),
    },
    display: quotaDisplay(tools.options),
  });
  // Money went back, or a dispute was won: what was invoiced of it may be too much now, or no more.
  if (["finish", "claw", "restore"].includes(act.verb))
    await judgeReversals(tools, { userId, currency: order.currency });
  // A plan began, changed or ended: it lends a group and pays for calls from now on, or no more.
  if (order.plan_sale !== "") {
    await tools.coord.publish("users", String(userId));
    await lookAfter(tools, order);
  }
  return verdict;
}

/** What the provider is to charge for a plan from now on may be another sum, or nothing. */
async function lookAfter({ db, clock }: EvidenceTools, order: OrderRow): Promise<void> {
  const upgraded = saleOf(order.plan_sale)?.upgrade_of ?? 0;
  const period = upgraded === 0 ? undefined : await findPeriod(db, upgraded);
  await lookSoon(db, [order.order_no, ...(period ? [period.order_no] : [])], clock.seconds());
}

function sealBody({ secrets }: Pick<Tools, "secrets">, body: string): string {
  return body === "" ? "" : secrets.seal(body, "payment_events.body");
}

interface Oddity {
  readonly orderNo: string;
  readonly verdict: string;
  readonly origin: Origin;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Something genuine that fits nowhere: kept for a person, told once (requirements Y21). Returns whether it is new. */
export async function bringOddity(
  tools: EvidenceTools,
  instance: Instance,
  oddity: Oddity,
): Promise<boolean> {
  const { orderNo, verdict, origin, facts } = oddity;
  const isNew = await insertEvent(tools.db, {
    instance_id: instance.id,
    kind: origin.kind,
    event_key: `${origin.kind}/${origin.key}`.slice(0, 300),
    order_no: orderNo.slice(0, 64),
    verdict,
    is_open: 1,
    facts: JSON.stringify(facts).slice(0, 2_000),
    body_sealed: sealBody(tools, origin.body),
    created_at: tools.clock.seconds(),
  });
  if (isNew) alarm(tools, instance, { orderNo, verdict });
  return isNew;
}

function alarm(
  { notify }: EvidenceTools,
  instance: Instance,
  { orderNo, verdict }: { orderNo: string; verdict: string },
): void {
  const content = `支付渠道“${instance.name}”，订单 ${orderNo.slice(0, 64)}：${PAYMENT_DOUBTS[verdict] ?? verdict}。请在支付管理中处理。`;
  notify({
    event: "payment_review",
    about: `order ${instance.id} ${orderNo.slice(0, 64)} ${verdict}`,
    title: "有一笔付款待处理",
    content,
  });
}

/** Money that went back at the provider. Once each, in any order; a dispute that is won gives back (requirements Y37). */
export async function bringReversal(
  tools: EvidenceTools,
  instance: Instance,
  { reversal, origin }: { reversal: Reversal; origin: Origin },
): Promise<void> {
  const { source, providerId, tradeNo, amountMinor } = reversal;
  const facts = { source, provider_id: providerId, trade_no: tradeNo, amount_minor: amountMinor };
  const named = reversal.orderNo === "" ? undefined : await findOrder(tools.db, reversal.orderNo);
  const order = named ?? (await findOrderByTrade(tools.db, instance.id, tradeNo));
  if (order?.instance_id !== instance.id) {
    const verdict = "unknown_order";
    await bringOddity(tools, instance, { orderNo: reversal.orderNo, verdict, origin, facts });
    return;
  }
  const act = await actOf(tools, order, reversal);
  if (act) await changeOrder(tools, order, { act, origin, facts });
}

async function actOf(
  { db }: EvidenceTools,
  order: OrderRow,
  reversal: Reversal,
): Promise<OrderAct | undefined> {
  const { source, providerId, isUndone } = reversal;
  // Some providers tell the sum of all refunds, ours among them.
  const amountMinor = reversal.isTotal ? reversal.amountMinor - order.refunded_minor : reversal.amountMinor;
  if (amountMinor <= 0) return undefined;
  const name = `${source}/${order.instance_id}/${providerId}`;
  if (source === "elsewhere") {
    const refundNo = reversal.isTotal ? `${name}/${order.order_no}` : name;
    return { verb: "claw", refundNo, source, providerId, amountMinor };
  }
  const rounds = (await listRefunds(db, order.order_no)).filter((row) => row.provider_id === providerId);
  const last = rounds.at(-1);
  if (isUndone) return last?.state === "done" ? { verb: "restore", refundNo: last.refund_no } : undefined;
  // Won, and lost again: another round.
  const refundNo = last?.state === "won" ? `${name}/${rounds.length + 1}` : (last?.refund_no ?? name);
  return { verb: "claw", refundNo, source, providerId, amountMinor };
}
