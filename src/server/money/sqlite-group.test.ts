// The program of the writer thread, run here: one transaction, all or nothing.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MIGRATIONS } from "#server/store/migrations/list.ts";
import type { Operation, Outcome } from "./operations.ts";
import { run } from "./sqlite-group.ts";
import { decodeOutcomes, encodeBatch, SORT_IN } from "./wire.ts";

let database: DatabaseSync;

beforeEach(() => {
  database = new DatabaseSync(":memory:");
  for (const migration of MIGRATIONS) for (const statement of migration.sqlite) database.exec(statement);
  database.exec(`INSERT INTO users (id, username, password, display_name, role, status, email, github_id, wechat_id, quota,
    "group", aff_code, inviter_id, created_at) VALUES (1, 'u', '', '', 1, 1, '', '', '', 100, 'default', '', 0, 0)`);
  database.exec(`INSERT INTO tokens (id, user_id, key_hash, key_sealed, status, name, created_time, accessed_time,
    expired_time, remain_quota, unlimited_quota, models, subnet) VALUES (2, 1, 'h', '', 1, 't', 0, 0, -1, 50, 0, '', '')`);
});

afterEach(() => database.close());

const group = (...operations: Operation[]): readonly Outcome[] =>
  decodeOutcomes(run(database, encodeBatch({ operations, nowSec: 7_199, node: "n" })));

const reserve = (requestId: string, amount: bigint, tokenId = 2): Operation => ({
  kind: "reserve",
  requestId,
  userId: 1,
  tokenId,
  amount,
  modelName: "m",
});

const settle = (requestId: string, charge: bigint): Operation => ({
  kind: "settle",
  requestId,
  userId: 1,
  tokenId: 2,
  channelId: 3,
  charge,
  usage: { promptTokens: 5, completionTokens: 6, cachedTokens: 1 },
  log: {
    content: "c",
    model_name: "m",
    elapsed_time: 1,
    first_byte_time: 1,
    is_stream: 0,
    estimated: 0,
    trail: "",
  },
});

const one = (sql: string) => database.prepare(sql).get();

test("stores everything that belongs to a call", () => {
  group(reserve("a", 20n), reserve("b", 20n), reserve("c", 20n));
  expect(one("SELECT quota, (SELECT remain_quota FROM tokens) AS remain FROM users")).toEqual({
    quota: 60,
    remain: 10,
  });
  const seen = { charge: 7n, promptTokens: 1, completionTokens: 2, channelId: 3 };
  group({ kind: "checkpoint", requestId: "b", userId: 1, tokenId: 2, seen });
  expect(one("SELECT seen_charge, channel_id FROM reservations WHERE request_id = 'b'")).toEqual({
    seen_charge: 7,
    channel_id: 3,
  });
  group(settle("a", 15n), settle("b", 5n));
  run(database, SORT_IN);
  expect(one("SELECT count(*) AS n FROM reservations")).toEqual({ n: 0 });
  expect(one("SELECT count(*) AS n, sum(quota) AS quota FROM logs")).toEqual({ n: 2, quota: 20 });
  expect(one("SELECT * FROM log_spans")).toEqual({ span: 6_600, first_id: 1, last_id: 2 });
  expect(one("SELECT quota, requests FROM log_sums WHERE dimension = 'model'")).toEqual({
    quota: 20,
    requests: 2,
  });
  group(settle("d", 1n));
  run(database, SORT_IN);
  expect(one("SELECT * FROM log_spans")).toEqual({ span: 6_600, first_id: 1, last_id: 3 });
  expect(one("SELECT quota, requests, hour FROM log_rollups")).toEqual({
    quota: 21,
    requests: 3,
    hour: 3_600,
  });
});

test("entries that were not sorted in before the end are found again, with exact sums", () => {
  group(settle("a", 15n), settle("b", 5n));
  group(reserve("c", 7n), { ...settle("c", 7n), log: null } as Operation);
  expect(one("SELECT count(*) AS n FROM logs")).toEqual({ n: 0 });
  // After a failure the program remembers nothing, as after a start.
  expect(() => group({ ...settle("d", 1n), requestId: Symbol("no") } as unknown as Operation)).toThrow();
  run(database, SORT_IN);
  run(database, SORT_IN);
  expect(one("SELECT count(*) AS n, sum(quota) AS quota, min(id) AS first FROM logs")).toEqual({
    n: 2,
    quota: 20,
    first: 1,
  });
  const sums = (table: string, where: string) =>
    one(`SELECT quota, prompt_tokens, completion_tokens, requests FROM ${table} WHERE ${where}`);
  const all = { quota: 27, prompt_tokens: 15, completion_tokens: 18, requests: 3 };
  for (const dimension of ["all", "user", "token", "model", "channel", "model-channel"])
    expect(sums("log_sums", `dimension = '${dimension}' AND hour = 3600`)).toEqual(all);
  expect(sums("log_rollups", "user_id = 1 AND token_name = 't' AND channel_id = 3")).toEqual(all);
  expect(one("SELECT * FROM log_spans")).toEqual({ span: 6_600, first_id: 1, last_id: 2 });
});

test("an entry that waits and one that is sorted in tell who failed before", () => {
  const call = settle("a", 15n);
  if (call.kind !== "settle" || call.log === null) throw new Error("a settlement with a log");
  group({ ...call, log: { ...call.log, trail: "3:upstream_500" } }, settle("b", 5n));
  const trails = (table: string) =>
    database
      .prepare(`SELECT trail FROM ${table} ORDER BY id`)
      .all()
      .map(({ trail }) => trail);
  expect(trails("recent_logs")).toEqual(["3:upstream_500", ""]);
  run(database, SORT_IN);
  expect(trails("recent_logs")).toEqual([]);
  expect(trails("logs")).toEqual(["3:upstream_500", ""]);
});

test("many entries are sorted in without being asked for", () => {
  for (let at = 0; at < 30; at += 1)
    group(...Array.from({ length: 10 }, (_, index) => settle(`${at}-${index}`, 0n)));
  expect(one("SELECT count(*) AS n, max(id) AS last FROM logs")).toEqual({ n: 260, last: 260 });
  expect(one("SELECT count(*) AS n FROM recent_logs")).toEqual({ n: 40 });
  expect(one("SELECT requests FROM log_sums WHERE dimension = 'all'")).toEqual({ requests: 260 });
});

test("a repetition is answered from the ledger", () => {
  expect(group(settle("a", 15n))).toEqual(group(settle("a", 99n)));
  expect(group(reserve("a", 1n))).toMatchObject([{ kind: "failed" }]);
  expect(group(reserve("x", 1n), reserve("x", 1n))).toHaveLength(2);
  expect(one("SELECT count(*) AS n FROM reservations")).toEqual({ n: 1 });
});

test("only what sets amounts aside may go without waiting for the disk, and nothing after it", () => {
  const levels: unknown[] = [];
  database.function("level", () => {
    levels.push(one("PRAGMA synchronous")?.["synchronous"]);
    return 0;
  });
  database.exec("PRAGMA synchronous = FULL");
  database.exec("CREATE TRIGGER t AFTER UPDATE ON users BEGIN SELECT level(); END");
  const [normal, full] = [1, 2];
  group(reserve("a", 1n), { kind: "extend", requestId: "a", userId: 1, tokenId: 2, target: 2n });
  group(settle("a", 1n), reserve("b", 1n));
  group(reserve("c", 1n));
  expect(levels).toEqual([normal, full, normal]);
  const bad = { ...reserve("bad", 1n), modelName: Symbol("no") } as unknown as Operation;
  expect(() => group(bad)).toThrow();
  expect(one("PRAGMA synchronous")).toEqual({ synchronous: full });
});

test("unknown users and tokens are no rows", () => {
  expect(
    group({ ...reserve("a", 1n), userId: 9 } as Operation, reserve("b", 1n, 9), reserve("c", 1n, 0)),
  ).toMatchObject([{ verdict: "user_disabled" }, { verdict: "token_unusable" }, { verdict: "reserved" }]);
});

test("an adjustment is found again by its id", () => {
  const gift: Operation = {
    kind: "adjust",
    requestId: "gift",
    userId: 1,
    tokenId: 0,
    adjustment: { userId: 1, kind: "grant", quota: { delta: 5n }, actorId: 1, reason: "" },
  };
  expect([group(gift), group(gift)]).toMatchObject([
    [{ adjusted: { outcome: "done" } }],
    [{ adjusted: { outcome: "repeated" } }],
  ]);
});

test("when one cannot be stored, none is, and the next group is", () => {
  const bad = { ...reserve("bad", 1n), modelName: Symbol("no") } as unknown as Operation;
  expect(() => group(reserve("good", 10n), bad)).toThrow();
  expect(one("SELECT quota, (SELECT count(*) FROM reservations) AS n FROM users")).toEqual({
    quota: 100,
    n: 0,
  });
  expect(group(reserve("good", 10n))).toEqual([{ kind: "reserve", verdict: "reserved" }]);
});

test("a balance that no number holds exactly is not stored", () => {
  database.exec("UPDATE users SET used_quota = 9007199254740991");
  expect(() => group(settle("a", 5n))).toThrow(RangeError);
  expect(one("SELECT count(*) AS n FROM ledger")).toEqual({ n: 0 });
});

test("a transaction that the database itself has undone is not undone twice", () => {
  database.exec("CREATE TRIGGER t BEFORE INSERT ON ledger BEGIN SELECT RAISE(ROLLBACK, 'gone'); END");
  expect(() => group(settle("a", 5n))).toThrow("gone");
  expect(database.isTransaction).toBe(false);
});
