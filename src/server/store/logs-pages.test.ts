import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTestDatabase,
  engines,
  newLog,
  seedChannel,
  seedUser,
  type TestDatabase,
} from "#test/worlds/stores.ts";
import type { Db, Store } from "./db.ts";
import type { LogFilter } from "./log-filter.ts";
import { logHistory, statLogs } from "./log-stats.ts";
import { clearLogs, countLogs, insertLog, listLogs, type NewLog, searchLogs } from "./logs.ts";

const HOUR = 3_600;
const DAY_0 = 1_800_000_000 - (1_800_000_000 % 86_400);

const entry = (change: Partial<NewLog>) => newLog({ created_at: DAY_0, ...change });

describe.each(engines)("usage log on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  let db: Db;
  const written: NewLog[] = [];

  /** Consumption of many kinds over two days, in an order that is not quite that of time, as the ledger writes it. */
  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    db = store.db;
    await seedUser(db, { username: "anna" });
    await seedUser(db, { username: "berta" });
    await seedChannel(db, { name: "first channel" });
    await seedTeam();
    for (let index = 0; index < 300; index += 1) {
      const created = DAY_0 + index * 577 + (index % 5 === 0 ? 2_000 : 0);
      const log = entry({
        user_id: 1 + (index % 3),
        username: ["anna", "berta", "gone"][index % 3] ?? "",
        created_at: created,
        type: index % 50 === 49 ? 3 : 2,
        model_name: `model-${index % 4}`,
        token_name: tokenNameOf(index),
        channel_id: 1 + (index % 2),
        ...ofTeam(index),
        quota: index,
        prompt_tokens: 2,
        completion_tokens: 3,
        content: index === 7 ? "100% done" : `entry ${index}`,
      });
      written.push(log);
      await insertLog(db, log);
      if (log.type === 2) await addSums(log);
    }
  });

  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  /** The first account is the wallet of a team: two members, projects 2 and 3 of three. */
  async function seedTeam(): Promise<void> {
    await db
      .insertInto("teams")
      .values({ name: "team", wallet_id: 1, heir_id: 2, created_at: 1, closed_at: 0 })
      .execute();
    for (const name of ["one", "two", "three"])
      await db
        .insertInto("team_projects")
        .values({ team_id: 1, name, created_at: 1, closed_at: 0 })
        .execute();
  }
  function tokenNameOf(index: number): string {
    return index % 12 === 1 ? "only-berta" : `token-${index % 2}`;
  }
  function ofTeam(index: number): Partial<NewLog> {
    if (index % 3 !== 0) return {};
    return { member_id: 100 + (index % 2), project_id: index % 4 > 1 ? index % 4 : 0 };
  }

  /** What the ledger adds with each consumption. */
  async function addSums(log: NewLog): Promise<void> {
    const hour = log.created_at - (log.created_at % HOUR);
    const sums = { hour, quota: log.quota, prompt_tokens: 2, completion_tokens: 3, requests: 1 };
    const keys = [
      ["all", ""],
      ["user", String(log.user_id)],
      ["token", log.token_name],
      ["model", log.model_name],
      ["channel", String(log.channel_id)],
      ["model-channel", `${log.model_name}\n${log.channel_id}`],
      ...(log.member_id ? [["member", `${log.user_id} ${log.member_id}`] as const] : []),
      ...(log.project_id ? [["project", String(log.project_id)] as const] : []),
    ] as const;
    for (const [dimension, key] of keys) {
      await db
        .insertInto("log_sums")
        .values({ dimension, key, ...sums })
        .onConflict((conflict) =>
          conflict.columns(["dimension", "key", "hour"]).doUpdateSet((add) => ({
            quota: add("log_sums.quota", "+", log.quota),
            prompt_tokens: add("log_sums.prompt_tokens", "+", 2),
            completion_tokens: add("log_sums.completion_tokens", "+", 3),
            requests: add("log_sums.requests", "+", 1),
          })),
        )
        .execute();
    }
    const { user_id, token_name, model_name, channel_id } = log;
    await db
      .insertInto("log_rollups")
      .values({ ...sums, user_id, token_name, model_name, channel_id })
      .onConflict((conflict) =>
        conflict
          .columns(["user_id", "hour", "token_name", "model_name", "channel_id"])
          .doUpdateSet((add) => ({
            quota: add("log_rollups.quota", "+", log.quota),
            prompt_tokens: add("log_rollups.prompt_tokens", "+", 2),
            completion_tokens: add("log_rollups.completion_tokens", "+", 3),
            requests: add("log_rollups.requests", "+", 1),
          })),
      )
      .execute();
  }

  /** What the filter means, said plainly. */
  const matches = (log: NewLog, filter: LogFilter) =>
    (!filter.userId || log.user_id === filter.userId) &&
    (!filter.type || log.type === filter.type) &&
    (!filter.username || log.username === filter.username) &&
    (!filter.tokenName || log.token_name === filter.tokenName) &&
    (!filter.modelName || log.model_name === filter.modelName) &&
    (!filter.channelId || log.channel_id === filter.channelId) &&
    (!filter.memberId || log.member_id === filter.memberId) &&
    (!filter.projectId || log.project_id === filter.projectId) &&
    (!filter.start || log.created_at >= filter.start) &&
    (!filter.end || log.created_at <= filter.end);

  const filters: LogFilter[] = [
    {},
    { userId: 1 },
    { userId: 9 },
    { type: 2 },
    { type: 3 },
    { username: "berta" },
    { username: "gone" },
    { username: "nobody" },
    { username: "anna", userId: 2 },
    { tokenName: "token-1" },
    { modelName: "model-3" },
    { channelId: 2 },
    { userId: 2, modelName: "model-1" },
    // A name that three accounts use, and one that is one's alone.
    { userId: 1, tokenName: "token-1" },
    { userId: 2, tokenName: "token-1", start: DAY_0 + 5_000, end: DAY_0 + 100_001 },
    { userId: 2, tokenName: "only-berta" },
    { userId: 2, tokenName: "only-berta", start: DAY_0 + 5_000, end: DAY_0 + 100_001 },
    { userId: 1, tokenName: "only-berta" },
    { userId: 1, tokenName: "nobody" },
    { userId: 2, modelName: "model-1", tokenName: "token-1", channelId: 2, type: 2 },
    { modelName: "model-1", channelId: 2 },
    { projectId: 2 },
    { projectId: 3, modelName: "model-3" },
    { userId: 2, projectId: 2 },
    { projectId: 1, start: DAY_0 + 5_000 },
    { projectId: 9 },
    { start: DAY_0 + 5_000 },
    { end: DAY_0 + 5_000 },
    { start: DAY_0 + 5_000, end: DAY_0 + 100_001 },
    { start: DAY_0 + 7_200, end: DAY_0 + 10_799 },
    { start: DAY_0 + 7_201, end: DAY_0 + 10_800 },
    { start: DAY_0 + 5_000, end: DAY_0 + 5_001 },
    { start: DAY_0 + 5_000, end: DAY_0 + 4_000 },
    { start: DAY_0 + 10_000_000 },
    { end: 5 },
    { userId: 1, start: DAY_0 + 50_000, end: DAY_0 + 150_000, type: 2 },
    { username: "gone", modelName: "model-2", start: DAY_0 + 50_000 },
    { username: "", modelName: "", tokenName: "", channelId: 0, start: 0, end: 0, type: 0, userId: 0 },
  ];

  /** Of a team's account; statistics of members are asked for otherwise. */
  const ofMembers: LogFilter[] = [
    { userId: 1, memberId: 100 },
    { userId: 1, memberId: 101, modelName: "model-1", channelId: 2 },
    { userId: 1, memberId: 100, projectId: 2, start: DAY_0 + 5_000 },
    { userId: 1, memberId: 7 },
  ];

  test.each([...filters, ...ofMembers])(
    "lists and counts exactly what fits %j, newest first",
    async (filter) => {
      const expected = written.filter((log) => matches(log, filter)).map((log) => log.quota);
      const listed: number[] = [];
      for (let page = 0; ; page += 1) {
        const rows = await listLogs(db, filter, { page, size: 70 });
        listed.push(...rows.map((row) => row.quota));
        if (rows.length < 70) break;
      }
      expect(listed).toEqual(expected.toReversed());
      expect(await countLogs(db, filter)).toBe(expected.length);
    },
  );

  test.each(filters)("sums the consumption that fits %j", async (filter) => {
    const fitting = written.filter((log) => matches(log, { ...filter, type: 2 }));
    expect(await statLogs(db, filter)).toEqual({
      quota: fitting.reduce((sum, log) => sum + log.quota, 0),
      tokens: fitting.length * 5,
      requests: fitting.length,
    });
  });

  test("a token's sums are read by its name alone where no other account has the name", async () => {
    const of = (tokenName: string) => statLogs(db, { userId: 2, tokenName });
    const before = [await of("only-berta"), await of("token-1")];
    // What all dimensions together say now tells which of both was read.
    const mark = (by: number) =>
      db
        .updateTable("log_rollups")
        .set((add) => ({ quota: add("quota", "+", by) }))
        .execute();
    await mark(1);
    expect(await of("only-berta")).toEqual(before[0]);
    expect((await of("token-1")).quota).toBeGreaterThan(before[1]?.quota ?? 0);
    await mark(-1);
    expect(await of("token-1")).toEqual(before[1]);
  });

  test("goes on from an id at any depth", async () => {
    const [newest, second] = await listLogs(db, {}, { page: 0, size: 2 });
    const rest = await listLogs(db, {}, { page: 0, size: 1, beforeId: newest?.id });
    expect(rest).toEqual([second]);
    expect(await listLogs(db, {}, { page: 1_000_000, size: 100 })).toEqual([]);
  });

  test("tells the name of the channel, also of one that is gone", async () => {
    const rows = await listLogs(db, {}, { page: 0, size: 2 });
    expect(rows.map((row) => row.channel_name).toSorted()).toEqual(["", "first channel"]);
  });

  test("shows consumption over time in steps of whole hours", async () => {
    const days = await logHistory(db, {}, 86_400);
    expect(days.map((day) => day.time)).toEqual(
      [DAY_0, DAY_0 + 86_400, DAY_0 + 172_800].slice(0, days.length),
    );
    const total = written.filter((log) => log.type === 2).reduce((sum, log) => sum + log.quota, 0);
    expect(days.reduce((sum, day) => sum + day.quota, 0)).toBe(total);
    const hours = await logHistory(db, { username: "anna", start: DAY_0 + 86_400, end: DAY_0 + 90_000 }, 1);
    expect(hours.map((hour) => hour.time)).toEqual([DAY_0 + 86_400, DAY_0 + 90_000]);
    const both = await logHistory(db, { userId: 2, modelName: "model-1" }, 86_400);
    const fitting = written.filter((log) => matches(log, { userId: 2, modelName: "model-1", type: 2 }));
    expect(both.reduce((sum, day) => sum + day.requests, 0)).toBe(fitting.length);
  });

  test("searches the newest by type or by the head of the content, wildcards meaning themselves", async () => {
    expect((await searchLogs(db, { keyword: "100%" })).map((row) => row.content)).toEqual(["100% done"]);
    expect(await searchLogs(db, { keyword: "%" })).toEqual([]);
    expect(await searchLogs(db, { keyword: "3" })).toHaveLength(6);
    expect(await searchLogs(db, { keyword: "" })).toHaveLength(100);
    expect((await searchLogs(db, { keyword: "Entry 29", userId: 2 })).map((row) => row.quota)).toEqual([
      298, 295, 292,
    ]);
  });

  test("clears entries of a type by age, in batches, and leaves the sums", async () => {
    const before = await statLogs(db, { userId: 3 });
    const many = Array.from({ length: 60 }, () => entry({ user_id: 8, type: 5, created_at: 10 }));
    for (const log of many) await insertLog(db, log);
    const old = DAY_0 + 20_000;
    const consumed = written.filter((log) => log.type === 2 && log.created_at < old).length;
    expect(await clearLogs(db, old, [2, 5])).toBe(60 + consumed);
    expect(await clearLogs(db, old, [2, 5])).toBe(0);
    expect(await countLogs(db, { type: 3 })).toBe(6);
    expect(await statLogs(db, { userId: 3 })).toEqual(before);
  });
});
