// Compares a day's payments with the provider's own list, both ways: what only the provider has is credited or kept for a person, what only we
// have is asked about once more and then kept for a person (requirements Y43).
import { dayOf } from "#contract/month.ts";
import { DAY_SEC } from "#server/clock.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { findOrder, findOrderByTrade, listPaidOrders, type OrderRow } from "#server/store/orders.ts";
import { lastPaymentDays, savePaymentDay } from "#server/store/payment-days.ts";
import { countUnclear, listInstances } from "#server/store/payment-instances.ts";
import { bringOddity } from "./evidence.ts";
import { openInstance, providerOf } from "./instances.ts";
import { isVouched } from "./manual.ts";
import { askOrder, depsOf, type OrderTools } from "./orders.ts";
import { bringPayment } from "./proofs.ts";
import {
  type Instance,
  isOwnOrder,
  type Listed,
  type Payment,
  type Reversal,
  type Span,
  type Unsure,
} from "./provider.ts";
import { bringReversal } from "./reversals.ts";

/** After a day's end by Beijing time: what was under way then has been told. */
const WAIT_SEC = 2 * 3_600;
/** A server that was off for longer compares the last days only. */
const MOST_DAYS = 7;

export interface Compared {
  /** Payments of the list that are of our orders. */
  readonly listed: number;
  /** Payments and refunds that only the provider had. */
  readonly brought: number;
  /** Payments that only we have. */
  readonly missing: number;
  /** Why it has to be compared again; "" = it has not. */
  readonly problem: string;
}

/** The provider makes its list later. */
export const LATER = "later";

/** What became of one difference; `unclear` = the provider did not say. */
type Verdict = "same" | "differs" | "unclear";

/** Compares one span of one account. */
export async function compareSpan(tools: OrderTools, instance: Instance, span: Span): Promise<Compared> {
  const { db } = tools;
  const none = { listed: 0, brought: 0, missing: 0 };
  const answer = await providerOf(instance).list(instance, span, depsOf(tools, instance, ""));
  if (answer.kind === "later") return { ...none, problem: LATER };
  await countUnclear(db, instance.id, answer.kind === "listed");
  if (answer.kind === "unclear") return { ...none, problem: answer.problem };
  const ours = answer.payments.filter(({ orderNo }) => isOwnOrder(orderNo));
  const brought: Verdict[] = [];
  for (const payment of ours) brought.push(await bring(tools, instance, { payment, answer }));
  for (const reversal of answer.reversals ?? []) brought.push(await bringBack(tools, instance, reversal));
  const known = new Set([...answer.payments.map(({ tradeNo }) => tradeNo), ...(answer.returned ?? [])]);
  for (const unsure of answer.unsure ?? []) brought.push(await bringUnsure(tools, instance, unsure));
  const missing: Verdict[] = [];
  for (const order of await listPaidOrders(db, instance.id, span))
    if (!known.has(order.trade_no)) missing.push(await report(tools, instance, order));
  const count = (verdicts: readonly Verdict[]) => verdicts.filter((verdict) => verdict === "differs").length;
  // What could not be found out is asked about again with the whole day; what was brought then is known already.
  const isUnclear = [...brought, ...missing].includes("unclear");
  return {
    listed: ours.length,
    brought: count(brought),
    missing: count(missing),
    problem: isUnclear ? "no clear answer about an order" : "",
  };
}

/** Brings a payment that we have not. A list without a signature proves nothing: the provider is asked about the order itself. */
async function bring(
  tools: OrderTools,
  instance: Instance,
  { payment, answer }: { readonly payment: Payment; readonly answer: Listed & { kind: "listed" } },
): Promise<Verdict> {
  const { orderNo, tradeNo, amountMinor } = payment;
  const order = await findOrder(tools.db, orderNo);
  const isOurs = order?.instance_id === instance.id;
  const isKnown = isOurs && order.trade_no === tradeNo;
  if (isKnown && order.paid_minor === amountMinor) return "same";
  const origin = { kind: "poll", key: `${tradeNo}/${amountMinor}`, body: "" } as const;
  const facts = { trade_no: tradeNo, amount_minor: amountMinor, currency: payment.currency };
  // What waits for a person already is no difference of the next look.
  const keep = async (verdict: string): Promise<Verdict> =>
    (await bringOddity(tools, instance, { orderNo, verdict, origin, facts })) ? "differs" : "same";
  // A renewal's order is made when its payment is brought.
  if (!answer.isHearsay && (isOurs || payment.invoice !== undefined)) {
    await bringPayment(tools, instance, { payment, origin });
    return "differs";
  }
  if (!isOurs) return keep("unknown_order");
  const asked = isKnown ? "open" : await askOrder(tools, order, { kind: "poll", isUrgent: true });
  if (asked === "unclear" || asked === "throttled" || asked === "off") return "unclear";
  const now = asked === "paid" ? await findOrder(tools.db, orderNo) : order;
  if (now?.trade_no === tradeNo && now.paid_minor === amountMinor) return "differs";
  return keep("not_confirmed");
}

/** Brings what went back at the provider and what we have not heard of. What is of another shop is none of ours. */
async function bringBack(tools: OrderTools, instance: Instance, reversal: Reversal): Promise<Verdict> {
  const { providerId, orderNo, tradeNo, amountMinor, isUndone } = reversal;
  const order = await (orderNo === ""
    ? findOrderByTrade(tools.db, instance.id, tradeNo)
    : findOrder(tools.db, orderNo));
  if (!order && !isOwnOrder(orderNo)) return "same";
  const last = (await listRefunds(tools.db, order?.order_no ?? orderNo))
    .filter(({ provider_id }) => provider_id === providerId)
    .at(-1);
  if (last && (reversal.source === "elsewhere" || (last.state === "won") === isUndone)) return "same";
  // A dispute that was lost, won and lost again has another round each time.
  const round = isUndone ? `won/${last?.refund_no}` : (last?.refund_no ?? "");
  const origin = {
    kind: "poll",
    key: `refund/${providerId}/${amountMinor}/${order?.order_no ?? orderNo}/${round}`,
    body: "",
  } as const;
  return (await bringReversal(tools, instance, { reversal, origin })) ? "differs" : "same";
}

/** Money that went back without a sum that counts waits for a person, unless nothing but refunds of ours went back. */
async function bringUnsure(tools: OrderTools, instance: Instance, unsure: Unsure): Promise<Verdict> {
  const { providerId, orderNo, tradeNo } = unsure;
  if ((await listRefunds(tools.db, orderNo)).some(({ state }) => state !== "failed")) return "same";
  const isNew = await bringOddity(tools, instance, {
    orderNo,
    verdict: "return_unsure",
    origin: { kind: "poll", key: `refund/${providerId}/${orderNo}`, body: "" },
    facts: { trade_no: tradeNo },
  });
  return isNew ? "differs" : "same";
}

/**
 * A payment that the list has not: the provider may still know it when it is asked for it alone. What an administrator vouched for did not
 * come by the provider.
 */
async function report(tools: OrderTools, instance: Instance, order: OrderRow): Promise<Verdict> {
  if (await isVouched(tools, order)) return "same";
  const answer = await askOrder(tools, order, { kind: "poll", isUrgent: true });
  if (answer === "unclear" || answer === "throttled") return "unclear";
  if (answer === "paid" || answer === "off") return "same";
  const { order_no: orderNo, trade_no, paid_minor, currency } = order;
  const isNew = await bringOddity(tools, instance, {
    orderNo,
    verdict: "not_listed",
    origin: { kind: "poll", key: `compare/${trade_no}`, body: "" },
    facts: { trade_no, amount_minor: paid_minor, currency },
  });
  return isNew ? "differs" : "same";
}

/** Days that are to be compared, oldest first, `2026-11-24`: those after the last one, up to the one that has ended. Pure. */
export function dueDays(last: string | undefined, nowSec: number): readonly string[] {
  const days: string[] = [];
  for (let back = 1; back <= MOST_DAYS; back++) {
    const day = dayOf(nowSec - WAIT_SEC - back * DAY_SEC);
    if (last !== undefined && day <= last) break;
    days.unshift(day);
    // An account that was never compared begins with yesterday.
    if (last === undefined) break;
  }
  return days;
}

/** A day by Beijing time. */
export function spanOfDay(day: string): Span {
  const fromSec = Date.parse(`${day}T00:00:00+08:00`) / 1_000;
  return { fromSec, beforeSec: fromSec + DAY_SEC };
}

/** Compares what is due of all accounts. Returns what was found, for the log. */
export async function compareDue(given: OrderTools): Promise<string> {
  const tools = { ...given, isPaced: true } as const;
  const { db, clock } = tools;
  const last = await lastPaymentDays(db);
  const found = { days: 0, brought: 0, missing: 0, later: 0, unclear: 0 };
  for (const row of await listInstances(db)) {
    const instance = openInstance(tools, row);
    if (!instance) continue;
    for (const day of dueDays(last.get(row.id), clock.seconds())) {
      const { problem, ...compared } = await compareSpan(tools, instance, spanOfDay(day));
      found.brought += compared.brought;
      found.missing += compared.missing;
      if (problem === "") found.days += 1;
      else if (problem === LATER) found.later += 1;
      else found.unclear += 1;
      await savePaymentDay(db, {
        ...compared,
        instance_id: row.id,
        day,
        problem,
        compared_at: clock.seconds(),
      });
      // The days after it would be compared before it, and it never.
      if (problem !== "") break;
    }
  }
  const { days, brought, missing, later, unclear } = found;
  return `${days} days, ${brought} brought, ${missing} missing, ${later} later, ${unclear} unclear`;
}
