// What the operator at the terminal sees of an import, and what a script learns from its exit code.
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { oneApi } from "#test/seeds/one-api.ts";
import { type OneApi, writeSqlite } from "#test/seeds/one-api-files.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { importByCommand } from "#test/worlds/import-command.ts";

// The program is built, and starts for each case.
vi.setConfig({ testTimeout: 120_000 });

/** Runs `tollgate import` on a file with this database. */
async function imported(data: OneApi) {
  const directory = testDirectory();
  const file = join(directory, "one-api.db");
  writeSqlite(file, data);
  return importByCommand(file, join(directory, "data"));
}

/** The same with one option more. */
function withOption(data: OneApi, key: string, value: string): OneApi {
  const { columns, rows } = data["options"] ?? { columns: {}, rows: [] };
  return {
    ...data,
    options: { columns, rows: [...rows.filter((row) => row["key"] !== key), { key, value }] },
  };
}

test("a log of thousands of entries is told in a few lines without a terminal, and all is well: 0", async () => {
  const { code, lines } = await imported(oneApi("0.6", 30_000));
  expect(lines.filter((line) => line.startsWith("log entries"))).toEqual(["log entries: 10000"]);
  expect(code).toBe(0);
});

test("a price that is lost is a reason to look at the report: 2", async () => {
  const data = withOption(oneApi("0.6"), "ModelRatio", '{"gpt-4o-mini":0.3,"openrouter/auto":-500000}');
  const { code, lines } = await imported(data);
  expect(lines).toContain("- ModelRatio openrouter/auto: -500000");
  expect(code).toBe(2);
});
