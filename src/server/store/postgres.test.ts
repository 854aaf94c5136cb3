// Connections of the pool that break in a caller's hands, between two statements: the next one is told, and the process lives
// (requirements F05); statements that take too long (requirements D04). An error that has no listener fails this file.
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createLink } from "#test/emulators/network-link.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { createTestDatabase } from "#test/worlds/stores.ts";
import { type Db, openStore } from "./db.ts";
import { faultKind } from "./fault.ts";
import { createClient } from "./postgres.ts";

/** A connection that stays, not yet connected, through a link that may fall silent. */
async function createLinkedClient() {
  const database = await createPostgresDatabase();
  const url = new URL(database.url);
  const link = await createLink(url);
  url.port = String(link.port);
  const client = createClient(url.href, "test");
  client.on("error", () => undefined);
  return { database, link, client };
}

test("a connection that breaks within a transaction fails what comes next, and nothing else", async () => {
  const database = await createTestDatabase("postgres");
  const { db, close } = await database.open();
  const broken = db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(tx);
    await sql`SELECT pg_terminate_backend(${rows[0]?.pid})`.execute(db);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sql`SELECT 1`.execute(tx);
  });
  await expect(broken).rejects.toThrow();
  expect((await sql<{ one: number }>`SELECT 1 AS one`.execute(db)).rows).toEqual([{ one: 1 }]);
  await close();
  await database.drop();
});

test("no other processes help with a statement, unless the address says so", async () => {
  const database = await createPostgresDatabase();
  const helpers = async (db: Db) => {
    const shown = await sql<{ helpers: string }>`
      SELECT current_setting('max_parallel_workers_per_gather') AS helpers`.execute(db);
    return shown.rows[0]?.helpers;
  };
  const { db, patient, close } = await openStore({ dataDir: "", databaseUrl: database.url });
  expect([await helpers(db), await helpers(patient)]).toEqual(["0", "0"]);
  await close();
  const address = new URL(database.url);
  address.searchParams.set("options", "-c max_parallel_workers_per_gather=3");
  const asked = await openStore({ dataDir: "", databaseUrl: address.href });
  expect(await helpers(asked.db)).toBe("3");
  await asked.close();
  await database.drop();
});

test.concurrent("a slow statement is ended after five seconds, but not one of the patient pool", async () => {
  const database = await createTestDatabase("postgres");
  const { db, patient, close } = await database.open();
  const startMs = performance.now();
  const slow = sql`SELECT pg_sleep(8)`;
  const [ended, whole] = await Promise.all([
    slow.execute(db).then(
      () => undefined,
      (error: unknown) => ({ kind: faultKind(error), tookMs: performance.now() - startMs }),
    ),
    slow.execute(patient).then(() => performance.now() - startMs),
  ]);
  expect(ended?.kind).toBe("timeout");
  expect(ended?.tookMs).toBeLessThan(7_500);
  expect(whole).toBeGreaterThan(7_900);
  await close();
  await database.drop();
});

test.concurrent("a connection that stays ends when its other end falls silent, though no caller asks anything", async () => {
  const { database, link, client } = await createLinkedClient();
  const ended = new Promise((resolve) => client.once("end", resolve));
  await client.connect();
  // It is no timer of its own that ends it.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  link.silence();
  const startMs = performance.now();
  await ended;
  expect(performance.now() - startMs).toBeLessThan(7_000);
  link.close();
  await database.drop();
});

test.concurrent("what a connection that stays has locked is free again soon after it fell silent in a transaction", async () => {
  const { database, link, client } = await createLinkedClient();
  await client.connect();
  await client.query("BEGIN");
  await client.query("SELECT pg_advisory_xact_lock(4711)");
  link.silence();
  const startMs = performance.now();
  const other = createClient(database.url, "other");
  await other.connect();
  const isFree = async () => {
    const { rows } = await other.query("SELECT pg_try_advisory_xact_lock(4711) AS free");
    return rows[0].free as boolean;
  };
  await expect.poll(isFree, { timeout: 20_000, interval: 100 }).toBe(true);
  expect(performance.now() - startMs).toBeLessThan(9_000);
  await other.end();
  link.close();
  await database.drop();
});
