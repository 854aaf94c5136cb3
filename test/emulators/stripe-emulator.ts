// Stripe's API as far as Checkout, subscriptions, refunds and disputes go; the vendor's own package talks to it in stripe.test.ts (vendors/stripe).
import { hmacSha256 } from "#server/secrets.ts";
import { type Now, PayDesk, type PayOrder } from "./pay-desk.ts";
import { StripeBilling } from "./stripe-billing-emulator.ts";

const SECRET = "whsec_tollgate_test_secret_0001";

export async function startStripe(now: Now) {
  const desk = new PayDesk(now);
  const billing = new StripeBilling(now);
  /** Answers by idempotency key, as Stripe keeps them. */
  const kept = new Map<string, { readonly body: string; readonly json: object }>();
  const refunds = new Map<string, Record<string, unknown>>();
  const disputes = new Map<string, Record<string, unknown>>();
  const sessions = new Map<string, string>();
  let serial = 0;

  /** What a session is answered with beside, or instead of, what is so. */
  const told: { session: Readonly<Record<string, unknown>> } = { session: {} };

  const sessionOf = (order: PayOrder) => ({
    id: `cs_test_${order.tradeNo}`,
    object: "checkout.session",
    livemode: false,
    client_reference_id: order.orderNo,
    status: order.state === "closed" ? "expired" : order.state === "paid" ? "complete" : "open",
    payment_status: order.state === "paid" ? "paid" : "unpaid",
    payment_intent: order.state === "paid" ? `pi_${order.tradeNo}` : null,
    amount_total: order.amount,
    currency: order.currency,
    url: `https://checkout.stripe.example/c/${order.tradeNo}`,
    ...billing.sessionParts(order),
  });

  /** Stripe's bounds, from when it makes the session. Without an end it ends after a day. */
  function endFault(form: URLSearchParams): boolean {
    const endSec = Number(form.get("expires_at") ?? Number.NaN);
    const nowSec = Math.floor(now() / 1000);
    return endSec < nowSec + 1_800 || endSec > nowSec + 86_400;
  }

  async function create(form: URLSearchParams): Promise<object> {
    const order = await desk.take({
      orderNo: form.get("client_reference_id") ?? "",
      amount: Number(form.get("line_items[0][price_data][unit_amount]")),
      currency: form.get("line_items[0][price_data][currency]") ?? "",
      notifyUrl: "",
    });
    billing.begin(order.orderNo, form);
    sessions.set(`cs_test_${order.tradeNo}`, order.orderNo);
    begun.set(`cs_test_${order.tradeNo}`, Math.floor(now() / 1000));
    return sessionOf(order);
  }

  function refund(form: URLSearchParams): object {
    serial += 1;
    const made = {
      id: `re_${serial}`,
      object: "refund",
      amount: Number(form.get("amount")),
      payment_intent: form.get("payment_intent"),
      status: "succeeded",
      metadata: { refund_no: form.get("metadata[refund_no]") ?? "" },
      created: Math.floor(now() / 1000),
    };
    refunds.set(made.id, made);
    const order = [...desk.orders.values()].find(({ tradeNo }) => `pi_${tradeNo}` === made.payment_intent);
    if (order) order.refunded += made.amount;
    return made;
  }

  const error = {
    status: 404,
    json: { error: { type: "invalid_request_error", message: "No such object" } },
  };

  function read(path: string) {
    const [, , , sub = "", id = "", act] = path.split("/");
    const found = refunds.get(sub) ?? disputes.get(sub);
    if (found) return { json: found };
    const order = desk.orders.get(sessions.get(id) ?? "");
    if (!order) return error;
    if (act === "expire" && order.state !== "open")
      return { status: 400, json: { error: { message: "not open" } } };
    if (act === "expire") order.state = "closed";
    return { json: { ...sessionOf(order), ...told.session } };
  }

  /** The first answer of a key stays its answer; another body under it is refused. */
  async function make(path: string, { key, body }: { key: string; body: string }) {
    const known = kept.get(key);
    if (key !== "" && known)
      return known.body === body
        ? { json: known.json }
        : { status: 400, json: { error: { type: "idempotency_error" } } };
    const form = new URLSearchParams(body);
    // What is refused at the door is not kept under its key.
    if (path === "/v1/checkout/sessions" && endFault(form))
      return { status: 400, json: { error: { type: "invalid_request_error", param: "expires_at" } } };
    const json = path === "/v1/refunds" ? refund(form) : await create(form);
    if (key !== "") kept.set(key, { body, json });
    return { json };
  }

  /** Sessions newest first, begun at the emulator's first sight of them, by page. */
  const begun = new Map<string, number>();
  function list(query: URLSearchParams) {
    // Those that a test put in have a session as any.
    for (const order of desk.orders.values()) {
      const { id } = sessionOf(order);
      sessions.set(id, order.orderNo);
      if (!begun.has(id) && order.paidMs > 0) begun.set(id, Math.floor(order.paidMs / 1000));
    }
    const all = [...sessions.keys()].reverse().map((id) => {
      const created = begun.get(id) ?? Math.floor(now() / 1000);
      begun.set(id, created);
      return { id, created };
    });
    const [from, before] = [Number(query.get("created[gte]")), Number(query.get("created[lt]"))];
    const within = all.filter(({ created }) => created >= from && created < before);
    const start = within.findIndex(({ id }) => id === query.get("starting_after")) + 1;
    const end = start + Math.min(pageSize.most, Number(query.get("limit")));
    const data = within.slice(start, end).flatMap(({ id, created }) => {
      const order = desk.orders.get(sessions.get(id) ?? "");
      return order && order.orderNo !== desk.hideFromList ? [{ ...sessionOf(order), created }] : [];
    });
    return { json: { object: "list", data, has_more: end < within.length } };
  }
  /** Refunds and disputes, all or of a span, newest first. One that a test put in was made when it was first listed. */
  function back(all: Map<string, Record<string, unknown>>, query: URLSearchParams) {
    const rows = [...all.values()].reverse();
    for (const row of rows) row["created"] ??= Math.floor(now() / 1000) - 86_400;
    const [from, before] = [Number(query.get("created[gte]")), Number(query.get("created[lt]"))];
    const within = rows.filter(
      ({ created }) => before === 0 || (Number(created) >= from && Number(created) < before),
    );
    const start = within.findIndex(({ id }) => id === query.get("starting_after")) + 1;
    const end = start + Math.min(pageSize.most, Number(query.get("limit")));
    return { json: { object: "list", data: within.slice(start, end), has_more: end < within.length } };
  }
  const pageSize = { most: 100 };
  const lists: Readonly<Record<string, (query: URLSearchParams) => { json: object }>> = {
    "/v1/checkout/sessions": list,
    "/v1/refunds": (query) => back(refunds, query),
    "/v1/disputes": (query) => back(disputes, query),
  };

  await desk.start(async ({ method, path, query, body, headers }) => {
    if (!/^Bearer sk_(test|live)_/.test(headers.authorization ?? ""))
      return { status: 401, json: { error: {} } };
    const billed = billing.answer({ method, path, query, body });
    if (billed) return billed;
    const listed = method === "GET" ? lists[path] : undefined;
    if (listed) return listed(query);
    if (path !== "/v1/checkout/sessions" && path !== "/v1/refunds") return read(path);
    return make(path, { key: String(headers["idempotency-key"] ?? ""), body });
  });

  return {
    desk,
    billing,
    webhookSecret: SECRET,
    refunds,
    disputes,
    told,
    pageSize,
    sessionOf,
    /** An event with its header. */
    event(
      type: string,
      id: string,
      change: { livemode?: boolean; eventId?: string; more?: object; ageSec?: number; version?: string } = {},
    ): { body: string; header: string } {
      serial += 1;
      const {
        livemode = false,
        eventId = `evt_${serial}`,
        more,
        ageSec = 0,
        version = "2026-10-28.endive",
      } = change;
      const data = { object: { ...more, id } };
      const head = { id: eventId, object: "event", api_version: version, type, livemode };
      const body = JSON.stringify({ ...head, data });
      const time = Math.floor(now() / 1000) - ageSec;
      const sign = hmacSha256(SECRET, `${time}.${body}`).toString("hex");
      return { body, header: `t=${time},v1=${sign}` };
    },
  };
}

export type StripeEmulator = Awaited<ReturnType<typeof startStripe>>;
