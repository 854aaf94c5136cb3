// Money that went back at a provider, brought to the order it is of: once each, in any order. What is told before its payment is kept, and booked
// as soon as that is (requirements Y37).
import type { OrderAct } from "#server/money/order-operations.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import {
  type EventRow,
  findOrder,
  findOrderByTrade,
  insertEvent,
  listEvents,
  type OrderRow,
  settleEvents,
} from "#server/store/orders.ts";
import { bringOddity, changeOrder, type EvidenceTools, type Origin } from "./evidence.ts";
import type { Bounced, Instance, Reversal } from "./provider.ts";

interface Told {
  readonly reversal: Reversal;
  readonly origin: Origin;
}

/** A dispute that is won gives back. Returns whether it was new. */
export async function bringReversal(
  tools: EvidenceTools,
  instance: Instance,
  { reversal: heard, origin }: Told,
): Promise<boolean> {
  const order = await orderOf(tools, instance, heard);
  const reversal =
    order && heard.isListed ? await listedSum(tools, order, { reversal: heard, origin }) : heard;
  const booked = order ? await book(tools, instance, { order, reversal, origin }) : "early";
  if (booked !== "early") return booked === "new";
  const isNew = await bringOddity(tools, instance, {
    // Who names no order names the payment: by that it is found when the payment comes.
    orderNo: reversal.orderNo || reversal.tradeNo,
    verdict: order ? EARLY : UNKNOWN,
    origin,
    facts: factsOf(reversal),
  });
  // The payment may have been booked while this was written.
  const now = await orderOf(tools, instance, reversal);
  if (now) await bookEarly(tools, instance, { orderNo: now.order_no });
  return isNew;
}

/**
 * A refund that is booked as done and did not reach its payer after all: a person sends the money again, or gives the quota back. Kept and told
 * once, however often the provider tells.
 */
export async function bringBounced(
  tools: EvidenceTools,
  instance: Instance,
  { refundId, refundNo, tradeNo }: Bounced,
): Promise<void> {
  const order = await orderOf(tools, instance, { orderNo: "", tradeNo });
  const booked = (await listRefunds(tools.db, order?.order_no ?? "")).find(
    (row) => row.provider_id === refundId || (refundNo !== "" && row.refund_no === refundNo),
  );
  if (!order || booked?.state !== "done") return;
  await bringOddity(tools, instance, {
    orderNo: order.order_no,
    verdict: "return_failed",
    origin: { kind: "notify", key: `bounced/${refundId}`, body: "" },
    facts: { trade_no: tradeNo, amount_minor: booked.amount_minor, currency: order.currency },
  });
}

async function orderOf(
  { db }: EvidenceTools,
  instance: Instance,
  { orderNo, tradeNo }: Pick<Reversal, "orderNo" | "tradeNo">,
): Promise<OrderRow | undefined> {
  const named = orderNo === "" ? undefined : await findOrder(db, orderNo);
  const order = named ?? (await findOrderByTrade(db, instance.id, tradeNo));
  return order?.instance_id === instance.id ? order : undefined;
}

function factsOf({ source, providerId, tradeNo, amountMinor, isTotal }: Reversal) {
  return {
    ...{ source, provider_id: providerId, trade_no: tradeNo },
    ...(isTotal ? { total_minor: amountMinor } : { amount_minor: amountMinor }),
  };
}

/** `early` = its payment has not come. */
async function book(
  tools: EvidenceTools,
  instance: Instance,
  { order, reversal, origin }: Told & { readonly order: OrderRow },
): Promise<"new" | "known" | "early"> {
  const act = await actOf(tools, order, reversal);
  if (!act) return "known";
  const facts = factsOf(reversal);
  const { outcome } = await changeOrder(tools, order, { act, origin, facts });
  if (outcome === "wrong_state") return "early";
  if (outcome !== "other_trade") return outcome === "done" ? "new" : "known";
  // Who pays twice gets one payment back: the order keeps what the other one brought.
  const { order_no: orderNo } = order;
  const isNew = await bringOddity(tools, instance, { orderNo, verdict: "other_payment", origin, facts });
  return isNew ? "new" : "known";
}

/** Verdicts of money that went back before its payment came; of an unknown order the payment may make one. */
const EARLY = "return_early";
const UNKNOWN = "unknown_order";

/** What an event tells of money that went back too early to be booked; undefined = it tells of something else. */
function earlyOf({ verdict, facts }: EventRow): Reversal | undefined {
  if (verdict !== EARLY && verdict !== UNKNOWN) return undefined;
  // Written by bringOddity alone.
  const known = JSON.parse(facts) as Partial<ReturnType<typeof factsOf>> & {
    readonly total_minor?: number;
    readonly amount_minor?: number;
  };
  const { source, provider_id: providerId, trade_no: tradeNo, total_minor: total } = known;
  if (source === undefined || providerId === undefined || tradeNo === undefined) return undefined;
  return {
    ...{ source, providerId, tradeNo, orderNo: "", isUndone: false },
    amountMinor: total ?? known.amount_minor ?? 0,
    isTotal: total !== undefined,
  };
}

/**
 * After a payment was booked: what went back of it and was told before. `heardAs` = what the provider calls the order, where that is not its
 * number.
 */
export async function bookEarly(
  tools: EvidenceTools,
  instance: Instance,
  { orderNo, heardAs = orderNo }: { readonly orderNo: string; readonly heardAs?: string },
): Promise<void> {
  const { db } = tools;
  const order = await findOrder(db, orderNo);
  if (!order || order.trade_no === "") return;
  const names = [...new Set([orderNo, heardAs, order.trade_no])];
  for (const event of (await Promise.all(names.map((name) => listEvents(db, name)))).flat()) {
    const reversal = event.instance_id === instance.id ? earlyOf(event) : undefined;
    if (!reversal) continue;
    const origin = { kind: "poll", key: `early/${event.id}`, body: "" } as const;
    const booked = await book(tools, instance, { order, reversal, origin });
    // A person may be done with it already; the books are not.
    if (booked !== "early") await settleEvents(db, { id: event.id });
  }
}

/** The verdict of a refund that a list named: what all of an order make together is read from the history. */
const LISTED = "listed";

/**
 * Notices told sums and named no refund by itself: with the refunds that lists named so far, the sum that a notice would have told. Refunds of
 * ours are in it whether or not they are done, as they are in what is compared with it.
 */
async function listedSum(
  { db, clock }: EvidenceTools,
  order: OrderRow,
  { reversal, origin }: Told,
): Promise<Reversal> {
  const { order_no } = order;
  await insertEvent(db, {
    instance_id: order.instance_id,
    kind: origin.kind,
    event_key: `${LISTED}/${reversal.providerId}/${order_no}`.slice(0, 300),
    order_no,
    verdict: LISTED,
    is_open: 0,
    facts: JSON.stringify(factsOf(reversal)),
    body_sealed: "",
    created_at: clock.seconds(),
  });
  const listed = (await listEvents(db, order_no)).filter(({ verdict }) => verdict === LISTED);
  // Written above.
  const known = listed.map(({ facts }) => JSON.parse(facts) as { trade_no: string; amount_minor: number });
  const sums = known
    .filter(({ trade_no }) => trade_no === reversal.tradeNo)
    .map(({ amount_minor }) => amount_minor);
  const ours = (await listRefunds(db, order_no)).filter(
    ({ source, state }) => source === "admin" && state !== "failed",
  );
  const amountMinor = [...sums, ...ours.map(({ amount_minor }) => amount_minor)].reduce(
    (sum, one) => sum + one,
    0,
  );
  return { ...reversal, providerId: `total-${amountMinor}`, amountMinor, isTotal: true };
}

async function actOf(
  { db }: EvidenceTools,
  order: OrderRow,
  reversal: Reversal,
): Promise<OrderAct | undefined> {
  const { source, providerId, tradeNo, amountMinor, isUndone } = reversal;
  if (amountMinor <= 0) return undefined;
  const name = `${source}/${order.instance_id}/${providerId}`;
  if (source === "elsewhere") {
    const refundNo = reversal.isTotal ? `${name}/${order.order_no}` : name;
    // Some providers tell the sum of all refunds, ours among them.
    const total = reversal.isTotal ? ({ isTotal: true } as const) : {};
    return { verb: "claw", refundNo, source, providerId, tradeNo, amountMinor, ...total };
  }
  const rounds = (await listRefunds(db, order.order_no)).filter((row) => row.provider_id === providerId);
  const last = rounds.at(-1);
  if (isUndone) return last?.state === "done" ? { verb: "restore", refundNo: last.refund_no } : undefined;
  // Won, and lost again: another round.
  const refundNo = last?.state === "won" ? `${name}/${rounds.length + 1}` : (last?.refund_no ?? name);
  return { verb: "claw", refundNo, source, providerId, tradeNo, amountMinor };
}
