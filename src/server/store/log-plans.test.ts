// How SQLite finds the entries of a tag of tokens (requirements N1, K14): along one index, which has all that a filter compares, so that nothing
// is read but what is shown. PostgreSQL plans by what it has counted; bench/logs.ts measures both.
import { CompiledQuery } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, seedToken, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import type { Db, Store } from "./db.ts";
import { type LogFilter, logsOf, planLogs } from "./log-filter.ts";
import { noteSpan } from "./log-spans.ts";
import { byToken } from "./log-tags.ts";

let database: TestDatabase;
let store: Store;
let db: Db;

beforeAll(async () => {
  database = await createTestDatabase("sqlite");
  store = await database.open();
  db = store.db;
  for (const username of ["anna", "berta"]) {
    const userId = await seedUser(db, { username });
    await seedToken(db, userId, { name: "default", tags: "prod" });
    // Of Berta's two of one name one has the tag.
    if (username === "berta") await seedToken(db, userId, { name: "default" });
  }
  await noteSpan(db, 600, [1, 9]);
  await noteSpan(db, 1_200, [10, 19]);
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

async function planOf(query: { compile(): CompiledQuery<unknown> }): Promise<string[]> {
  const { sql, parameters } = query.compile();
  const { rows } = await db.executeQuery<{ detail: string }>(
    CompiledQuery.raw(`EXPLAIN QUERY PLAN ${sql}`, [...parameters]),
  );
  return rows.map(({ detail }) => detail);
}

test.each<LogFilter>([
  {},
  { type: 2 },
  { modelName: "m", type: 2 },
  { modelName: "m", channelId: 3 },
  { start: 700, end: 1_100 },
])("each token of a tag, filtered by %j", async (more) => {
  const filters = (await byToken(db, { tag: "prod", ...more })) ?? [];
  expect(filters.map(({ tokenId }) => tokenId !== 0)).toEqual([false, true]);
  for (const filter of filters) {
    const plan = (await planLogs(db, filter)) ?? expect.fail();
    const page = logsOf(db, plan, "by id").select("logs.id as id").orderBy("logs.id", "desc").limit(10);
    const total = logsOf(db, plan, "in any order").select("logs.id as id").limit(5_000);
    for (const query of [page, total]) {
      const steps = await planOf(query);
      expect(steps).toHaveLength(1);
      expect(steps[0]).toMatch(
        /^SEARCH logs USING COVERING INDEX logs_user_token \(user_id=\? AND token_name=\?/,
      );
    }
  }
});
