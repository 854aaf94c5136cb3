import { expect, test } from "vitest";
import { isOpen, orderWords } from "./order-state.ts";

const order = { status: "pending", is_in_review: false, refunded_minor: 0, paid_minor: 0, plan: "" } as const;

test("each state has its word, and none says that a payment failed", () => {
  const words = [
    order,
    { ...order, status: "created" },
    { ...order, status: "closed" },
    { ...order, status: "paid", is_in_review: true },
    { ...order, status: "credited", paid_minor: 100 },
    { ...order, status: "credited", paid_minor: 100, refunded_minor: 40 },
    { ...order, status: "credited", paid_minor: 100, refunded_minor: 100 },
    { ...order, status: "credited", paid_minor: 100, plan: "基础版" },
    { ...order, status: "credited", paid_minor: 100, refunded_minor: 40, plan: "基础版" },
  ] as const;
  expect(words.map((one) => orderWords(one).label)).toEqual([
    "待支付",
    "待支付",
    "已关闭",
    "处理中",
    "已到账",
    "部分退款",
    "已退款",
    "已到账",
    "部分退款",
  ]);
  expect(words.map(isOpen)).toEqual([true, true, ...new Array(7).fill(false)]);
  for (const one of words) expect(orderWords(one).says).not.toContain("失败");
});
