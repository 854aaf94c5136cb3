// Subscriptions and their invoices at Stripe: what is so, and what is to be. Each invoice is a payment of its own (requirements Z21,
// vendors/stripe-billing).
import { dayOf } from "#contract/month.ts";
import type {
  Asked,
  Instance,
  Listed,
  Notice,
  Payment,
  ProviderDeps,
  Recurring,
  Renewing,
  Span,
  Subscription,
} from "#server/payments/provider.ts";
import { orderTailOf } from "#server/secrets.ts";
import { memberOf, recordOf, textOf } from "./call.ts";
import { isLive, listPages, STRIPE_PAGE, stripeCall } from "./stripe-call.ts";

const INVOICE = /^in_\w+$/;
const SUBSCRIPTION = /^sub_\w+$/;
/** An invoice is made when its period begins, and may be paid weeks later, when a card that was refused works again. Unit: seconds. */
const DUNNING_SEC = 31 * 86_400;

type Form = (readonly [string, string])[];

/** What a Checkout session has more when its plan is to be renewed. */
export function recurringForm(orderNo: string, { unit, count, userId, versionId }: Recurring): Form {
  return [
    ["line_items[0][price_data][recurring][interval]", unit],
    ["line_items[0][price_data][recurring][interval_count]", String(count)],
    // Later events name their order by these.
    ["subscription_data[metadata][order_no]", orderNo],
    ["subscription_data[metadata][user]", String(userId)],
    ["subscription_data[metadata][plan_version]", String(versionId)],
  ];
}

function seconds(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** The number of the order of an invoice: the same invoice is the same order, however often it is told of. */
function orderNoOf(instance: Instance, id: string, createdSec: number): string {
  return `TG${dayOf(createdSec).replaceAll("-", "")}${orderTailOf(`${instance.id}/${id}`)}`;
}

function listOf(value: unknown): readonly unknown[] {
  const { data } = recordOf(value);
  return Array.isArray(data) ? data : [];
}

/** The payment that stands behind an invoice; what was settled without one is known by the invoice. */
function tradeOf(invoice: Record<string, unknown>): string {
  const paid = listOf(invoice["payments"]).find((one) => recordOf(one)["status"] === "paid");
  return textOf(memberOf(paid, "payment")["payment_intent"]) || textOf(invoice["id"]);
}

/** What an invoice that was fetched says. `gone` = it is of no subscription of ours. */
function judgeInvoice(instance: Instance, invoice: Record<string, unknown>): Asked {
  if (invoice["livemode"] !== isLive(instance)) return { kind: "unclear", problem: "livemode" };
  const details = memberOf(memberOf(invoice, "parent"), "subscription_details");
  const [id, subscription] = [textOf(invoice["id"]), textOf(details["subscription"])];
  const firstOrderNo = textOf(memberOf(details, "metadata")["order_no"]);
  if (subscription === "" || firstOrderNo === "") return { kind: "gone" };
  if (invoice["status"] !== "paid") return { kind: "open" };
  // Beside the period that was bought there may be lines about parts of it.
  const periods = listOf(invoice["lines"]).map((line) => memberOf(line, "period"));
  const period = periods.reduce((last, one) => (seconds(one["end"]) > seconds(last["end"]) ? one : last), {});
  const createdSec = seconds(invoice["created"]);
  const amount = invoice["amount_paid"];
  return {
    kind: "paid",
    payment: {
      orderNo:
        invoice["billing_reason"] === "subscription_create"
          ? firstOrderNo
          : orderNoOf(instance, id, createdSec),
      tradeNo: tradeOf(invoice),
      amountMinor: typeof amount === "number" && Number.isSafeInteger(amount) ? amount : -1,
      currency: textOf(invoice["currency"]).toUpperCase(),
      paidSec: seconds(memberOf(invoice, "status_transitions")["paid_at"]) || createdSec,
      invoice: {
        id,
        subscription,
        firstOrderNo,
        startsAt: seconds(period["start"]),
        endsAt: seconds(period["end"]),
      },
    },
  };
}

/** What is so of an invoice. */
export async function askInvoice(instance: Instance, id: string, deps: ProviderDeps): Promise<Asked> {
  if (!INVOICE.test(id)) return { kind: "unclear", problem: "no invoice" };
  const path = `/v1/invoices/${id}?expand[]=payments`;
  const answer = await stripeCall(instance, deps, { method: "GET", path });
  return answer.kind === "ok"
    ? judgeInvoice(instance, answer.body)
    : { kind: "unclear", problem: answer.problem };
}

/** Which subscription an event is about. */
export async function subscriptionOf(
  instance: Instance,
  { id, key }: { readonly id: string; readonly key: string },
  deps: ProviderDeps,
): Promise<Notice> {
  if (SUBSCRIPTION.test(id)) return { kind: "subscription", id, key };
  if (!INVOICE.test(id)) return { kind: "ignored" };
  const answer = await stripeCall(instance, deps, { method: "GET", path: `/v1/invoices/${id}` });
  if (answer.kind === "unclear") return { kind: "again" };
  const named = textOf(memberOf(memberOf(answer.body, "parent"), "subscription_details")["subscription"]);
  return answer.kind === "ok" && SUBSCRIPTION.test(named)
    ? { kind: "subscription", id: named, key }
    : { kind: "ignored" };
}

const STATES: Readonly<Record<string, Subscription["status"]>> = {
  incomplete: "failed",
  past_due: "failed",
  unpaid: "failed",
  canceled: "ended",
  incomplete_expired: "ended",
};

function itemOf(body: Record<string, unknown>): Record<string, unknown> {
  return recordOf(listOf(body["items"])[0]);
}

function readSubscription(body: Record<string, unknown>): Subscription {
  const status = STATES[textOf(body["status"])] ?? "active";
  return {
    id: textOf(body["id"]),
    firstOrderNo: textOf(memberOf(body, "metadata")["order_no"]),
    status,
    renews: body["cancel_at_period_end"] !== true && status !== "ended",
    endsAt: seconds(itemOf(body)["current_period_end"]),
    endedAt: status === "ended" ? seconds(body["ended_at"]) : 0,
  };
}

/**
 * The portal makes a new card that of the customer, and Checkout gave the first one to the subscription, where it goes before the customer's
 * (https://docs.stripe.com/api/subscriptions/object, default_payment_method, 2026-11-27). Each subscription of ours has a customer of its own, so
 * a customer's card is always the newer one: the subscription's is taken away, once.
 */
async function takeNewCard(
  instance: Instance,
  subscription: Record<string, unknown>,
  deps: ProviderDeps,
): Promise<boolean> {
  const settings = memberOf(memberOf(subscription, "customer"), "invoice_settings");
  const isOld =
    textOf(subscription["default_payment_method"]) !== "" &&
    textOf(settings["default_payment_method"]) !== "";
  if (!isOld || readSubscription(subscription).status === "ended") return true;
  const path = `/v1/subscriptions/${textOf(subscription["id"])}`;
  const form: Form = [["default_payment_method", ""]];
  return (await stripeCall(instance, deps, { method: "POST", path, form })).kind === "ok";
}

const look: Renewing["look"] = async (instance, id, deps) => {
  const path = `/v1/subscriptions/${id}?expand[]=customer`;
  const found = await stripeCall(instance, deps, { method: "GET", path });
  if (found.kind !== "ok")
    return found.kind === "refused" ? { kind: "gone" } : { kind: "unclear", problem: found.problem };
  if (found.body["livemode"] !== isLive(instance)) return { kind: "gone" };
  if (!(await takeNewCard(instance, found.body, deps))) return { kind: "unclear", problem: "card" };
  const query = `subscription=${id}&status=paid&limit=${STRIPE_PAGE}&expand[]=data.payments`;
  const listed = await stripeCall(instance, deps, { method: "GET", path: `/v1/invoices?${query}` });
  if (listed.kind !== "ok" || !Array.isArray(listed.body["data"]))
    return { kind: "unclear", problem: listed.problem };
  const payments = paidOf(instance, listed.body);
  // A period follows the one before it.
  const startOf = ({ invoice }: Payment) => invoice?.startsAt ?? 0;
  return {
    kind: "found",
    subscription: readSubscription(found.body),
    payments: payments.sort((a, b) => startOf(a) - startOf(b)),
  };
};

function paidOf(instance: Instance, body: Record<string, unknown>): Payment[] {
  return listOf(body).flatMap((row) => {
    const asked = judgeInvoice(instance, recordOf(row));
    return asked.kind === "paid" ? [asked.payment] : [];
  });
}

/** A new price keeps the product and the day; nothing is charged before the next period. */
const change: Renewing["change"] = async (instance, { id, wish }, deps) => {
  const path = `/v1/subscriptions/${id}`;
  const found = await stripeCall(instance, deps, { method: "GET", path });
  if (found.kind !== "ok") return found.kind === "refused" ? "gone" : "unclear";
  if (readSubscription(found.body).status === "ended") return "gone";
  const item = itemOf(found.body);
  const price = memberOf(item, "price");
  const isSamePrice =
    price["unit_amount"] === wish.amountMinor && textOf(price["currency"]) === wish.currency.toLowerCase();
  const priceForm: Form = isSamePrice
    ? []
    : [
        ["items[0][id]", textOf(item["id"])],
        ["items[0][price_data][currency]", wish.currency.toLowerCase()],
        ["items[0][price_data][unit_amount]", String(wish.amountMinor)],
        ["items[0][price_data][product]", textOf(price["product"])],
        ["items[0][price_data][recurring][interval]", wish.unit],
        ["items[0][price_data][recurring][interval_count]", String(wish.count)],
        ["proration_behavior", "none"],
      ];
  const form: Form = [
    ...priceForm,
    ["cancel_at_period_end", String(!wish.renews)],
    ["metadata[plan_version]", String(wish.versionId)],
  ];
  // Without an idempotency key: what is set here is the same however often it is set, and a wish may come back.
  const answer = await stripeCall(instance, deps, { method: "POST", path, form });
  return answer.kind === "ok" ? "done" : "unclear";
};

/** The page of Stripe's customer portal for the card alone (https://docs.stripe.com/customer-management/portal-deep-links, 2026-11-27). */
const cardPage: Renewing["cardPage"] = async (instance, id, deps) => {
  const found = await stripeCall(instance, deps, { method: "GET", path: `/v1/subscriptions/${id}` });
  if (found.kind !== "ok")
    return { kind: found.kind === "refused" ? "gone" : "unclear", problem: found.problem };
  const isOurs = found.body["livemode"] === isLive(instance);
  if (!isOurs || readSubscription(found.body).status === "ended") return { kind: "gone", problem: "ended" };
  const answer = await stripeCall(instance, deps, {
    method: "POST",
    path: "/v1/billing_portal/sessions",
    form: [
      ["customer", textOf(found.body["customer"])],
      ["return_url", deps.returnUrl],
      ["flow_data[type]", "payment_method_update"],
      ["flow_data[after_completion][type]", "redirect"],
      ["flow_data[after_completion][redirect][return_url]", deps.returnUrl],
    ],
  });
  if (answer.kind !== "ok") return { kind: answer.kind, problem: answer.problem };
  const url = textOf(answer.body["url"]);
  return /^https?:\/\//.test(url) ? { kind: "ready", url } : { kind: "unclear", problem: "no page" };
};

export const renewing: Renewing = { look, change, cardPage };

/** The invoices that were paid in a span. */
export async function listInvoices(
  instance: Instance,
  { fromSec, beforeSec }: Span,
  deps: ProviderDeps,
): Promise<Listed> {
  const created = `created[gte]=${fromSec - DUNNING_SEC}&created[lt]=${beforeSec}`;
  const path = `/v1/invoices?status=paid&${created}&expand[]=data.payments`;
  const listed = await listPages(instance, deps, { path, judge: judgeInvoice });
  if (listed.kind !== "listed") return listed;
  const payments = listed.payments.filter(({ paidSec }) => paidSec >= fromSec && paidSec < beforeSec);
  return { kind: "listed", payments };
}
