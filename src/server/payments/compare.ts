// Compares a day's payments with the provider's own list, both ways: what only the provider has is credited or kept for a person, what only we
// have is asked about once more and then kept for a person (requirements Y43).
import { dayOf } from "#contract/month.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import { findOrder, listPaidOrders, type OrderRow } from "#server/store/orders.ts";
import { countUnclear, listInstances } from "#server/store/payment-instances.ts";
import { bringOddity, bringPayment } from "./evidence.ts";
import { openInstance, providerOf } from "./instances.ts";
import { askOrder, depsOf, type OrderTools } from "./orders.ts";
import type { Instance, Payment, Span } from "./provider.ts";

const DAY_SEC = 86_400;
/** After a day's end by Beijing time: what was under way then has been told. */
const WAIT_SEC = 2 * 3_600;
/** A server that was off for longer compares the last days only. */
const MOST_DAYS = 7;
/** Where the job keeps which day was compared last, by merchant account: JSON. */
const COMPARED = "PaymentsCompared";

export interface Compared {
  /** Payments that only the provider had. */
  readonly brought: number;
  /** Payments that only we have. */
  readonly missing: number;
}

/** Compares one span of one account; undefined = the provider gave no list that can be understood. */
export async function compareSpan(
  tools: OrderTools,
  instance: Instance,
  span: Span,
): Promise<Compared | undefined> {
  const { db } = tools;
  const listed = await providerOf(instance).list?.(instance, span, depsOf(tools, instance, ""));
  if (listed === undefined) return { brought: 0, missing: 0 };
  await countUnclear(db, instance.id, listed.kind === "listed");
  if (listed.kind === "unclear") return undefined;
  let brought = 0;
  for (const payment of listed.payments) if (await bring(tools, instance, payment)) brought += 1;
  const known = new Set(listed.payments.map(({ tradeNo }) => tradeNo));
  let missing = 0;
  for (const order of await listPaidOrders(db, instance.id, span))
    if (!known.has(order.trade_no) && (await report(tools, instance, order))) missing += 1;
  return { brought, missing };
}

/** What `newOrderNo` makes: a merchant account may sell for other shops too, whose orders are none of ours. */
const OWN = /^TG\d{8}[0-9A-Z]{16}$/;

/** Brings a payment that we have not. Returns whether it was one. */
async function bring(tools: OrderTools, instance: Instance, payment: Payment): Promise<boolean> {
  if (!OWN.test(payment.orderNo)) return false;
  const order = await findOrder(tools.db, payment.orderNo);
  const isKnown = order?.instance_id === instance.id && order.trade_no === payment.tradeNo;
  if (isKnown && order.paid_minor === payment.amountMinor) return false;
  const origin = { kind: "poll", key: `${payment.tradeNo}/${payment.amountMinor}`, body: "" } as const;
  await bringPayment(tools, instance, { payment, origin });
  return true;
}

/** A payment that the list has not: the provider may still know it when it is asked for it alone. */
async function report(tools: OrderTools, instance: Instance, order: OrderRow): Promise<boolean> {
  const answer = await askOrder(tools, order, { kind: "poll", isUrgent: true });
  if (answer !== "open" && answer !== "gone") return false;
  const { order_no: orderNo, trade_no, paid_minor, currency } = order;
  await bringOddity(tools, instance, {
    orderNo,
    verdict: "not_listed",
    origin: { kind: "poll", key: `compare/${trade_no}`, body: "" },
    facts: { trade_no, amount_minor: paid_minor, currency },
  });
  return true;
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
export async function compareDue(tools: OrderTools): Promise<string> {
  const { db, clock } = tools;
  // Written below alone.
  const last = JSON.parse((await findOption(db, COMPARED)) || "{}") as Record<string, string>;
  const found = { days: 0, brought: 0, missing: 0, unclear: 0 };
  for (const row of await listInstances(db)) {
    const instance = openInstance(tools, row);
    if (!instance || providerOf(instance).list === undefined) continue;
    for (const day of dueDays(last[row.id], clock.seconds())) {
      const compared = await compareSpan(tools, instance, spanOfDay(day));
      if (compared === undefined) {
        found.unclear += 1;
        break;
      }
      found.days += 1;
      found.brought += compared.brought;
      found.missing += compared.missing;
      last[row.id] = day;
      await saveOption(db, COMPARED, JSON.stringify(last));
    }
  }
  return `${found.days} days, ${found.brought} brought, ${found.missing} missing, ${found.unclear} unclear`;
}
