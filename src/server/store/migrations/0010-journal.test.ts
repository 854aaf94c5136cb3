import { sql } from "kysely";
import { expect, test } from "vitest";
import { createTestDatabase, newLog } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./list.ts";

const HOUR = 1_790_002_800;

test("entries that a killed server left waiting are among the others, in spans and sums", async () => {
  const database = await createTestDatabase("sqlite", "nothing");
  try {
    const before = await database.open({ migrations: MIGRATIONS.slice(0, 9) });
    const call = newLog({ type: 2, user_id: 1, token_name: "t", model_name: "m", channel_id: 3, quota: 7 });
    const entries = [
      { ...call, created_at: HOUR + 10 },
      { ...call, created_at: HOUR + 700, model_name: "n", prompt_tokens: 5 },
      { ...call, created_at: HOUR + 701, type: 1, quota: 100 },
      { ...call, created_at: HOUR + 3_600, user_id: 2 },
    ];
    const insert = (table: string, entry: object) => {
      const names = sql.join(Object.keys(entry).map((name) => sql.ref(name)));
      const values = sql.join(Object.values(entry));
      return sql`INSERT INTO ${sql.table(table)} (${names}) VALUES (${values})`.execute(before.db);
    };
    await insert("logs", { ...call, created_at: HOUR });
    const known = {
      hour: HOUR,
      quota: 7,
      prompt_tokens: call.prompt_tokens,
      completion_tokens: 0,
      requests: 1,
    };
    await insert("log_spans", { span: HOUR, first_id: 1, last_id: 1 });
    await insert("log_sums", { dimension: "model", key: "m", ...known });
    await insert("log_rollups", { user_id: 1, token_name: "t", model_name: "m", channel_id: 3, ...known });
    for (const entry of entries) await insert("recent_logs", entry);
    await before.close();

    const { db, close } = await database.open();
    const rows = await db.selectFrom("logs").select(["id", "created_at", "quota"]).orderBy("id").execute();
    expect(rows.map(({ id, created_at, quota }) => [id, created_at - HOUR, quota])).toEqual([
      [1, 0, 7],
      [2, 10, 7],
      [3, 700, 7],
      [4, 701, 100],
      [5, 3_600, 7],
    ]);
    const spans = await db.selectFrom("log_spans").selectAll().orderBy("span").execute();
    expect(spans.map(({ span, first_id, last_id }) => [span - HOUR, first_id, last_id])).toEqual([
      [0, 1, 2],
      [600, 3, 4],
      [3_600, 5, 5],
    ]);
    const sums = await db
      .selectFrom("log_sums")
      .select(["dimension", "key", "hour", "quota", "requests"])
      .orderBy("dimension")
      .orderBy("key")
      .orderBy("hour")
      .execute();
    expect(
      sums.map(({ dimension, key, hour, ...sum }) => [dimension, key, hour - HOUR, ...Object.values(sum)]),
    ).toEqual([
      ["all", "", 0, 14, 2],
      ["all", "", 3_600, 7, 1],
      ["channel", "3", 0, 14, 2],
      ["channel", "3", 3_600, 7, 1],
      ["model", "m", 0, 14, 2],
      ["model", "m", 3_600, 7, 1],
      ["model", "n", 0, 7, 1],
      ["model-channel", "m\n3", 0, 7, 1],
      ["model-channel", "m\n3", 3_600, 7, 1],
      ["model-channel", "n\n3", 0, 7, 1],
      ["token", "t", 0, 14, 2],
      ["token", "t", 3_600, 7, 1],
      ["user", "1", 0, 14, 2],
      ["user", "2", 3_600, 7, 1],
    ]);
    const rollups = await db
      .selectFrom("log_rollups")
      .select(["user_id", "model_name", "hour", "quota", "requests"])
      .orderBy("user_id")
      .orderBy("model_name")
      .execute();
    expect(rollups.map(({ hour, ...rest }) => [hour - HOUR, ...Object.values(rest)])).toEqual([
      [0, 1, "m", 14, 2],
      [0, 1, "n", 7, 1],
      [3_600, 2, "m", 7, 1],
    ]);
    await close();
  } finally {
    await database.drop();
  }
});

test("where nothing waits nothing changes", async () => {
  const database = await createTestDatabase("sqlite", "nothing");
  try {
    const { db, close } = await database.open();
    for (const table of ["logs", "log_spans", "log_sums", "log_rollups"] as const)
      expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
    await close();
  } finally {
    await database.drop();
  }
});
