// Refunds: the quota is taken, then the provider is asked, then it is done or the quota goes back. An answer that says nothing is asked about
// again with the same number (requirements Y34).
import { faults } from "#server/errors.ts";
import { randomOrderTail } from "#server/secrets.ts";
import { findRefund, markRefund, type RefundRow } from "#server/store/order-refunds.ts";
import { findOrder, type OrderRow } from "#server/store/orders.ts";
import { changeOrder } from "./evidence.ts";
import { providerOf } from "./instances.ts";
import { depsOf, factsOf, instanceOf, type OrderTools } from "./orders.ts";
import type { Instance, Refunded } from "./provider.ts";

/** Seconds until the next question about a refund, by how many there were; then a person has to look. */
const CHECKS_SEC = [10, 60, 300, 1_800, 7_200, 43_200, 86_400] as const;

export interface RefundWish {
  /** null = as much as the wallet still holds. */
  readonly amountMinor: number | null;
  readonly actorId: number;
  readonly reason: string;
}

/** Takes the quota and asks the provider. Throws: AppError when there is nothing to refund or the wallet has less. */
export async function refundOrder(tools: OrderTools, order: OrderRow, wish: RefundWish): Promise<void> {
  const instance = await instanceOf(tools, order.instance_id);
  if (!instance) throw faults.refused("该支付渠道缺少密钥，无法退款");
  const refundNo = `RF${randomOrderTail()}`;
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
  if (refund) await ask(tools, { order, refund, instance, isFirst: true });
}

interface Asking {
  readonly order: OrderRow;
  readonly refund: RefundRow;
  readonly instance: Instance;
  readonly isFirst: boolean;
}

async function ask(tools: OrderTools, { order, refund, instance, isFirst }: Asking): Promise<void> {
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
  if (answer.kind === "taken") return;
  await mark(tools, refund, "unknown");
  if (CHECKS_SEC[refund.checks] !== undefined) return;
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
