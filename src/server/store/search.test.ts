// Searches by the head of a name: what they find, that wildcards mean themselves, and that they stay quick among many rows (requirements
// D05). SEARCH_ROWS=2000000 is the whole of it.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTestDatabase,
  engines,
  seedRedemption,
  seedToken,
  seedUser,
  type TestDatabase,
} from "#test/worlds/stores.ts";
import type { Store } from "./db.ts";
import { listRedemptions } from "./redemptions.ts";
import { listTokens } from "./tokens.ts";
import { countUsers, listUsers } from "./users.ts";

const ROWS = Number(process.env["SEARCH_ROWS"] ?? 100_000);
/** Rows written by one statement. */
const PART = 20_000;
const first = { page: 0, size: 10 };

describe.each(engines)("searches on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    const { db } = store;
    // In parts: a statement may take only so long.
    for (let from = 1; from <= ROWS; from += PART) {
      const to = Math.min(from + PART - 1, ROWS);
      const numbers =
        engine === "sqlite"
          ? sql`WITH RECURSIVE n(i) AS (SELECT CAST(${from} AS integer) UNION ALL SELECT i + 1 FROM n WHERE i < ${to}) SELECT i FROM n`
          : sql`SELECT generate_series(${from}::int, ${to}::int) AS i`;
      await sql`INSERT INTO users (username, password, display_name, role, status, email, github_id, wechat_id, "group",
          aff_code, inviter_id, created_at)
        SELECT 'crowd' || i, '', 'Display ' || i, 1, 1, 'mail' || i || '@example.com', '', '', 'default', '', 0, 0
        FROM (${numbers}) AS numbers`.execute(db);
    }
    if (engine === "postgres") await sql`ANALYZE users`.execute(db);
    for (const username of ["Ａnna", "annika", "ANNE", "an%a", "an_a", "an\\a", "张三", "张三丰"])
      await seedUser(db, { username, display_name: `名 ${username}`, email: "" });
  }, 120_000);
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const find = async (keyword: string) =>
    (await listUsers(store.db, { keyword, page: 0, size: 100 })).map(({ username }) => username).sort();

  test("find heads of names in any case, and nothing in the middle of one", async () => {
    expect(await find("ann")).toEqual(["ANNE", "annika"]);
    expect(await find("ANN")).toEqual(["ANNE", "annika"]);
    expect(await find("nnika")).toEqual([]);
    expect(await find("张三")).toEqual(["张三", "张三丰"]);
    expect(await find("名 张")).toEqual(["张三", "张三丰"]);
    expect((await find("mail77@")).length).toBe(1);
    expect(await find("crowd42424")).toContain("crowd42424");
    expect(await find(`crowd${ROWS}`)).toEqual([`crowd${ROWS}`]);
  });

  test("wildcards of any database mean themselves", async () => {
    expect(await find("an%")).toEqual(["an%a"]);
    expect(await find("an_")).toEqual(["an_a"]);
    expect(await find("an\\")).toEqual(["an\\a"]);
    for (const keyword of ["%", "_", "%_%_%_%", "*", "?", "[a-z]", "\\", "'", "\u{10ffff}"])
      expect(await find(keyword)).toEqual([]);
  });

  test(`fifty at once among ${ROWS} rows take no longer than 200 ms each, found or not`, async () => {
    const all = (keyword: string) => sql<number>`SELECT count(*) FROM users
      WHERE username LIKE ${keyword} OR display_name LIKE ${keyword} OR email LIKE ${keyword}`;
    const words = ["%_%_%_%", "crowd123", "nobody", "mail9999", "Display 777", "_%", "张", "zzz", "ANN", "0"];
    /** How long each of so many at once takes, in the middle, in milliseconds. */
    const middleOf = async (count: number, ask: (keyword: string) => Promise<unknown>): Promise<number> => {
      const took = Array.from({ length: count }, async (_, index) => {
        const startMs = performance.now();
        await ask(words[index % words.length] ?? "");
        return performance.now() - startMs;
      });
      return (await Promise.all(took)).toSorted((a, b) => a - b)[count / 2] ?? 0;
    };
    const search = async (keyword: string) => {
      await listUsers(store.db, { keyword, ...first });
      await countUsers(store.db, { keyword, exceptStatus: 3 });
    };
    const walk = async (keyword: string) => {
      await all(`%${keyword}%`).execute(store.db);
      await all(`%${keyword}%`).execute(store.db);
    };
    // Connections are made when they are first needed.
    await middleOf(50, search);
    const searchMs = await middleOf(50, search);
    const walkMs = await middleOf(10, walk);
    process.stdout.write(
      `${engine}: 50 searches take ${searchMs.toFixed(0)} ms, 10 walks ${walkMs.toFixed(0)} ms\n`,
    );
    // A machine too busy for 200 ms is measured by the walks over all rows that it does in that time.
    expect(searchMs).toBeLessThan(Math.max(200, walkMs));
  });

  test("ask an index for each column", async () => {
    const plan = await explain(
      `SELECT id FROM users WHERE id = 0 OR ${head("username")} OR ${head("display_name")} OR ${head("email")}`,
    );
    for (const column of ["username", "display_name", "email"])
      expect(plan).toContain(`users_${column}_head`);
    expect(await explain(`SELECT id FROM redemptions WHERE ${head("name")}`)).toContain(
      "redemptions_name_head",
    );
  });

  /** The form that this database is asked with. */
  const head = (column: string) =>
    engine === "sqlite"
      ? `(lower(${column}) >= 'ann' AND lower(${column}) < 'ann' || 'z')`
      : `lower(${column}) LIKE 'ann%'`;

  async function explain(statement: string): Promise<string> {
    return store.db.transaction().execute(async (tx) => {
      if (engine === "postgres") await sql`SET LOCAL enable_seqscan = off`.execute(tx);
      const words = engine === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN";
      return JSON.stringify((await sql.raw(`${words} ${statement}`).execute(tx)).rows);
    });
  }

  test("tokens and codes are found by the same rule", async () => {
    const { db } = store;
    const userId = await seedUser(db);
    for (const name of ["Work", "work-2", "w%", "home"]) await seedToken(db, userId, { name });
    const tokens = async (prefix: string) =>
      (await listTokens(db, { userId, prefix, ...first })).map(({ name }) => name).sort();
    expect(await tokens("work")).toEqual(["Work", "work-2"]);
    expect(await tokens("w%")).toEqual(["w%"]);
    for (const name of ["Spring", "spring sale", "s_"]) await seedRedemption(db, { name });
    const codes = async (keyword: string) =>
      (await listRedemptions(db, { keyword, ...first })).map(({ name }) => name).sort();
    expect(await codes("SPRING")).toEqual(["Spring", "spring sale"]);
    expect(await codes("s_")).toEqual(["s_"]);
  });
});
