// Statements stay quick whatever an account has: the money of a month is found from its few orders, never by way of all its entries, and what its
// tokens counted by their keys, never by way of all hours.
import { type RawBuilder, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import { type Db, isPostgres, type Store } from "./db.ts";
import { moneyQuery, tokensQuery } from "./statements.ts";

/** How the database would go about it, as it says; on PostgreSQL by indexes even in tables this small. */
async function planOf(db: Db, query: RawBuilder<unknown>): Promise<string> {
  return db.transaction().execute(async (tx) => {
    const isPg = isPostgres(tx);
    if (isPg) await sql`SET LOCAL enable_seqscan = off`.execute(tx);
    const explain = sql.raw(isPg ? "EXPLAIN" : "EXPLAIN QUERY PLAN");
    const { rows } = await sql<Record<string, unknown>>`${explain} ${query}`.execute(tx);
    return rows.map((row) => row["detail"] ?? row["QUERY PLAN"]).join("\n");
  });
}

describe.each(engines)("a month on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  test("has its money looked up from orders, entry by entry", async () => {
    const plan = await planOf(store.db, moneyQuery({ userId: 1, after: 5, upTo: 900_000 }));
    expect(plan).toContain("ledger_request");
    expect(plan).toContain("orders_user");
    expect(plan).not.toContain("ledger_user");
    expect(plan).not.toMatch(/SCAN ledger|Seq Scan on ledger/);
  });

  test("has its tokens looked up key by key", async () => {
    const query = tokensQuery(["1 2\na", "1 3\na"], { start: 7_200, before: 10_800 });
    const plan = await planOf(store.db, query);
    expect(plan).toMatch(/PRIMARY KEY \(dimension=\? AND key=\? AND hour>\? AND hour<\?\)|log_sums_pkey/);
    expect(plan).not.toContain("log_sums_hour");
  });
});
