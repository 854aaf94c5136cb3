// The file of a statement: whole, exact, and no formula in it (requirements Y60).
import fc from "fast-check";
import { expect, test } from "vitest";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Statement } from "#contract/statement.ts";
import { kindText, monthText } from "#contract/statement-words.ts";
import { rounds } from "#test/worlds/soak.ts";
import { statementCsv } from "./words.ts";

const statement: Statement = {
  number: "ST-202610-7",
  month: "2026-10",
  opening: 5,
  closing: 1_004,
  income: 1_700,
  spent: 701,
  quota_per_unit: 500_000,
  in_currency: true,
  account_id: 7,
  account_name: "lihua",
  issuer: "Tollgate",
  is_team: false,
  starts_at: 0,
  ends_at: 1,
  from_row: 3,
  to_row: 9,
  trail_hash: "abc",
  debt: 12,
  buyer: {
    buyer: "company",
    kind: "special",
    title: "=云上科技",
    tax_number: "91350100M000100Y43",
    address: "",
    telephone: "",
    bank_name: "招商银行",
    bank_account: "6225880212345678901",
    mail: "",
  },
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
      tokens: { prompt_tokens: 9, cached_tokens: 4, completion_tokens: 3 },
    },
  ],
  tokens: [{ model_name: "＝1", prompt_tokens: 10, cached_tokens: 4, completion_tokens: 5 }],
  payments: [{ instance_id: 1, name: "支付宝", currency: "CNY", paid_minor: 3_000, refunded_minor: 300 }],
};

const dollars = { quotaPerUnit: 500_000, inCurrency: true };

function linesOf(of: Statement, display: QuotaDisplay): string[] {
  const csv = statementCsv(of, display);
  expect(csv.startsWith("\ufeff类别,")).toBe(true);
  return csv.slice(1).trimEnd().split("\r\n");
}

test("every line has the same columns, and the amounts add up to what is left", () => {
  expect(linesOf(statement, dollars)).toEqual([
    "类别,项目,令牌,标签,模型,笔数,额度（点）,金额（美元）,套餐额度（点）,套餐金额（美元）,少收（点）,少收金额（美元）,提示,其中缓存,补全,币种,实收,退款与拒付",
    "账单,ST-202610-7,lihua,,2026 年 10 月,,,,,,,,,,,,,",
    "账单,账本记录,#3 之后，至 #9,,,,,,,,,,,,,,,",
    "账单,审计链,abc,,,,,,,,,,,,,,,",
    "发票抬头,抬头,'=云上科技,,,,,,,,,,,,,,,",
    "发票抬头,类型,企业,,,,,,,,,,,,,,,",
    "发票抬头,种类,专用发票,,,,,,,,,,,,,,,",
    "发票抬头,税号,91350100M000100Y43,,,,,,,,,,,,,,,",
    "发票抬头,开户行,招商银行,,,,,,,,,,,,,,,",
    "发票抬头,银行账号,'6225880212345678901,,,,,,,,,,,,,,,",
    "额度,期初,,,,,5,0.000010,,,,,,,,,,",
    "额度,在线充值,,,,1,1700,0.003400,,,,,,,,,,",
    "额度,调用消费,,,,2,-701,-0.001402,,,,,,,,,,",
    "额度,期末,,,,,1004,0.002008,,,,,,,,,,",
    "额度,欠额,,,,,12,0.000024,,,,,,,,,,",
    "收款,支付宝,,,,,,,,,,,,,,CNY,30.00,3.00",
    `用量,调用,'=cmd|'/c calc'!A1,"甲,乙","a""b",2,701,0.001402,3,0.000006,1,0.000002,9,4,3,,,`,
    "用量,合计,,,,2,701,0.001402,3,0.000006,1,0.000002,9,4,3,,,",
    "按标签,调用,,乙,,2,701,0.001402,3,0.000006,1,0.000002,9,4,3,,,",
    "按标签,调用,,甲,,2,701,0.001402,3,0.000006,1,0.000002,9,4,3,,,",
    "用量,Token,,,'＝1,,,,,,,,10,4,5,,,",
  ]);
});

test("where the operator shows no money there is none", () => {
  const [head = "", ...lines] = linesOf(statement, { ...dollars, inCurrency: false });
  expect(head).not.toContain("美元");
  expect(lines).toContain("额度,期末,,,,,1004,,,,,,,,");
});

test("a row of which tokens are not known has none, and the sum neither", () => {
  const [known] = statement.usage;
  if (!known) throw new Error("the statement has usage");
  const { tokens: _, ...older } = { ...known, token_id: 5, token_name: "t", tags: "" };
  const lines = linesOf({ ...statement, usage: [known, older] }, dollars);
  expect(lines).toEqual(
    expect.arrayContaining([
      `用量,调用,t,,"a""b",2,701,0.001402,3,0.000006,1,0.000002,,,,,,`,
      "用量,合计,,,,4,1402,0.002804,6,0.000012,2,0.000004,,,,,,",
      "按标签,调用,,甲,,2,701,0.001402,3,0.000006,1,0.000002,9,4,3,,,",
      "按标签,调用,,无标签,,2,701,0.001402,3,0.000006,1,0.000002,,,,,,",
    ]),
  );
});

test("what rounding leaves is a line, in the sums and in the usage", () => {
  const third = { ...dollars, quotaPerUnit: 300_000 };
  const lines = linesOf(statement, third);
  // 0.000017 + 0.005667 − 0.002337 is 0.003347 exactly: nothing is missing there.
  expect(lines).toContain("额度,期末,,,,,1004,0.003347,,,,,,,,,,");
  const more = { ...statement.usage[0], token_id: 5, quota: 1, plan_quota: 1, shortfall: 0 };
  // Of these two rows 0.000003 each is 0.000007 together.
  const rows = [more, { ...more, token_id: 6 }] as Statement["usage"];
  expect(linesOf({ ...statement, usage: rows }, third)).toEqual(
    expect.arrayContaining([
      "用量,四舍五入差,,,,,,0.000001,,0.000001,,0.000000,,,,,,",
      "用量,合计,,,,4,2,0.000007,2,0.000007,0,0.000000,18,8,6,,,",
    ]),
  );
  const opened = { ...statement, opening: 1, closing: 2, sums: [{ kind: "pay", entries: 1, quota: 1 }] };
  expect(linesOf(opened, third)).toContain("额度,四舍五入差,,,,,,0.000001,,,,,,,,,,");
});

/** The whole units of the sixth decimal of a cell. */
function millionths(cell = ""): bigint {
  const [, sign = "", whole = "0", decimals = ""] = /^(-?)(\d+)(?:\.(\d{2,6}))?$/.exec(cell) ?? [];
  const size = BigInt(whole + decimals.padEnd(6, "0"));
  return sign === "" ? size : -size;
}

test("in any month and at any price of a dollar the lines of money and what rounding left are the total", () => {
  const quota = fc.integer({ min: 0, max: 10 ** 12 });
  const usage = fc.record({ quota, plan_quota: quota, shortfall: quota, calls: fc.nat(1_000) });
  const sums = fc.array(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }), { maxLength: 12 });
  const perUnit = fc.oneof(
    fc.constantFrom(500_000, 300_000, 7, 0.3, 1e6, 1e-7),
    fc.integer({ min: 1, max: 10 ** 7 }),
  );
  const months = fc.record({ opening: quota, sums, usage: fc.array(usage, { maxLength: 12 }), perUnit });
  fc.assert(
    fc.property(months, ({ opening, sums: amounts, usage: rows, perUnit: quotaPerUnit }) => {
      const of = {
        ...{
          ...statement,
          opening,
          closing: amounts.reduce((all, amount) => all + amount, opening),
          debt: 0,
        },
        sums: amounts.map((amount, at) => ({ kind: `kind-${at}`, entries: 1, quota: amount })),
        usage: rows.map((row, at) => ({
          ...{ token_id: at, token_name: "t", tags: "", model_name: "m" },
          ...row,
        })),
        ...{ tokens: [], payments: [], buyer: null },
      };
      const lines = linesOf(of, { inCurrency: true, quotaPerUnit }).map((line) => line.split(","));
      const adds = (category: string, column: number, total: string) => {
        const cells = lines.filter(([first]) => first === category);
        const parts = cells.filter(([, item]) => item !== total).map((line) => millionths(line[column]));
        const [sum] = cells.filter(([, item]) => item === total).map((line) => millionths(line[column]));
        expect(parts.reduce((all, part) => all + part, 0n)).toBe(sum ?? 0n);
      };
      adds("额度", 7, "期末");
      for (const column of [7, 9, 11]) adds("用量", column, "合计");
      // In units nothing is rounded, so that nothing is ever missing.
      const units = lines.filter(([first, item]) => first === "额度" && item !== "期末");
      expect(units.reduce((all, line) => all + Number(line[6]), 0)).toBe(of.closing);
    }),
    { numRuns: rounds(200, 5_000) },
  );
});

test("a month that runs says so, and a kind that has no words is shown by its name", () => {
  expect(statementCsv({ ...statement, number: "" }, dollars)).toContain(
    "账单,未结账，截至 1970-01-01 08:00:02（北京时间）",
  );
  expect([kindText("consume"), kindText("new-kind")]).toEqual(["调用消费", "new-kind"]);
  expect(monthText("2026-03")).toBe("2026 年 3 月");
});
