// Stripe Checkout on its plain API: five calls and one HMAC. An event tells what to look at, the fetched object what is so (requirements Y24).

import type {
  Asked,
  CallbackRequest,
  Created,
  Instance,
  Notice,
  OrderFacts,
  Provider,
  ProviderDeps,
  Refunded,
} from "#server/payments/provider.ts";
import { PLAN_SUBJECT, SUBJECT } from "#server/payments/provider.ts";
import { verifiesStripe } from "#server/payments/wire/signatures.ts";
import { memberOf, objectOf, recordOf, textOf } from "./call.ts";
import { askInvoice, listInvoices, recurringForm, renewing, subscriptionOf } from "./stripe-billing.ts";
import { isLive, listPages, type StripeAnswer, stripeCall } from "./stripe-call.ts";
import { disputeOf, listReversals, refundOf } from "./stripe-reversals.ts";

/**
 * Stripe takes an end that is at least 30 minutes and at most a day after it made the session, and it may make it as late as our order ends, when
 * answers were lost. The same in each try, as the idempotency key demands; we end the session with our order. Unit: seconds.
 */
const SPARE_SEC = 35 * 60;

const KEY_USED = "key used";

async function create(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Created> {
  const { recurring } = order;
  const form: (readonly [string, string])[] = [
    ["mode", recurring ? "subscription" : "payment"],
    ["line_items[0][quantity]", "1"],
    ["line_items[0][price_data][currency]", order.currency.toLowerCase()],
    ["line_items[0][price_data][unit_amount]", String(order.amountMinor)],
    ["line_items[0][price_data][product_data][name]", recurring ? PLAN_SUBJECT : SUBJECT],
    ["payment_method_types[0]", order.method],
    ...(order.method === "wechat_pay"
      ? ([["payment_method_options[wechat_pay][client]", "web"]] as const)
      : []),
    ["client_reference_id", order.orderNo],
    ["metadata[order_no]", order.orderNo],
    ...(recurring
      ? recurringForm(order.orderNo, recurring)
      : ([["payment_intent_data[metadata][order_no]", order.orderNo]] as const)),
    ["success_url", deps.returnUrl],
    ["cancel_url", deps.returnUrl],
    ["expires_at", String(order.expiresSec + SPARE_SEC)],
  ];
  const path = "/v1/checkout/sessions";
  const idempotencyKey = `order/${order.orderNo}/create`;
  const answer = await stripeCall(instance, deps, { method: "POST", path, form, idempotencyKey });
  // The first try had other parameters: its session may be there.
  if (memberOf(answer.body, "error")["type"] === "idempotency_error")
    return { kind: "refused", problem: KEY_USED };
  if (answer.kind !== "ok") return { kind: answer.kind, problem: answer.problem };
  const [session, url] = [textOf(answer.body["id"]), textOf(answer.body["url"])];
  if (!/^cs_\w+$/.test(session) || !/^https?:\/\//.test(url))
    return { kind: "unclear", problem: "no session" };
  return { kind: "ready", qr: "", url, session };
}

/** What a session that was fetched says about its order; `invoice` = what was paid stands in that one. */
function judge(
  instance: Instance,
  session: Record<string, unknown>,
): Asked | { readonly kind: "invoice"; readonly id: string } {
  if (session["livemode"] !== isLive(instance)) return { kind: "unclear", problem: "livemode" };
  // Of a finished Checkout that is not paid the bank has not spoken yet (requirements Y25).
  if (session["payment_status"] !== "paid")
    return session["status"] === "expired" ? { kind: "gone" } : { kind: "open" };
  if (session["mode"] === "subscription") return { kind: "invoice", id: textOf(session["invoice"]) };
  const amount = session["amount_total"];
  const intent = session["payment_intent"];
  const tradeNo = textOf(intent) || textOf(memberOf(session, "payment_intent")["id"]);
  if (tradeNo === "") return { kind: "unclear", problem: "no payment" };
  return {
    kind: "paid",
    payment: {
      orderNo: textOf(session["client_reference_id"]),
      tradeNo,
      amountMinor: typeof amount === "number" && Number.isSafeInteger(amount) ? amount : -1,
      currency: textOf(session["currency"]).toUpperCase(),
      paidSec: 0,
    },
  };
}

/** The same, with what its invoice says. */
async function judgeWhole(
  instance: Instance,
  session: Record<string, unknown>,
  deps: ProviderDeps,
): Promise<Asked> {
  const asked = judge(instance, session);
  return asked.kind === "invoice" ? askInvoice(instance, asked.id, deps) : asked;
}

async function ask(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Asked> {
  // A period that was renewed never had a session.
  if (order.session.startsWith("in_")) return askInvoice(instance, order.session, deps);
  if (order.session === "") {
    // The answer to the first try was lost: the same key gets the same session, or makes it.
    const made = await create(instance, order, deps);
    // A session that had been made would be the answer to its key: there is none, and Stripe makes none any more.
    if (made.kind === "refused" && made.problem !== KEY_USED) return { kind: "gone" };
    if (made.kind !== "ready") return { kind: "unclear", problem: made.problem };
    return ask(instance, { ...order, session: made.session }, deps);
  }
  const answer = await stripeCall(instance, deps, {
    method: "GET",
    path: `/v1/checkout/sessions/${order.session}`,
  });
  // The account has no such session: nothing was paid in it.
  if (answer.kind === "refused" && answer.problem === "status 404") return { kind: "open" };
  return answer.kind === "ok"
    ? judgeWhole(instance, answer.body, deps)
    : { kind: "unclear", problem: answer.problem };
}

/** A key that is right finds no such session; one that is wrong is not let in, in JSON too. */
const probe: Provider["probe"] = async (instance, orderNo, deps) => {
  const path = `/v1/checkout/sessions/cs_${orderNo}`;
  const { kind, body, problem } = await stripeCall(instance, deps, { method: "GET", path });
  if (kind === "ok" || typeof body["error"] !== "object")
    return { kind: "unclear", problem: problem || "odd answer" };
  if (problem === "status 404") return { kind: "accepted" };
  const isShut = kind === "refused" || problem === "status 401" || problem === "status 403";
  return { kind: isShut ? "refused" : "unclear", problem };
};

const SESSION_EVENTS = [
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "checkout.session.async_payment_failed",
  "checkout.session.expired",
];

const INVOICE_EVENTS = ["invoice.paid", "invoice.payment_failed"];

/** Events that tell of money: one of the other mode is kept for a person, as it can only come from an account that was set up wrongly. */
const PAID_EVENTS = [
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "invoice.paid",
];

async function read(instance: Instance, request: CallbackRequest, deps: ProviderDeps): Promise<Notice> {
  const header = request.header("stripe-signature");
  const secrets = instance.secrets("webhook_secret");
  if (request.method !== "POST" || !verifiesStripe(request.body, header, { secrets, nowSec: deps.nowSec }))
    return { kind: "refused", problem: "signature" };
  const event = objectOf(Buffer.from(request.body).toString("utf8"));
  const [type, key] = [textOf(event?.["type"]), textOf(event?.["id"])];
  const object = memberOf(memberOf(event, "data"), "object");
  const id = textOf(object["id"]);
  if (event?.["livemode"] !== isLive(instance))
    return PAID_EVENTS.includes(type) ? { kind: "foreign", orderNo: "", key } : { kind: "ignored" };
  if (SESSION_EVENTS.includes(type)) return lookAt(instance, { id, key }, deps);
  if (INVOICE_EVENTS.includes(type) || type.startsWith("customer.subscription."))
    return subscriptionOf(instance, { id, key }, deps);
  if (type.startsWith("refund.") || type === "charge.refunded")
    return refundOf(instance, { id, key, type }, deps);
  return type.startsWith("charge.dispute.") ? disputeOf(instance, { id, key }, deps) : { kind: "ignored" };
}

async function lookAt(
  instance: Instance,
  { id, key }: { id: string; key: string },
  deps: ProviderDeps,
): Promise<Notice> {
  if (!/^cs_\w+$/.test(id)) return { kind: "ignored" };
  const answer = await stripeCall(instance, deps, { method: "GET", path: `/v1/checkout/sessions/${id}` });
  if (answer.kind === "unclear") return { kind: "again" };
  if (answer.kind === "refused") return { kind: "ignored" };
  const asked = await judgeWhole(instance, answer.body, deps);
  // Only an invoice that could not be fetched may be clear another time.
  if (asked.kind === "unclear")
    return {
      kind: answer.body["mode"] === "subscription" && asked.problem !== "livemode" ? "again" : "ignored",
    };
  const orderNo = textOf(answer.body["client_reference_id"]);
  return asked.kind === "paid"
    ? { kind: "paid", payment: asked.payment, key }
    : { kind: "look", orderNo, key, session: id };
}

/** The refund object has the last word. */
function refundVerdict(answer: StripeAnswer): Refunded {
  if (answer.kind !== "ok")
    return { kind: answer.kind === "refused" ? "failed" : "unclear", problem: answer.problem };
  const status = textOf(answer.body["status"]);
  if (status === "succeeded") return { kind: "done", providerId: textOf(answer.body["id"]) };
  return status === "failed" || status === "canceled"
    ? { kind: "failed", problem: status }
    : { kind: "taken" };
}

const refund: Provider["refund"] = async (instance, order, { refundNo, amountMinor, deps }) =>
  refundVerdict(
    await stripeCall(instance, deps, {
      method: "POST",
      path: "/v1/refunds",
      form: [
        ["payment_intent", order.tradeNo],
        ["amount", String(amountMinor)],
        ["metadata[refund_no]", refundNo],
      ],
      idempotencyKey: `refund/${refundNo}`,
    }),
  );

const askRefund: Provider["askRefund"] = async (instance, order, { refundNo, deps }) => {
  const path = `/v1/refunds?payment_intent=${encodeURIComponent(order.tradeNo)}&limit=100`;
  const answer = await stripeCall(instance, deps, { method: "GET", path });
  const list = answer.body["data"];
  if (answer.kind !== "ok" || !Array.isArray(list)) return { kind: "unclear", problem: answer.problem };
  const found: unknown = list.find((one) => memberOf(one, "metadata")["refund_no"] === refundNo);
  return found === undefined
    ? { kind: "unclear", problem: "no such refund" }
    : refundVerdict({ ...answer, body: recordOf(found) });
};

/** A session lives for a day: what was paid in a span was begun at most so long before. Unit: seconds. */
const SESSION_SEC = 86_400;

/** Sessions by when they were begun, the invoices that were paid, which have no session, and what went back. */
const list: Provider["list"] = async (instance, span, deps) => {
  const path = `/v1/checkout/sessions?created[gte]=${span.fromSec - SESSION_SEC}&created[lt]=${span.beforeSec}`;
  const sessions = await listPages(instance, deps, { path, judge });
  if (sessions.kind !== "listed") return sessions;
  const invoices = await listInvoices(instance, span, deps);
  if (invoices.kind !== "listed") return invoices;
  const returns = await listReversals(instance, span, deps);
  if ("problem" in returns) return { kind: "unclear", problem: returns.problem };
  const payments = [...sessions.payments, ...invoices.payments];
  return { kind: "listed", payments, reversals: returns.reversals };
};

export const stripe: Provider = {
  accepted: { status: 200, body: "" },
  refused: { status: 400, body: "" },
  create,
  ask,
  probe,
  async close(instance, order, deps) {
    if (order.session === "" || order.session.startsWith("in_")) return "unclear";
    const path = `/v1/checkout/sessions/${order.session}/expire`;
    const answer = await stripeCall(instance, deps, { method: "POST", path, form: [] });
    return answer.kind === "unclear" ? "unclear" : "closed";
  },
  read,
  list,
  renewing,
  refund,
  askRefund,
};
