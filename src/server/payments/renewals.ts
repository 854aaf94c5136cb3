// Plans that a provider renews by itself, as the books of payments have them: each paid invoice is an order of its own, made from what the
// subscription promises (requirements Z21). Asks no provider.
import type { PlanSale, PlanTerms } from "#contract/plan-terms.ts";
import { saleOf } from "#server/money/order-books.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { findOrder, insertOrderOnce, type OrderRow } from "#server/store/orders.ts";
import {
  findRenewalAt,
  insertRenewal,
  listChanges,
  noteRenewed,
  type RenewalRow,
} from "#server/store/plan-renewals.ts";
import { findPeriodOfOrder, findPlanVersion, type PlanPeriodRow } from "#server/store/plans.ts";
import { getUser } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { boundColumns, planCommission } from "./commission.ts";
import { priceOf, worthOf } from "./order-price.ts";
import type { Instance, Invoiced, Payment } from "./provider.ts";

type BookTools = Pick<Tools, "db" | "clock" | "options">;

/** The rates that the first order froze. */
function ratesOf({ product }: OrderRow): Pick<Instance, "rate" | "feeBp" | "costBp"> {
  // Written by `draftOf` of orders alone; one of before margins knew what platforms keep has no `costBp`.
  return { costBp: 0, ...(JSON.parse(product) as Pick<Instance, "rate" | "feeBp">) };
}

/** What a plan costs by them. */
function priceAt(first: OrderRow, { price_minor }: PlanTerms): { amount: number; fee: number } {
  return priceOf(price_minor, ratesOf(first));
}

/** What a renewal charges from its next period on. */
export interface NextCharge {
  readonly versionId: number;
  readonly planId: number;
  readonly terms: PlanTerms;
  readonly amountMinor: number;
  readonly feeMinor: number;
  /** The last period; undefined = none was opened, or its payment waits for a person. */
  readonly period: PlanPeriodRow | undefined;
}

/** What was chosen for after a period, unless the period was changed since. */
export async function choiceOf({ db }: Pick<Tools, "db">, period: Pick<PlanPeriodRow, "id" | "version_id">) {
  const [choice] = await listChanges(db, [period.id]);
  return choice?.from_version_id === period.version_id ? choice : undefined;
}

/** The plan that is to follow: the one that was chosen, else the one that its period has now, after any upgrade. */
export async function nextCharge(tools: BookTools, renewal: RenewalRow): Promise<NextCharge | undefined> {
  const { db } = tools;
  const period = await findPeriodOfOrder(db, renewal.last_order_no);
  const choice = period && (await choiceOf(tools, period));
  return chargeOf(tools, renewal, { versionId: choice?.version_id ?? period?.version_id, period });
}

async function chargeOf(
  { db }: BookTools,
  renewal: RenewalRow,
  {
    versionId = renewal.version_id,
    period,
  }: { versionId?: number | undefined; period: NextCharge["period"] },
): Promise<NextCharge | undefined> {
  const [version, first] = [await findPlanVersion(db, versionId), await findOrder(db, renewal.order_no)];
  if (!version || !first) return undefined;
  const terms = termsOf(version.terms);
  const { amount, fee } = priceAt(first, terms);
  return { versionId, planId: version.plan_id, terms, amountMinor: amount, feeMinor: fee, period };
}

/**
 * The order that an invoice pays: the first one, or one that is made for it, once. The subscription is noted before anything is credited, so
 * that no crash loses it. undefined = it is of no order of ours.
 */
export async function orderOfInvoice(
  tools: BookTools,
  instance: Instance,
  { payment, invoice }: { readonly payment: Payment; readonly invoice: Invoiced },
): Promise<OrderRow | undefined> {
  const { db } = tools;
  const first = await findOrder(db, invoice.firstOrderNo);
  if (first?.instance_id !== instance.id) return undefined;
  await learn(tools, first, { payment, invoice });
  if (payment.orderNo === first.order_no) return first;
  const renewal = await findRenewalAt(db, instance.id, invoice.subscription);
  if (!renewal) return undefined;
  const known = await findOrder(db, payment.orderNo);
  if (known) return known;
  await insertOrderOnce(db, await draftOf(tools, { first, renewal, payment, invoice }));
  return findOrder(db, payment.orderNo);
}

async function learn(
  { db, clock }: BookTools,
  first: OrderRow,
  { payment, invoice }: { readonly payment: Payment; readonly invoice: Invoiced },
): Promise<void> {
  const sale = saleOf(first.plan_sale);
  if (!sale?.renews) return;
  const nowSec = clock.seconds();
  const { order_no, user_id, instance_id, currency, amount_minor } = first;
  await insertRenewal(db, {
    user_id,
    instance_id,
    provider_id: invoice.subscription,
    order_no,
    last_order_no: order_no,
    version_id: sale.version_id,
    currency,
    amount_minor,
    renews: 1,
    is_told: 1,
    status: "active",
    next_at: payment.orderNo === order_no ? invoice.endsAt : invoice.startsAt,
    next_check: nowSec,
    created_at: nowSec,
  });
}

/** The order that began the renewal which made this one; of any other its own number. */
export function firstOrderOf({ order_no, product }: Pick<OrderRow, "order_no" | "product">): string {
  // Written by `draftOf`, here and in orders.
  const { renewal_of = order_no } = JSON.parse(product) as { readonly renewal_of?: string };
  return renewal_of;
}

interface Drafted {
  readonly first: OrderRow;
  readonly renewal: RenewalRow;
  readonly payment: Payment;
  readonly invoice: Invoiced;
}

/** Frozen like any order: an invoice of another amount waits for a person (requirements Y13, Y14). */
async function draftOf(tools: BookTools, { first, renewal, payment, invoice }: Drafted) {
  const next = await nextCharge(tools, renewal);
  const told = await chargeOf(tools, renewal, { period: next?.period });
  // The provider may have been told of a change without us having heard that it took it.
  const isNext =
    next && payment.amountMinor !== renewal.amount_minor && payment.amountMinor === next.amountMinor;
  const charge = isNext ? next : told;
  if (!charge) throw new Error(`the plan of renewal ${renewal.id} is gone`);
  const { planId, versionId, terms, period } = charge;
  const user = await getUser(tools.db, first.user_id);
  const sale: PlanSale = {
    plan_id: planId,
    version_id: versionId,
    upgrade_of: 0,
    upgrade_from: 0,
    quota: terms.quota,
    ...(period && { follows: period.id }),
    terms,
  };
  const price = {
    amount: isNext ? charge.amountMinor : renewal.amount_minor,
    fee: charge.feeMinor,
  };
  const nowSec = tools.clock.seconds();
  const ref = { qr: "", url: "", session: invoice.id };
  return {
    order_no: payment.orderNo,
    user_id: first.user_id,
    instance_id: first.instance_id,
    method: first.method,
    product: JSON.stringify({ renewal_of: first.order_no, plan_id: planId, version_id: versionId }),
    quota: terms.quota,
    currency: renewal.currency,
    amount_minor: price.amount,
    fee_minor: price.fee,
    giver_id: 0,
    inviter_id: user.inviter_id,
    gift_quota: 0,
    commission_micro: planCommission(tools, user, terms.price_minor),
    ...boundColumns(tools),
    ...worthOf(price, ratesOf(first)),
    status: "pending" as const,
    provider_ref: JSON.stringify(ref),
    created_at: nowSec,
    expires_at: nowSec,
    next_check: 0,
    plan_sale: JSON.stringify(sale),
  };
}

/** Why the payment of an invoice needs a person although it agrees with its order; "" = it does not (requirements Z21). */
export async function invoiceDoubt(
  { db }: BookTools,
  instance: Instance,
  { payment, invoice }: { readonly payment: Payment; readonly invoice: Invoiced },
): Promise<string> {
  const renewal = await findRenewalAt(db, instance.id, invoice.subscription);
  // What was paid while it ran opens its period, however late we hear of it.
  const isOver = renewal !== undefined && renewal.ended_at > 0 && payment.paidSec > renewal.ended_at;
  return isOver ? "renewal_over" : "";
}

/** After a period was opened, here or by a process that died right after. */
export async function noteInvoice(
  { db }: BookTools,
  instance: Instance,
  { orderNo, invoice }: { readonly orderNo: string; readonly invoice: Invoiced },
): Promise<void> {
  const renewal = await findRenewalAt(db, instance.id, invoice.subscription);
  if (renewal) await noteRenewed(db, renewal.id, { orderNo, endsAt: invoice.endsAt });
}
