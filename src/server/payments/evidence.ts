// Evidence about an order, on its way into the books: an act in one transaction of the ledger, or a note for a person. The caller may answer
// the provider as soon as this has returned, not before (requirements Y05).

import { PAYMENT_DOUBTS } from "#contract/payment-admin.ts";
import { saleOf } from "#server/money/order-books.ts";
import type { OrderAct, OrderVerdict } from "#server/money/order-operations.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import { insertEvent, type OrderRow } from "#server/store/orders.ts";
import { lookSoon } from "#server/store/plan-renewals.ts";
import { findPeriod } from "#server/store/plans.ts";
import type { Tools } from "#server/tools.ts";
import { judgeReversals } from "./invoices.ts";
import type { Instance } from "./provider.ts";

export type EvidenceTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "ledger" | "options" | "notify" | "events" | "coord"
>;

/** Where the evidence comes from, and its natural key there. */
export interface Origin {
  readonly kind: "notify" | "poll" | "admin";
  readonly key: string;
  /** As it came; "" = nothing worth keeping. */
  readonly body: string;
}

/** Carries an act on an order to the ledger. */
export async function changeOrder(
  tools: EvidenceTools,
  order: OrderRow,
  { act, origin, facts }: { act: OrderAct; origin: Origin; facts: Readonly<Record<string, unknown>> },
): Promise<OrderVerdict> {
  const { db: _, ...rest } = tools;
  const eventKey = `${origin.kind}/${origin.key}`.slice(0, 300);
  const { order_no: orderNo, user_id: userId, giver_id: giverId, inviter_id: inviterId } = order;
  const verdict = await rest.ledger.changeOrder({
    operationId: `${act.verb}/${"refundNo" in act ? act.refundNo : orderNo}`,
    orderNo,
    userId,
    giverId,
    inviterId,
    act,
    event: {
      instanceId: order.instance_id,
      kind: origin.kind,
      eventKey,
      facts: JSON.stringify(facts).slice(0, 2_000),
      bodySealed: sealBody(tools, origin.body),
    },
    display: quotaDisplay(tools.options),
  });
  // Money went back, or a dispute was won: what was invoiced of it may be too much now, or no more.
  if (["finish", "claw", "restore"].includes(act.verb))
    await judgeReversals(tools, { userId, currency: order.currency });
  // A plan began, changed or ended, and a debt too: remembered callers are read anew.
  for (const id of new Set([userId, giverId].filter((one) => one > 0)))
    await tools.coord.publish("users", String(id));
  if (order.plan_sale !== "") await lookAfter(tools, order);
  return verdict;
}

/** What the provider is to charge for a plan from now on may be another sum, or nothing. */
async function lookAfter({ db, clock }: EvidenceTools, order: OrderRow): Promise<void> {
  const upgraded = saleOf(order.plan_sale)?.upgrade_of ?? 0;
  const period = upgraded === 0 ? undefined : await findPeriod(db, upgraded);
  await lookSoon(db, [order.order_no, ...(period ? [period.order_no] : [])], clock.seconds());
}

function sealBody({ secrets }: Pick<Tools, "secrets">, body: string): string {
  return body === "" ? "" : secrets.seal(body, "payment_events.body");
}

type Named = Pick<Instance, "id" | "name">;

interface Oddity {
  readonly orderNo: string;
  readonly verdict: string;
  readonly origin: Origin;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Something genuine that fits nowhere: kept for a person, told once (requirements Y21). Returns whether it is new. */
export async function bringOddity(tools: EvidenceTools, instance: Named, oddity: Oddity): Promise<boolean> {
  const { orderNo, verdict, origin, facts } = oddity;
  const isNew = await insertEvent(tools.db, {
    instance_id: instance.id,
    kind: origin.kind,
    event_key: `${origin.kind}/${origin.key}`.slice(0, 300),
    order_no: orderNo.slice(0, 64),
    verdict,
    is_open: 1,
    facts: JSON.stringify(facts).slice(0, 2_000),
    body_sealed: sealBody(tools, origin.body),
    created_at: tools.clock.seconds(),
  });
  if (isNew) alarm(tools, instance, { orderNo, verdict });
  return isNew;
}

/** Tells operators of what waits for them. */
export function alarm(
  { notify }: EvidenceTools,
  instance: Named,
  { orderNo, verdict }: { orderNo: string; verdict: string },
): void {
  const content = `支付渠道“${instance.name}”，订单 ${orderNo.slice(0, 64)}：${PAYMENT_DOUBTS[verdict] ?? verdict}。请在支付管理中处理。`;
  notify({
    event: "payment_review",
    about: `order ${instance.id} ${orderNo.slice(0, 64)} ${verdict}`,
    title: "有一笔付款待处理",
    content,
  });
}
