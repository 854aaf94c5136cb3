// The harness itself: what other tests take for granted about their database.
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";

let first: PostgresDatabase;
let second: PostgresDatabase;

beforeAll(async () => {
  [first, second] = await Promise.all([createPostgresDatabase(), createPostgresDatabase()]);
});

afterAll(() => Promise.all([first.drop(), second.drop()]));

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows;
  } finally {
    await client.end();
  }
}

test("each test file gets a database of its own on a real PostgreSQL", async () => {
  await query(first.url, "CREATE TABLE only_here (id bigint)");
  expect(await query(first.url, "SELECT count(*)::int AS n FROM only_here")).toEqual([{ n: 0 }]);
  await expect(query(second.url, "SELECT 1 FROM only_here")).rejects.toThrow(
    'relation "only_here" does not exist',
  );
});

test("text is UTF-8 and compares by code point, as in SQLite", async () => {
  const sql = "SELECT text FROM (VALUES ('令牌'), ('a'), ('B')) AS t(text) ORDER BY text";
  expect(await query(first.url, sql)).toEqual([{ text: "B" }, { text: "a" }, { text: "令牌" }]);
});

test("dropping closes connections that were forgotten", async () => {
  const database = await createPostgresDatabase();
  const forgotten = new pg.Client({ connectionString: database.url });
  forgotten.on("error", () => undefined);
  await forgotten.connect();
  await database.drop();
  await expect(query(database.url, "SELECT 1")).rejects.toThrow("does not exist");
});
