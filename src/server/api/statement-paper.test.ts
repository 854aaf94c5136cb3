// A statement on paper adds up as it is printed: what rounding leaves is a line of its own (requirements Y59, Y61).
import fc from "fast-check";
import { expect, test } from "vitest";
import { Statement } from "#contract/statement.ts";
import type { PdfTable } from "#server/pdf/document.ts";
import { rounds } from "#test/worlds/soak.ts";
import { statementPaper } from "./statement-paper.ts";

const base: Statement = Statement.parse({
  ...{ number: "ST-202610-7", month: "2026-10", opening: 0, closing: 0, income: 0, spent: 0 },
  ...{ quota_per_unit: 500_000, in_currency: true, issuer: "Tollgate" },
  ...{ account_id: 7, account_name: "lihua", is_team: false, starts_at: 0, ends_at: 1, created_at: 2 },
  ...{ from_row: 3, to_row: 9, trail_hash: "abc", sums: [], usage: [], tokens: [], payments: [] },
});

function paperOf(statement: Statement, quotaPerUnit: number, inCurrency = true) {
  const display = { quotaPerUnit, inCurrency };
  return statementPaper(statement, { display, issuer: "Tollgate", language: "zh" });
}

function usageRow(at: number, sums: { quota: number; plan_quota: number; shortfall: number }) {
  return {
    token_id: at,
    token_name: `t${at}`,
    tags: at % 2 === 0 ? "a" : "",
    model_name: "m",
    calls: 1,
    ...sums,
  };
}

function table(of: Statement, quotaPerUnit: number, title: string): PdfTable {
  const found = paperOf(of, quotaPerUnit).tables.find((one) => one.title === title);
  if (!found) throw new Error(`no table ${title}`);
  return found;
}

/** The whole units of the sixth decimal of an amount of money. */
function millionths(cell = ""): bigint {
  const [, sign, whole = "0", decimals = ""] = /^(-?)\$([\d,]+)\.(\d{2,6})$/.exec(cell) ?? [];
  expect(sign, cell).toBeDefined();
  const size = BigInt(whole.replaceAll(",", "") + decimals.padEnd(6, "0"));
  return sign === "" ? size : -size;
}

/** The rows of a table but the last are the last, in the column of money. */
function expectSum({ columns, rows }: PdfTable): void {
  const at = columns.findIndex((column) => column.title === "金额");
  expect(at).toBeGreaterThan(0);
  for (const row of rows) expect(row).toHaveLength(columns.length);
  const amounts = rows.map((row) => millionths(row[at]));
  expect(amounts.slice(0, -1).reduce((all, amount) => all + amount, 0n)).toBe(amounts.at(-1));
}

test("any month's lines of money and what rounding left are the total", () => {
  const quota = fc.integer({ min: 0, max: 10 ** 12 });
  const months = fc.record({
    opening: quota,
    amounts: fc.array(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }), { maxLength: 8 }),
    rows: fc.array(
      fc.record({ quota, plan_quota: fc.constantFrom(0, 3), shortfall: fc.constantFrom(0, 5) }),
      {
        minLength: 2,
        maxLength: 8,
      },
    ),
    perUnit: fc.oneof(fc.constantFrom(500_000, 300_000, 7), fc.integer({ min: 1, max: 10 ** 7 })),
  });
  fc.assert(
    fc.property(months, ({ opening, amounts, rows, perUnit }) => {
      const of = {
        ...{ ...base, opening, closing: amounts.reduce((all, amount) => all + amount, opening) },
        sums: amounts.map((amount, at) => ({ kind: `kind-${at}`, entries: 1, quota: amount })),
        usage: rows.map((sums, at) => usageRow(at, sums)),
      };
      expectSum(table(of, perUnit, "额度"));
      expectSum(table(of, perUnit, "用量"));
    }),
    { numRuns: rounds(200, 5_000) },
  );
});

test("the line is there where something is missing, and nowhere else", () => {
  const sums = { quota: 1, plan_quota: 2, shortfall: 0 };
  const of = { ...base, usage: [usageRow(1, sums), usageRow(2, sums)] };
  expect(table(of, 300_000, "用量").rows).toEqual([
    ["t1", "", "m", "1", "$0.000003", "1", "2"],
    ["t2", "a", "m", "1", "$0.000003", "1", "2"],
    ["四舍五入差", "", "", "", "$0.000001", "", ""],
    ["合计", "", "", "2", "$0.000007", "2", "4"],
  ]);
  expect(table(of, 500_000, "用量").rows.map(([first]) => first)).toEqual(["t1", "t2", "合计"]);
  expect(table(of, 500_000, "按标签").rows).toEqual([
    ["a", "1", "$0.000002", "1", "2"],
    ["无标签", "1", "$0.000002", "1", "2"],
  ]);
  const month = { ...base, opening: 1, closing: 2, sums: [{ kind: "pay", entries: 1, quota: 1 }] };
  expect(table(month, 300_000, "额度").rows).toEqual([
    ["期初", "", "$0.000003", "1"],
    ["在线充值", "1", "$0.000003", "1"],
    ["四舍五入差", "", "$0.000001", ""],
    ["期末", "", "$0.000007", "2"],
  ]);
});

test("what is known of tokens stands beside each token and model, and by tag", () => {
  const sums = { quota: 1, plan_quota: 0, shortfall: 0 };
  const tokens = { prompt_tokens: 1_234_567, cached_tokens: 4, completion_tokens: 5 };
  const titles = (of: Statement) => paperOf(of, 500_000).tables.map(({ title }) => title);
  const usage = [usageRow(1, sums), { ...usageRow(2, sums), tokens }, { ...usageRow(4, sums), tokens }];
  const of = { ...base, usage };
  expect(titles(of)).toEqual(["额度", "用量", "按标签", "各令牌的 Token", "各标签的 Token"]);
  expect(table(of, 500_000, "各令牌的 Token").rows).toEqual([
    ["t1", "m", "—", "—", "—"],
    ["t2", "m", "1,234,567", "4", "5"],
    ["t4", "m", "1,234,567", "4", "5"],
    ["合计", "", "—", "—", "—"],
  ]);
  expect(table(of, 500_000, "各标签的 Token").rows).toEqual([
    ["a", "2,469,134", "8", "10"],
    ["无标签", "—", "—", "—"],
  ]);
  // A month that an older version closed.
  expect(titles({ ...base, usage: usage.slice(0, 1) })).toEqual(["额度", "用量"]);
  const untagged = { ...base, usage: [{ ...usageRow(1, sums), tokens }] };
  expect(titles(untagged)).toEqual(["额度", "用量", "各令牌的 Token"]);
  expect(table(untagged, 500_000, "各令牌的 Token").rows).toHaveLength(1);
});

test("where the operator shows no money there is none, and the units add up", () => {
  const of = { ...base, usage: [usageRow(1, { quota: 1, plan_quota: 0, shortfall: 0 })] };
  const texts = paperOf(of, 300_000, false).tables.flatMap(({ columns, rows }) => [
    ...columns.map((column) => column.title),
    ...rows.flat(),
  ]);
  expect(texts.filter((text) => text.includes("$") || text === "金额")).toEqual([]);
});
