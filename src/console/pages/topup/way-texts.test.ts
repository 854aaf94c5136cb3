import { expect, test } from "vitest";
import { wayTexts } from "./way-texts.ts";

test("ways to pay say their currency and fee, and those of several accounts that are called alike can be told apart", () => {
  const way = (label: string, more = {}) => ({ label, currency: "CNY", fee_bp: 0, ...more });
  expect(
    wayTexts([
      way("支付宝"),
      way("微信支付"),
      way("支付宝"),
      way("支付宝", { fee_bp: 150 }),
      way("支付宝"),
      way("银行卡", { currency: "USD" }),
    ]),
  ).toEqual(["支付宝", "微信支付", "支付宝 2", "支付宝，手续费 1.5%", "支付宝 3", "银行卡（USD）"]);
});
