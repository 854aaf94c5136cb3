// Finds payments whose notice was lost: each order and each refund says itself when it is asked about next, so that a restart forgets nothing
// (requirements Y18).

import { listDue } from "#server/store/due.ts";
import { forgetBodies, type OrderRow, scheduleCheck } from "#server/store/orders.ts";
import { askOrder, endOrder, nextCheck, type OrderTools } from "./orders.ts";
import { askAboutRefund } from "./refunds.ts";
import { pollRenewal } from "./renewal-looks.ts";

/** Rows of each kind in one run, and how many are looked at together. */
const MOST = 100;
const TOGETHER = 10;
/** What was stored of callbacks as it came is kept for so long. */
const BODIES_SEC = 90 * 86_400;

/** Asks about everything that is due, each account at its pace. Returns how many questions there were. */
export async function pollDue(given: OrderTools): Promise<number> {
  const tools = { ...given, isPaced: true } as const;
  const nowSec = tools.clock.seconds();
  const orders = await listDue(tools.db, "orders", nowSec, MOST);
  await inTurns(orders, (order) => pollOrder(tools, order));
  const refunds = await listDue(tools.db, "order_refunds", nowSec, MOST);
  await inTurns(refunds, (refund) => askAboutRefund(tools, refund));
  const renewals = await listDue(tools.db, "plan_renewals", nowSec, MOST);
  await inTurns(renewals, (renewal) => pollRenewal(tools, renewal));
  return orders.length + refunds.length + renewals.length;
}

export function forgetOldBodies({ db, clock }: Pick<OrderTools, "db" | "clock">): Promise<number> {
  return forgetBodies(db, clock.seconds() - BODIES_SEC);
}

async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += TOGETHER)
    await Promise.all(items.slice(at, at + TOGETHER).map(work));
}

async function pollOrder(tools: OrderTools, order: OrderRow): Promise<void> {
  const nowSec = tools.clock.seconds();
  // First the next time, then the question: one that fails is asked again, and no failure stops the others.
  await scheduleCheck(tools.db, order.order_no, {
    nextCheck: nextCheck(order, nowSec),
    checks: order.checks + 1,
  });
  try {
    const isOver = order.status !== "closed" && order.expires_at <= nowSec;
    if (isOver) await endOrder(tools, order);
    else await askOrder(tools, order, { kind: "poll", isUrgent: true });
  } catch (error) {
    tools.events.backgroundFailed({ task: "payment question", error });
  }
}
