// The page of the partner plan promises what its operator has set, and nothing that is off (requirements Y53).
import { expect, test } from "vitest";
import { PartnerTerms } from "#contract/partner-terms.ts";
import { notesOf, payoutText, rulesOf } from "./rules.ts";

const terms = (change: Partial<PartnerTerms> = {}) => PartnerTerms.parse(change);
const textOf = (change: Partial<PartnerTerms>) =>
  rulesOf(terms(change)).map(({ title, text }) => `${title} ${text}`);

test("the product's own terms are three rules, worked out", () => {
  expect(rulesOf(terms()).map(({ example }) => example)).toEqual([
    "好友兑换 $1000，你得到 25 元。",
    "填写后兑换 $1000，双方各得 $50。",
    "好友充值并填写你的礼品码，两项奖励一并到账。",
  ]);
  expect(rulesOf(terms())[0]?.text).toContain("充值美元数 × 0.5 × 5%");
  expect(rulesOf(terms())[2]?.text).toContain("最高返利 10%");
});

test("sources that differ are told apart", () => {
  expect(
    textOf({ redeem_percent: 4, pay_percent: 10, pay_base: "money", plan_percent: 3, gift_percent: 0 }),
  ).toEqual([
    "现金返现 好友每次充值，你获得可提现的人民币奖励：兑换码为充值美元数 × 0.5 × 4%；在线充值为付款金额（不含手续费）的 10%；购买套餐为套餐价格的 3%。",
  ]);
});

test("what is off is not promised", () => {
  expect(textOf({ redeem_percent: 0, pay_percent: 0, gift_percent: 0 })).toEqual([]);
  expect(rulesOf(terms({ redeem_percent: 0, pay_percent: 0 })).map(({ title }) => title)).toEqual([
    "赠送额度",
  ]);
});

test("bounds are told where there are some", () => {
  expect(notesOf(terms())).toHaveLength(5);
  const notes = notesOf(
    terms({ first_orders: 3, first_days: 30, month_yuan: 200, least_withdrawal: 50 }),
  ).join("");
  expect(notes).toMatch(/前 3 笔.*30 天内.*最多 200 元.*满 50 元/);
  expect(payoutText(0)).toContain("随时提现");
});

test("the first sentence promises no more than the bounds let through", () => {
  const promise = (change: Partial<PartnerTerms>) => rulesOf(terms(change))[0]?.text ?? "";
  expect(promise({})).toMatch(/^好友每次充值，.*× 5%。$/);
  expect(promise({ first_orders: 3 })).toMatch(/^好友的前 3 笔充值，/);
  expect(promise({ first_days: 30 })).toMatch(/^好友注册后 30 天内每次充值，/);
  expect(promise({ first_orders: 3, first_days: 30, plan_percent: 2 })).toMatch(
    /^好友注册后 30 天内的前 3 笔充值，你获得可提现的人民币奖励：/,
  );
  expect(promise({ month_yuan: 20 })).toMatch(/，每月合计最多 20 元。$/);
  expect(rulesOf(terms({ month_yuan: 20 }))[0]?.example).toContain("你得到 20 元");
});
