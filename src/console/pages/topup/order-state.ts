// How an order's state is told: never as failed while the provider has not said so. Pure.
import type { Tone } from "#console/ui/status-tag.tsx";
import type { Order } from "#contract/payment.ts";

export interface OrderWords {
  readonly label: string;
  readonly tone: Tone;
  /** One sentence for the user. */
  readonly says: string;
}

/** Whether it may still be paid. */
export function isOpen({ status }: Pick<Order, "status">): boolean {
  return status === "created" || status === "pending";
}

const YOUNG_MS = 5 * 60_000;

/**
 * When the page of an order asks again: a credit is seen within three seconds, and many payers behind one address stay far below its limit
 * of calls. Unit: ms.
 */
export function askDelayMs({ openMs, isFailing }: { openMs: number; isFailing: boolean }): number {
  if (isFailing) return 5_000;
  return openMs < YOUNG_MS ? 1_000 : 2_000;
}

type State = Pick<Order, "status" | "is_in_review" | "refunded_minor" | "paid_minor" | "plan">;

export function orderWords(order: State): OrderWords {
  if (order.refunded_minor > 0 && order.refunded_minor >= order.paid_minor)
    return { label: "已退款", tone: "idle", says: "这笔付款已全部退回。" };
  if (order.plan !== "" && order.status === "credited")
    return order.refunded_minor > 0
      ? { label: "部分退款", tone: "info", says: "套餐已终止，未使用的部分已退款。" }
      : { label: "已到账", tone: "good", says: "套餐已购买，按有效期使用。" };
  if (order.status === "credited" && order.refunded_minor > 0)
    return { label: "部分退款", tone: "info", says: "额度已到账，其中一部分已退款。" };
  if (order.status === "credited") return { label: "已到账", tone: "good", says: "额度已到账，可以使用了。" };
  if (order.status === "paid" || order.is_in_review)
    return { label: "处理中", tone: "warn", says: "我们已收到这笔付款，管理员核对后为您入账。" };
  if (order.status === "closed")
    return { label: "已关闭", tone: "idle", says: "订单已关闭。如果您已经付款，到账后会自动入账。" };
  if (order.status === "created")
    return { label: "待支付", tone: "info", says: "正在向支付平台获取付款方式。" };
  return { label: "待支付", tone: "info", says: "付款后会自动到账，离开本页也不影响。" };
}

/** What the code is read with: some ways to pay are called after their code. */
export function scannerOf({ label }: Pick<Order, "label">): string {
  return label.replace(/扫码$| QR code$/u, "");
}
