// Long reads of SQLite have a thread to themselves, and hold up no other statement (requirements D04).
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createTestDatabase } from "#test/worlds/stores.ts";

/** Reads for some seconds on a slow machine; nothing can interrupt it. */
const LONG = sql<{
  n: number;
}>`WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 2000000)
  SELECT count(*) AS n FROM counted`;

test("what reads for long holds up no other statement, sees everything, and may come again", async () => {
  const database = await createTestDatabase("sqlite");
  const { db, patient, flushBeforeUse, close } = await openSqlite(database);
  const ended: string[] = [];
  const long = LONG.execute(patient).then(() => ended.push("long"));
  // By then it has a thread.
  await sql`SELECT 1`.execute(db).then(() => ended.push("short"));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await sql`SELECT 1`.execute(db).then(() => ended.push("short"));
  await long;
  expect(ended).toEqual(["short", "short", "long"]);
  // It has gone by now. What was put off for the next use is done before it looks.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  flushBeforeUse(async () => {
    ended.push("put off");
  });
  await sql`SELECT 1`.execute(patient).then(() => ended.push("again"));
  expect(ended.slice(3)).toEqual(["put off", "again"]);
  await close();
  await database.drop();
});

async function openSqlite(database: Awaited<ReturnType<typeof createTestDatabase>>) {
  const store = await database.open();
  if (store.dialect !== "sqlite") throw new Error("not SQLite");
  return store;
}
