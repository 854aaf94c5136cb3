// Brings a payment that a provider confirmed to the order it is of, and what was heard before it of money that went back.
import type { OrderVerdict, Proof } from "#server/money/order-operations.ts";
import { findOrder } from "#server/store/orders.ts";
import { alarm, bringOddity, changeOrder, type EvidenceTools, type Origin } from "./evidence.ts";
import type { Instance, Invoiced, Payment } from "./provider.ts";
import { invoiceDoubt, noteInvoice, orderOfInvoice } from "./renewals.ts";
import { bookEarly } from "./reversals.ts";

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
  await bookEarly(tools, instance, { orderNo: order.order_no });
  if (verdict.review !== "") alarm(tools, instance, { orderNo: order.order_no, verdict: verdict.review });
  return verdict;
}

function spanOf({ startsAt, endsAt }: Invoiced): Exclude<Proof["span"], undefined> {
  return { startsAt, endsAt };
}
