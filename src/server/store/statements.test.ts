// Statements stay quick whatever an account has: the money of a month is found from its few orders, never by way of all its entries.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import { type Db, isPostgres, type Store } from "./db.ts";
import { moneyQuery } from "./statements.ts";

/** How the database would go about it, as it says; on PostgreSQL by indexes even in tables this small. */
async function planOf(db: Db, query: ReturnType<typeof moneyQuery>): Promise<string> {
  return db.transaction().execute(async (tx) => {
    const isPg = isPostgres(tx);
    if (isPg) await sql`SET LOCAL enable_seqscan = off`.execute(tx);
    const explain = sql.raw(isPg ? "EXPLAIN" : "EXPLAIN QUERY PLAN");
    const { rows } = await sql<Record<string, unknown>>`${explain} ${query}`.execute(tx);
    return rows.map((row) => row["detail"] ?? row["QUERY PLAN"]).join("\n");
  });
}

describe.each(engines)("the money of a month on %s", (engine) => {
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

  test("is looked up from orders, entry by entry", async () => {
    const plan = await planOf(store.db, moneyQuery({ userId: 1, after: 5, upTo: 900_000 }));
    expect(plan).toContain("ledger_request");
    expect(plan).toContain("orders_user");
    expect(plan).not.toContain("ledger_user");
    expect(plan).not.toMatch(/SCAN ledger|Seq Scan on ledger/);
  });
});
