// Subscriptions and invoices of the emulated Stripe: made when a Checkout session of that mode is paid, moved on by the test, by Stripe's
// calendar (vendors/stripe-billing).
import type { Now, PayOrder } from "./pay-desk.ts";

export interface EmulatedSubscription {
  readonly id: string;
  readonly metadata: Record<string, string>;
  readonly interval: string;
  readonly count: number;
  readonly currency: string;
  readonly anchorSec: number;
  readonly customer: string;
  /** Given by Checkout; it goes before the customer's. null = the customer's is charged. */
  card: string | null;
  /** What the customer chose in the portal. */
  customerCard: string | null;
  amount: number;
  /** Periods that were begun so far. */
  periods: number;
  status: string;
  cancelAtPeriodEnd: boolean;
  endedAt: number | null;
}

export interface EmulatedInvoice {
  readonly id: string;
  readonly subscription: string;
  readonly reason: "subscription_create" | "subscription_cycle";
  readonly createdSec: number;
  readonly startSec: number;
  readonly endSec: number;
  readonly amount: number;
  /** What is charged. */
  readonly card: string | null;
  readonly metadata: Record<string, string>;
  readonly currency: string;
  status: "open" | "paid";
  paidSec: number | null;
}

/** So many months on, on the last day where there is no such day: by UTC, as Stripe reckons. */
function monthsOn(anchorSec: number, months: number): number {
  const at = new Date(anchorSec * 1_000);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(at.getUTCDate(), lastDay)) / 1_000 + (anchorSec % 86_400);
}

const missing = {
  status: 404,
  json: { error: { type: "invalid_request_error", message: "No such object" } },
};

export class StripeBilling {
  readonly subscriptions = new Map<string, EmulatedSubscription>();
  readonly invoices = new Map<string, EmulatedInvoice>();
  /** Whether an operator has set the portal up in the dashboard. */
  hasPortal = true;
  readonly #forms = new Map<string, URLSearchParams>();
  readonly #byOrder = new Map<string, string>();
  readonly #now: Now;

  constructor(now: Now) {
    this.#now = now;
  }

  get #nowSec(): number {
    return Math.floor(this.#now() / 1_000);
  }

  /** Keeps what a new Checkout session asks for. */
  begin(orderNo: string, form: URLSearchParams): void {
    if (form.get("mode") === "subscription") this.#forms.set(orderNo, form);
  }

  /** What a session of this mode has beside the others; paid for, its subscription begins. */
  sessionParts(order: PayOrder): object {
    const form = this.#forms.get(order.orderNo);
    if (!form) return { mode: "payment", subscription: null, invoice: null };
    const subscription = order.state === "paid" ? this.of(order.orderNo, order.amount) : undefined;
    const first = [...this.invoices.values()].find((one) => one.subscription === subscription?.id);
    return {
      mode: "subscription",
      subscription: subscription?.id ?? null,
      invoice: first?.id ?? null,
      payment_intent: null,
    };
  }

  /** The subscription of an order that was paid. */
  of(orderNo: string, amount = 0): EmulatedSubscription {
    const known = this.subscriptions.get(this.#byOrder.get(orderNo) ?? "");
    if (known) return known;
    const form = this.#forms.get(orderNo) ?? new URLSearchParams();
    const price = (name: string) => form.get(`line_items[0][price_data]${name}`) ?? "";
    const metadata = (name: string) => form.get(`subscription_data[metadata][${name}]`) ?? "";
    const made: EmulatedSubscription = {
      id: `sub_${this.subscriptions.size + 1}`,
      metadata: {
        order_no: metadata("order_no"),
        user: metadata("user"),
        plan_version: metadata("plan_version"),
      },
      interval: price("[recurring][interval]"),
      count: Number(price("[recurring][interval_count]")),
      currency: price("[currency]"),
      anchorSec: this.#nowSec,
      customer: `cus_${this.subscriptions.size + 1}`,
      card: "pm_first",
      customerCard: null,
      amount,
      periods: 0,
      status: "active",
      cancelAtPeriodEnd: false,
      endedAt: null,
    };
    this.subscriptions.set(made.id, made);
    this.#byOrder.set(orderNo, made.id);
    this.#begin(made, "subscription_create", true);
    return made;
  }

  #edge({ anchorSec, interval, count }: EmulatedSubscription, periods: number): number {
    return interval === "month" ? monthsOn(anchorSec, periods * count) : anchorSec + periods * count * 86_400;
  }

  endOf(subscription: EmulatedSubscription): number {
    return this.#edge(subscription, subscription.periods);
  }

  #begin(
    subscription: EmulatedSubscription,
    reason: EmulatedInvoice["reason"],
    isPaid: boolean,
  ): EmulatedInvoice {
    subscription.periods += 1;
    const invoice: EmulatedInvoice = {
      id: `in_${this.invoices.size + 1}`,
      subscription: subscription.id,
      reason,
      createdSec: this.#nowSec,
      startSec: this.#edge(subscription, subscription.periods - 1),
      endSec: this.#edge(subscription, subscription.periods),
      amount: subscription.amount,
      card: subscription.card ?? subscription.customerCard,
      currency: subscription.currency,
      metadata: { ...subscription.metadata },
      status: "open",
      paidSec: null,
    };
    this.invoices.set(invoice.id, invoice);
    if (isPaid) this.pay(invoice);
    return invoice;
  }

  /** The next period begins; its invoice is paid, or the card is refused. A subscription that was cancelled ends instead. */
  renew(subscription: EmulatedSubscription, isPaid = true): EmulatedInvoice {
    if (!isPaid) subscription.status = "past_due";
    return this.#begin(subscription, "subscription_cycle", isPaid);
  }

  pay(invoice: EmulatedInvoice): void {
    invoice.status = "paid";
    invoice.paidSec = this.#nowSec;
    const subscription = this.subscriptions.get(invoice.subscription);
    if (subscription?.status === "past_due") subscription.status = "active";
  }

  end(subscription: EmulatedSubscription): void {
    subscription.status = "canceled";
    subscription.endedAt = this.#nowSec;
  }

  #presentSubscription(one: EmulatedSubscription, isWhole = false): object {
    const invoice_settings = { default_payment_method: one.customerCard };
    return {
      customer: isWhole ? { id: one.customer, object: "customer", invoice_settings } : one.customer,
      default_payment_method: one.card,
      id: one.id,
      object: "subscription",
      livemode: false,
      status: one.status,
      cancel_at_period_end: one.cancelAtPeriodEnd,
      ended_at: one.endedAt,
      metadata: one.metadata,
      items: {
        object: "list",
        data: [
          {
            id: `si_${one.id}`,
            object: "subscription_item",
            current_period_start: this.#edge(one, one.periods - 1),
            current_period_end: this.endOf(one),
            price: {
              id: `price_${one.id}`,
              object: "price",
              unit_amount: one.amount,
              currency: one.currency,
              product: `prod_${one.id}`,
              recurring: { interval: one.interval, interval_count: one.count },
            },
          },
        ],
      },
    };
  }

  #presentInvoice(one: EmulatedInvoice, isWhole: boolean): object {
    const payment = {
      object: "invoice_payment",
      status: one.status,
      payment: { type: "payment_intent", payment_intent: `pi_${one.id}` },
    };
    return {
      id: one.id,
      object: "invoice",
      livemode: false,
      status: one.status,
      created: one.createdSec,
      billing_reason: one.reason,
      amount_paid: one.status === "paid" ? one.amount : 0,
      currency: one.currency,
      status_transitions: { paid_at: one.paidSec },
      parent: {
        type: "subscription_details",
        subscription_details: { subscription: one.subscription, metadata: one.metadata },
      },
      lines: { object: "list", data: [{ period: { start: one.startSec, end: one.endSec } }] },
      // Told only to who asks for it.
      ...(isWhole && { payments: { object: "list", data: [payment] } }),
    };
  }

  /** Answers the calls about subscriptions and invoices; undefined = it is another call. */
  answer(call: { method: string; path: string; query: URLSearchParams; body: string }) {
    const [, , kind, id = ""] = call.path.split("/");
    if (kind === "subscriptions") {
      const found = this.subscriptions.get(id);
      if (!found) return missing;
      return call.method === "POST"
        ? this.#change(found, new URLSearchParams(call.body))
        : { json: this.#presentSubscription(found, call.query.get("expand[]") === "customer") };
    }
    if (kind === "billing_portal" && id === "sessions") return this.#portal(new URLSearchParams(call.body));
    if (kind !== "invoices") return undefined;
    const expanded = [...call.query].flatMap(([name, value]) => (name.startsWith("expand[") ? [value] : []));
    const isWhole = expanded.includes(id === "" ? "data.payments" : "payments");
    if (id === "") return { json: this.#list(call.query, isWhole) };
    const found = this.invoices.get(id);
    return found ? { json: this.#presentInvoice(found, isWhole) } : missing;
  }

  /** A session of the portal for the card alone, where an operator has set the portal up. */
  #portal(form: URLSearchParams) {
    const customer = form.get("customer") ?? "";
    const back = form.get("flow_data[after_completion][redirect][return_url]");
    const isKnown = [...this.subscriptions.values()].some((one) => one.customer === customer);
    const isCard = form.get("flow_data[type]") === "payment_method_update";
    if (!this.hasPortal || !isKnown || !isCard || back === null || back !== form.get("return_url"))
      return { status: 400, json: { error: { type: "invalid_request_error", message: "No configuration" } } };
    const url = `https://billing.stripe.com/p/session/${customer}?back=${encodeURIComponent(back)}`;
    return { json: { id: "bps_1", object: "billing_portal.session", livemode: false, customer, url } };
  }

  #change(subscription: EmulatedSubscription, form: URLSearchParams) {
    if (subscription.status === "canceled")
      return { status: 400, json: { error: { type: "invalid_request_error", message: "canceled" } } };
    const cancel = form.get("cancel_at_period_end");
    if (cancel !== null) subscription.cancelAtPeriodEnd = cancel === "true";
    const card = form.get("default_payment_method");
    if (card !== null) subscription.card = card === "" ? null : card;
    const version = form.get("metadata[plan_version]");
    if (version !== null) subscription.metadata["plan_version"] = version;
    const amount = form.get("items[0][price_data][unit_amount]");
    if (amount !== null) {
      // A price of one's own needs the product, and the item that it replaces.
      const isWhole =
        form.get("items[0][id]") === `si_${subscription.id}` &&
        form.get("items[0][price_data][product]") === `prod_${subscription.id}` &&
        form.get("proration_behavior") === "none";
      if (!isWhole) return { status: 400, json: { error: { type: "invalid_request_error" } } };
      subscription.amount = Number(amount);
    }
    return { json: this.#presentSubscription(subscription) };
  }

  /** Newest first, by page. */
  #list(query: URLSearchParams, isWhole: boolean): object {
    const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise);
    const all = [...this.invoices.values()].reverse().filter((one) => {
      if (query.has("subscription") && one.subscription !== query.get("subscription")) return false;
      if (query.has("status") && one.status !== query.get("status")) return false;
      return (
        one.createdSec >= number("created[gte]", 0) &&
        one.createdSec < number("created[lt]", Number.MAX_VALUE)
      );
    });
    const start = all.findIndex(({ id }) => id === query.get("starting_after")) + 1;
    const data = all.slice(start, start + number("limit", 10));
    return {
      object: "list",
      data: data.map((one) => this.#presentInvoice(one, isWhole)),
      has_more: start + data.length < all.length,
    };
  }
}
