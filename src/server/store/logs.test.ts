// Whatever index answers, the rows are those that match: random entries and filters against a plain walk over all of them.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLEARED_LOG_TYPES } from "#contract/log.ts";
import type { Store } from "#server/store/db.ts";
import { createTestDatabase, engines, newLog, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import type { LogFilter } from "./log-filter.ts";
import { statLogs } from "./log-stats.ts";
import { clearLogs, countLogs, insertLog, insertLogs, listLogs, type NewLog, searchLogs } from "./logs.ts";

const START = 1_800_000_000;
const HOUR = 3_600;
const ROWS = 600;
const models = ["gpt-4o", "claude", "qwen", "unused"];
const tokens = ["default", "mine", "other"];
const channels = [1, 2, 3];
const types = [1, 2, 2, 2, 2, 2, 3, 4, 5, 6];

describe.each(engines)("the usage log on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  const users: { id: number; username: string }[] = [];
  const rows: (NewLog & { id: number })[] = [];

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    for (const username of ["ann", "ben", "cat"])
      users.push({ id: await seedUser(store.db, { username }), username });
    const dice = fc.sample(fc.nat(1_000_000), { numRuns: ROWS * 6, seed: 7 });
    const pick = <T>(list: readonly T[]): T => {
      const value = list[(dice.pop() ?? 0) % list.length];
      if (value === undefined) throw new Error("empty list");
      return value;
    };
    const randomEntry = (index: number): NewLog => {
      const { id, username } = pick(users);
      // Mostly in order, as clocks are, but not strictly.
      const created_at = START + index * 120 - (index % 7) * 50;
      const type = pick(types);
      const base = { user_id: id, username, type, created_at };
      if (type === 6)
        return newLog({
          ...base,
          content: `note ${index}`,
          token_name: pick(tokens),
          model_name: pick(models),
          channel_id: pick(channels),
        });
      if (type !== 2)
        return newLog({
          ...base,
          content: `note ${index} 100%_sure`,
          channel_id: type === 5 ? pick(channels) : 0,
        });
      return newLog({
        ...base,
        content: "模型倍率 1",
        token_name: pick(tokens),
        model_name: pick(models.slice(0, 3)),
        channel_id: pick(channels),
        quota: 10 + index,
        prompt_tokens: index,
        completion_tokens: 3,
      });
    };
    await store.db.transaction().execute(async (tx) => {
      for (let index = 0; index < ROWS; index += 1) {
        const log = randomEntry(index);
        rows.push({ ...log, id: await insertLog(tx, log) });
      }
      for (const row of rows.filter(({ type }) => type === 2)) await addSums(tx, row);
    });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  /** The sums by hour as the ledger books them. */
  async function addSums(db: Store["db"], row: NewLog): Promise<void> {
    const hour = row.created_at - (row.created_at % HOUR);
    const sums = {
      quota: row.quota,
      prompt_tokens: row.prompt_tokens,
      completion_tokens: row.completion_tokens,
      requests: 1,
    };
    const keys = [
      ["all", ""],
      ["user", String(row.user_id)],
      ["token", row.token_name],
      ["model", row.model_name],
      ["channel", String(row.channel_id)],
      ["model-channel", `${row.model_name}\n${row.channel_id}`],
    ] as const;
    const { user_id, token_name, model_name, channel_id } = row;
    for (const [dimension, key] of keys)
      await db
        .insertInto("log_sums")
        .values({ dimension, key, hour, ...sums })
        .onConflict((conflict) =>
          conflict.columns(["dimension", "key", "hour"]).doUpdateSet((update) => ({
            quota: update("log_sums.quota", "+", sums.quota),
            prompt_tokens: update("log_sums.prompt_tokens", "+", sums.prompt_tokens),
            completion_tokens: update("log_sums.completion_tokens", "+", sums.completion_tokens),
            requests: update("log_sums.requests", "+", 1),
          })),
        )
        .execute();
    await db
      .insertInto("log_rollups")
      .values({ user_id, hour, token_name, model_name, channel_id, ...sums })
      .onConflict((conflict) =>
        conflict
          .columns(["user_id", "hour", "token_name", "model_name", "channel_id"])
          .doUpdateSet((update) => ({
            quota: update("log_rollups.quota", "+", sums.quota),
            prompt_tokens: update("log_rollups.prompt_tokens", "+", sums.prompt_tokens),
            completion_tokens: update("log_rollups.completion_tokens", "+", sums.completion_tokens),
            requests: update("log_rollups.requests", "+", 1),
          })),
      )
      .execute();
  }

  function matches(row: NewLog, filter: LogFilter): boolean {
    return (
      (!filter.userId || row.user_id === filter.userId) &&
      (!filter.type || row.type === filter.type) &&
      (!filter.username || row.username === filter.username) &&
      (!filter.tokenName || row.token_name === filter.tokenName) &&
      (!filter.modelName || row.model_name === filter.modelName) &&
      (!filter.channelId || row.channel_id === filter.channelId) &&
      (!filter.start || row.created_at >= filter.start) &&
      (!filter.end || row.created_at <= filter.end)
    );
  }

  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const moment = fc.integer({ min: START - 5_000, max: START + ROWS * 120 + 5_000 });
  const filters: fc.Arbitrary<LogFilter> = fc.record({
    userId: maybe(fc.nat(2).map((index) => users[index]?.id ?? 0)),
    type: maybe(fc.constantFrom(0, 1, 2, 3, 4, 5)),
    username: maybe(fc.constantFrom("", "ann", "ben", "nobody")),
    tokenName: maybe(fc.constantFrom("", ...tokens)),
    modelName: maybe(fc.constantFrom("", ...models)),
    channelId: maybe(fc.constantFrom(0, 1, 2, 3, 9)),
    start: maybe(moment),
    end: maybe(moment),
  });

  test("pages and totals are those of a plain walk", async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.nat(3), async (filter, page) => {
        const expected = rows.filter((row) => matches(row, filter)).reverse();
        const got = await listLogs(store.db, filter, { page, size: 20 });
        expect(got.map(({ id }) => id)).toEqual(
          expected.slice(page * 20, page * 20 + 20).map(({ id }) => id),
        );
        expect(await countLogs(store.db, filter)).toBe(expected.length);
      }),
      { numRuns: 150, seed: 1 },
    );
  }, 60_000);

  test("statistics are those of a plain walk over the calls, whatever the type says", async () => {
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const calls = rows.filter((row) => row.type === 2 && matches(row, { ...filter, type: 0 }));
        expect(await statLogs(store.db, filter)).toEqual({
          quota: calls.reduce((sum, row) => sum + row.quota, 0),
          tokens: calls.reduce((sum, row) => sum + row.prompt_tokens + row.completion_tokens, 0),
          requests: calls.length,
        });
      }),
      { numRuns: 150, seed: 2 },
    );
  }, 60_000);

  test("a search finds types, heads of texts, and nothing by wildcards", async () => {
    const found = async (keyword: string, userId?: number) =>
      (await searchLogs(store.db, userId === undefined ? { keyword } : { keyword, userId })).map(
        ({ id }) => id,
      );
    const newest = (list: typeof rows) =>
      list
        .map(({ id }) => id)
        .reverse()
        .slice(0, 100);
    expect(await found("")).toEqual(newest(rows));
    expect(await found("4")).toEqual(newest(rows.filter(({ type }) => type === 4)));
    expect(await found("NOTE 1")).toEqual(newest(rows.filter(({ content }) => content.startsWith("note 1"))));
    expect(await found("%")).toEqual([]);
    expect(await found("note%")).toEqual([]);
    expect(await found("_ote")).toEqual([]);
    expect(await found("x".repeat(5_000))).toEqual([]);
    const [ann] = users;
    const own = rows.filter(({ user_id }) => user_id === ann?.id);
    expect(await found("3", ann?.id)).toEqual(newest(own.filter(({ type }) => type === 3)));
    expect(await found("note", ann?.id)).toEqual(
      newest(own.filter(({ content }) => content.startsWith("note"))),
    );
  });

  test("entries of a user who was deleted are found by the name of old", async () => {
    const id = await seedUser(store.db, { username: "deleted_1", status: 3 });
    const logId = await insertLog(
      store.db,
      newLog({ user_id: id, username: "gone", quota: 5, created_at: START + 90_000 }),
    );
    expect(
      (await listLogs(store.db, { username: "gone" }, { page: 0, size: 10 })).map((row) => row.id),
    ).toEqual([logId]);
    expect(await countLogs(store.db, { username: "gone" })).toBe(1);
    await store.db.deleteFrom("logs").where("id", "=", logId).execute();
  });

  test("several entries are written together, are found by their time, and all or none stand", async () => {
    const at = START + 900_000;
    const failed = (request_id: string) => newLog({ type: 6, created_at: at, request_id });
    const later = { ...failed("an hour later"), created_at: at + HOUR };
    await insertLogs(store.db, [failed("first"), later, failed("second")]);
    // Nothing refers to a user of a log entry, but every type must be a number.
    const broken = { ...failed("broken"), type: null as unknown as number };
    await expect(insertLogs(store.db, [failed("third"), broken])).rejects.toThrow();
    const found = await listLogs(store.db, { type: 6, start: at, end: at }, { page: 0, size: 10 });
    expect(found.map(({ request_id }) => request_id)).toEqual(["second", "first"]);
    expect(await countLogs(store.db, { userId: 1, start: at + 1 })).toBe(1);
    await store.db.deleteFrom("logs").where("created_at", ">=", at).execute();
  });

  test("clearing takes the given types before the moment, and no others", async () => {
    const before = START + 30_000;
    const expected = rows.filter((row) => row.created_at < before && CLEARED_LOG_TYPES.includes(row.type));
    expect(await clearLogs(store.db, before, CLEARED_LOG_TYPES)).toBe(expected.length);
    const left = await store.db.selectFrom("logs").select("id").orderBy("id").execute();
    const gone = new Set(expected.map(({ id }) => id));
    expect(left.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).filter((id) => !gone.has(id)));
    const sums = await statLogs(store.db, {});
    expect(sums.requests).toBe(rows.filter(({ type }) => type === 2).length);
  });
});
