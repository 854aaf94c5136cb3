// Refunds: the quota is taken, then the provider is asked, then it is done or the quota goes back. An answer that says nothing is asked about
// again with the same number (requirements Y34).
import { faults } from "#server/errors.ts";
import { randomOrderTail } from "#server/secrets.ts";
import { findRefund, listRefunds, markRefund, type RefundRow } from "#server/store/order-refunds.ts";
import { findOrder, type OrderRow } from "#server/store/orders.ts";
import { changeOrder } from "./evidence.ts";
import { providerOf } from "./instances.ts";
import { isVouched } from "./manual.ts";
import { depsOf, factsOf, instanceOf, type OrderTools } from "./orders.ts";
import { type Instance, OWN_REFUND, type Provider, type Refunded } from "./provider.ts";

/** Seconds until the next question about a refund, by how many there were; then a person has to look. */
const CHECKS_SEC = [10, 60, 300, 1_800, 7_200, 43_200, 86_400] as const;

/** The same refund of the same administrator counts as pressed twice for so long. Unit: seconds. */
const TWICE_SEC = 10;

export interface RefundWish {
  /** null = as much as the wallet still holds. */
  readonly amountMinor: number | null;
  readonly actorId: number;
  readonly reason: string;
}

/** Takes the quota and asks the provider. Throws: AppError when there is nothing to refund or the wallet has less. */
export async function refundOrder(tools: OrderTools, order: OrderRow, wish: RefundWish): Promise<void> {
  const made = await tools.coord.lock(`refund:${order.order_no}`, () => hold(tools, order, wish));
  if (!made) throw faults.refused("该订单正在退款，请稍后再试");
  const { refund, instance } = made;
  await ask(tools, { order, refund, instance, isFirst: true });
}

/** One at a time per order, so that the second sees the first. Throws: AppError. */
async function hold(
  tools: OrderTools,
  order: OrderRow,
  wish: RefundWish,
): Promise<Pick<Asking, "refund" | "instance">> {
  const instance = await instanceOf(tools, order.instance_id);
  if (!instance) throw faults.refused("该支付渠道缺少密钥，无法退款");
  const earlier = await listRefunds(tools.db, order.order_no);
  refuseTwice(tools, earlier, wish);
  refuseTooSoon(tools, earlier, providerOf(instance));
  const refundNo = `${OWN_REFUND}${randomOrderTail()}`;
  const origin = { kind: "admin", key: `${refundNo}/hold`, body: "" } as const;
  const verdict = await changeOrder(tools, order, {
    act: { verb: "hold", refundNo, ...wish },
    origin,
    facts: {
      refund_no: refundNo,
      amount_minor: wish.amountMinor,
      reason: wish.reason,
      actor_id: wish.actorId,
    },
  });
  if (verdict.outcome === "short") throw faults.refused("用户余额不足以收回对应额度，可改为退余额尚够的部分");
  if (verdict.outcome === "too_much") throw faults.refused("退款金额超过可退金额");
  if (verdict.outcome !== "done") throw faults.refused("该订单不能退款");
  const refund = await findRefund(tools.db, refundNo);
  if (!refund) throw new Error("a refund that was held has its row");
  return { refund, instance };
}

/** A second press of the button is no second refund. Throws: AppError. */
function refuseTwice(
  { clock }: OrderTools,
  earlier: readonly RefundRow[],
  { amountMinor, actorId }: RefundWish,
): void {
  const since = clock.seconds() - TWICE_SEC;
  const isTwice = earlier.some(
    (row) =>
      row.source === "admin" &&
      row.actor_id === actorId &&
      row.created_at > since &&
      (amountMinor === null || row.amount_minor === amountMinor),
  );
  if (isTwice) throw faults.refused(`刚刚已经提交过这笔退款；确要再退一次，请 ${TWICE_SEC} 秒后再试`);
}

/** A provider that wants a pause between two refunds of one order gets it: one that is held may be sent at any moment. Throws: AppError. */
function refuseTooSoon(
  { clock }: OrderTools,
  earlier: readonly RefundRow[],
  { refundGapSec: gap }: Provider,
): void {
  if (gap === undefined) return;
  // Both times are whole seconds: a difference that equals the gap may be shorter than it.
  const isTooSoon = earlier.some((row) => row.state === "held" || row.updated_at >= clock.seconds() - gap);
  if (isTooSoon) throw faults.refused(`支付平台要求同一订单的两笔退款至少间隔 ${gap} 秒，请稍后再试`);
}

interface Asking {
  readonly order: OrderRow;
  readonly refund: RefundRow;
  readonly instance: Instance;
  readonly isFirst: boolean;
}

async function ask(tools: OrderTools, { order, refund, instance, isFirst }: Asking): Promise<void> {
  if (await isVouched(tools, order)) return leaveToPerson(tools, order, refund);
  const deps = depsOf(tools, instance, order.order_no);
  const provider = providerOf(instance);
  const facts = { refundNo: refund.refund_no, amountMinor: refund.amount_minor, deps };
  // Written down before: a process that dies in between must not make a provider without numbers of refunds pay twice.
  await mark(tools, refund, "asked");
  const answer = isFirst
    ? await provider.refund(instance, factsOf(order), facts)
    : await provider.askRefund(instance, factsOf(order), facts);
  await conclude(tools, { order, refund, answer });
}

/** The provider never heard of the payment: the money is given back by hand, and what became of it is registered. */
async function leaveToPerson(
  { db, clock, notify }: OrderTools,
  { order_no }: OrderRow,
  { refund_no, checks }: RefundRow,
): Promise<void> {
  await markRefund(db, refund_no, { state: "unknown", nextCheck: 0, checks, nowSec: clock.seconds() });
  const content = `订单 ${order_no} 是人工补单，支付平台无法退款。请把款项退给付款人后，在支付管理中登记退款 ${refund_no} 的结果。`;
  notify({ event: "payment_review", about: `refund ${refund_no}`, title: "有一笔退款待处理", content });
}

async function mark({ db, clock }: OrderTools, refund: RefundRow, state: "asked" | "unknown"): Promise<void> {
  const nowSec = clock.seconds();
  const wait = CHECKS_SEC[refund.checks];
  const nextCheck = wait === undefined ? 0 : nowSec + wait;
  await markRefund(db, refund.refund_no, { state, nextCheck, checks: refund.checks + 1, nowSec });
}

async function conclude(
  tools: OrderTools,
  { order, refund, answer }: { order: OrderRow; refund: RefundRow; answer: Refunded },
): Promise<void> {
  if (answer.kind === "done" || answer.kind === "failed") {
    const isDone = answer.kind === "done";
    await endRefund(tools, order, {
      refundNo: refund.refund_no,
      isDone,
      providerId: isDone ? answer.providerId : "",
    });
    return;
  }
  const isLast = CHECKS_SEC[refund.checks] === undefined;
  if (answer.kind === "taken" && !isLast) return;
  await mark(tools, refund, "unknown");
  if (!isLast) return;
  const content = `订单 ${order.order_no} 的退款 ${refund.refund_no} 没有明确结果，请到支付平台核实后在支付管理中登记。`;
  tools.notify({
    event: "payment_review",
    about: `refund ${refund.refund_no}`,
    title: "有一笔退款待处理",
    content,
  });
}

/** The last word about a refund: the provider's, or that of an administrator who looked there. */
export async function endRefund(
  tools: OrderTools,
  order: OrderRow,
  end: { refundNo: string; isDone: boolean; providerId: string },
): Promise<void> {
  const verdict = await changeOrder(tools, order, {
    act: { verb: "finish", ...end },
    origin: { kind: "poll", key: `${end.refundNo}/${end.isDone ? "done" : "back"}`, body: "" },
    facts: { refund_no: end.refundNo, is_done: end.isDone },
  });
  if (verdict.outcome !== "done" && verdict.outcome !== "duplicate") throw faults.refused("找不到该退款");
}

/** Asks about a refund that has no last word. One that was never sent is sent now, where its number makes that safe. */
export async function askAboutRefund(tools: OrderTools, refund: RefundRow): Promise<void> {
  try {
    const order = await findOrder(tools.db, refund.order_no);
    const instance = order && (await instanceOf(tools, order.instance_id));
    if (!order || !instance) return await mark(tools, refund, "unknown");
    // A moment ago it may still be on its way in another process.
    if (refund.state === "held" && refund.updated_at > tools.clock.seconds() - 30) return;
    await ask(tools, { order, refund, instance, isFirst: refund.state === "held" });
  } catch (error) {
    tools.events.backgroundFailed({ task: "refund question", error });
  }
}
