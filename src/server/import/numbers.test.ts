// Numbers that are none, whatever the source is kept in: each is reported with its row and what was taken, and nothing else is lost.
import { expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore } from "#server/store/db.ts";
import { oneApi } from "#test/seeds/one-api.ts";
import type { Cell, OneApi } from "#test/seeds/one-api-files.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { buildSource, engines, importInto } from "#test/worlds/import-world.ts";
import { intOf, misreadOf, realOf, secondsOf } from "./row.ts";

/** A database of One API with a column of texts, and these in the first rows. */
function withTexts(table: string, column: string, texts: readonly Cell[]): OneApi {
  const data = oneApi("0.6");
  const { columns, rows } = data[table] ?? { columns: {}, rows: [] };
  return {
    ...data,
    [table]: {
      columns: { ...columns, [column]: "text" },
      rows: rows.map((row, index) => ({ ...row, [column]: texts[index] ?? "1" })),
    },
  };
}

const sources = engines.map((name) => ({ name, write: (data: OneApi) => buildSource(name, data) }));

async function imported(address: string) {
  const dataDir = testDirectory();
  const destination = { dataDir, url: undefined };
  const rehearsed = await importInto(address, destination, true);
  const result = await importInto(address, destination);
  expect(rehearsed.isExact).toBe(result.isExact);
  const store = await openStore({ dataDir });
  onTestFinished(() => store.close());
  expect(await checkLedger(store.db)).toEqual([]);
  return { ...result, rehearsed: rehearsed.report, store };
}

test.each(sources)(
  "balances of a $name that are no numbers are reported one by one, dry or not",
  async ({ write }) => {
    const texts = ["abc", "12abc", " 5 ", "1e3", "-1.5"];
    const { report, rehearsed, isExact, store } = await imported(
      await write(withTexts("users", "quota", texts)),
    );
    expect(isExact).toBe(false);
    for (const told of [report, rehearsed]) {
      expect(told).toContain("numbers that could not be taken as they stand (3)");
      expect(told).toContain('- users 1 quota: "abc" → 0');
      expect(told).toContain('- users 2 quota: "12abc" → 0');
      expect(told).toContain('- users 9 quota: "-1.5" → -1');
    }
    const users = await store.db.selectFrom("users").select(["id", "quota"]).orderBy("id").execute();
    expect(users.map(({ id, quota }) => [id, quota])).toEqual([
      [1, 0],
      [2, 0],
      [3, 5],
      [5, 1_000],
      [9, -1],
      [77, 0],
    ]);
  },
);

test.each(sources)("absent and empty numbers of a $name are none, and no remark", async ({ write }) => {
  const { report, isExact } = await imported(
    await write(withTexts("tokens", "remain_quota", [null, "", "  "])),
  );
  expect(isExact).toBe(true);
  expect(report).not.toContain("could not be taken");
});

test.each([
  ["tokens", "remain_quota", '- tokens 1 remain_quota: "x" → 0'],
  ["tokens", "expired_time", '- tokens 1 expired_time: "x" → 0'],
  ["channels", "used_quota", '- channels 1 used_quota: "x" → 0'],
  ["channels", "balance", '- channels 1 balance: "x" → 0'],
  ["redemptions", "quota", '- redemptions 1 quota: "x" → 0'],
  ["logs", "quota", '- logs 1 quota: "x" → 0'],
] as const)("%s with a text for %s are reported", async (table, column, line) => {
  const { report, isExact } = await imported(
    await buildSource("SQLite file", withTexts(table, column, ["x"])),
  );
  expect(isExact).toBe(false);
  expect(report).toContain(line);
});

test("a row without a number for an id ends the import", async () => {
  const data = withTexts("tokens", "id", ["first", "4", "7", "8", "9"]);
  await expect(imported(await buildSource("MySQL dump", data))).rejects.toThrow(
    'a row of tokens has no number for an id, but "first"',
  );
});

test("nothing of a batch with such a row is written", async () => {
  const address = await buildSource("SQLite file", withTexts("users", "id", ["1", "second"]));
  const dataDir = testDirectory();
  await expect(importInto(address, { dataDir, url: undefined })).rejects.toThrow("no number for an id");
  const store = await openStore({ dataDir });
  onTestFinished(() => store.close());
  expect(await store.db.selectFrom("users").select("id").execute()).toEqual([]);
});

test.each(sources)(
  "tables of a $name that have no place here are reported with their rows",
  async ({ write }) => {
    const columns = { user_id: "int", note: "text" } as const;
    const rows = [1, 2, 3].map((user_id) => ({ user_id, note: "'), (4" }));
    const address = await write({
      ...oneApi("0.6"),
      two_fas: { columns, rows },
      empty: { columns, rows: [] },
    });
    const { report } = await importInto(address, { dataDir: testDirectory(), url: undefined }, true);
    expect(report).toMatch(/have no place here were left out: two_fas \(3\)$/m);
  },
);

test.each([
  ["1000", 1000],
  [" 5 ", 5],
  ["-7.00", -7],
  ["1e3", 1000],
  [1e3, 1000],
  [12n, 12],
  [true, 1],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
])("%s is read as %d", (value, expected) => {
  const row = { n: value };
  expect(intOf(row, "n", 3)).toBe(expected);
  expect(misreadOf(row).size).toBe(0);
});

test.each([
  ["abc", 0],
  ["12abc", 0],
  ["0x10", 0],
  ["NaN", 0],
  ["1,000", 0],
  [Number.POSITIVE_INFINITY, 0],
  [Buffer.from("5"), 0],
  [1.5, 1],
  ["1.5e0", 1],
  ["9007199254740993", Number.MAX_SAFE_INTEGER],
  [-9_007_199_254_740_993n, -Number.MAX_SAFE_INTEGER],
])("%s is taken as %d, and noted", (value, taken) => {
  const row = { n: value };
  expect(intOf(row, "n", 3)).toBe(taken);
  expect([...misreadOf(row)]).toEqual([["n", taken]]);
});

test("dates and amounts that are none are noted", () => {
  const row = { at: "2024-13-45 10:00:00", none: "0000-00-00 00:00:00", price: "free" };
  expect([secondsOf(row, "at"), secondsOf(row, "none"), realOf(row, "price")]).toEqual([0, 0, 0]);
  expect([...misreadOf(row).keys()]).toEqual(["at", "price"]);
});
