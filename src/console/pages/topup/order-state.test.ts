import { expect, test } from "vitest";
import { askDelayMs, isOpen, orderWords, scannerOf } from "./order-state.ts";

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

test.each([
  ["支付宝", "支付宝"],
  ["微信扫码", "微信"],
  ["WeChat QR code", "WeChat"],
])("a code for %s is read with %s", (label, scanner) => {
  expect(scannerOf({ label })).toBe(scanner);
});

test("the page asks each second at first, then less often, and rarely while it is refused", () => {
  const delay = (openMs: number, isFailing = false) => askDelayMs({ openMs, isFailing });
  expect([delay(0), delay(299_999), delay(300_000), delay(3_600_000)]).toEqual([1_000, 1_000, 2_000, 2_000]);
  expect([delay(0, true), delay(3_600_000, true)]).toEqual([5_000, 5_000]);
});
