// The file of a statement: whole, exact, and no formula in it (requirements Y60).
import { expect, test } from "vitest";
import type { Statement } from "#contract/statement.ts";
import { kindText, monthText } from "#contract/statement-words.ts";
import { statementCsv } from "./words.ts";

const statement: Statement = {
  number: "ST-202610-7",
  month: "2026-10",
  opening: 5,
  closing: 1_004,
  income: 1_700,
  spent: 701,
  account_id: 7,
  account_name: "lihua",
  is_team: false,
  starts_at: 0,
  ends_at: 1,
  from_row: 3,
  to_row: 9,
  trail_hash: "",
  created_at: 2,
  sums: [
    { kind: "pay", entries: 1, quota: 1_700 },
    { kind: "consume", entries: 2, quota: -701 },
  ],
  usage: [
    {
      token_id: 4,
      token_name: "=cmd|'/c calc'!A1",
      tags: "甲,乙",
      model_name: 'a"b',
      calls: 2,
      quota: 701,
      plan_quota: 3,
      shortfall: 1,
    },
  ],
  tokens: [{ model_name: "＝1", prompt_tokens: 10, completion_tokens: 5 }],
  payments: [{ instance_id: 1, name: "支付宝", currency: "CNY", paid_minor: 3_000, refunded_minor: 300 }],
};

test("every line has the same columns, and the amounts add up to what is left", () => {
  const csv = statementCsv(statement);
  expect(csv.startsWith("\ufeff类别,")).toBe(true);
  const lines = csv.slice(1).trimEnd().split("\r\n");
  expect(lines).toEqual([
    "类别,项目,令牌,标签,模型,笔数,额度（点）,套餐额度（点）,少收（点）,提示,补全",
    "账单,ST-202610-7,lihua,,2026-10,,,,,,",
    "额度,期初,,,,,5,,,,",
    "额度,在线充值,,,,1,1700,,,,",
    "额度,调用消费,,,,2,-701,,,,",
    "额度,期末,,,,,1004,,,,",
    "收款,支付宝 实收 ¥30.00 退款 ¥3.00,,,,,,,,,",
    `用量,调用,'=cmd|'/c calc'!A1,"甲,乙","a""b",2,701,3,1,,`,
    "用量,Token,,,'＝1,,,,,10,5",
  ]);
});

test("a month that runs says so, and a kind that has no words is shown by its name", () => {
  expect(statementCsv({ ...statement, number: "" })).toContain("账单,未结账，截至 ");
  expect([kindText("consume"), kindText("new-kind")]).toEqual(["调用消费", "new-kind"]);
  expect(monthText("2026-03")).toBe("2026 年 3 月");
});
