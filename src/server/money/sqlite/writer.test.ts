// The writer of SQLite, run here: one transaction, all or nothing, in the journal at once and in the tables before any other statement.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Operation, Outcome } from "#server/money/operations.ts";
import { grant, groupOn, reserve, settle, smallDatabase } from "#test/worlds/small-database.ts";
import { CHECKPOINT } from "./wire.ts";
import { checkpoint, run } from "./writer.ts";

let database: DatabaseSync;

beforeEach(() => {
  database = smallDatabase(100);
});

afterEach(() => database.close());

function group(...operations: Operation[]): readonly Outcome[] {
  return groupOn(database, { operations, nowSec: 7_199, node: "n" });
}

/** What stands in the tables as they are. */
const stored = (sql: string) => database.prepare(sql).get();

/** What another statement finds. */
const one = (sql: string) => {
  checkpoint(database);
  return stored(sql);
};

/** The same file after the process died: nothing is remembered but what is stored. */
const restart = () => {
  const copy = new DatabaseSync(":memory:");
  copy.deserialize(database.serialize());
  database.close();
  database = copy;
};

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
  expect(one("SELECT count(*) AS n FROM reservations")).toEqual({ n: 0 });
  expect(one("SELECT count(*) AS n, sum(quota) AS quota FROM logs")).toEqual({ n: 2, quota: 20 });
  expect(one("SELECT * FROM log_spans")).toEqual({ span: 6_600, first_id: 1, last_id: 2 });
  expect(one("SELECT quota, requests FROM log_sums WHERE dimension = 'model'")).toEqual({
    quota: 20,
    requests: 2,
  });
  group(settle("d", 1n));
  expect(one("SELECT * FROM log_spans")).toEqual({ span: 6_600, first_id: 1, last_id: 3 });
  expect(one("SELECT quota, requests, hour FROM log_rollups")).toEqual({
    quota: 21,
    requests: 3,
    hour: 3_600,
  });
});

test("what calls bring is in the journal, and in the tables before any other statement", () => {
  group(reserve("a", 20n), reserve("b", 20n));
  group(settle("a", 15n));
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 2 });
  const tables = `SELECT quota, (SELECT count(*) FROM ledger) AS entries, (SELECT count(*) FROM logs) AS logs,
    (SELECT count(*) FROM reservations) AS open FROM users`;
  expect(stored(tables)).toEqual({ quota: 100, entries: 0, logs: 0, open: 0 });
  checkpoint(database);
  expect(stored(tables)).toEqual({ quota: 65, entries: 1, logs: 1, open: 1 });
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 0 });
  checkpoint(database);
  expect(stored(tables)).toEqual({ quota: 65, entries: 1, logs: 1, open: 1 });
});

test("what others changed meanwhile is seen, and what was noted is not lost by it", () => {
  group(reserve("a", 20n));
  checkpoint(database);
  database.exec("UPDATE users SET quota = quota + 7; UPDATE tokens SET unlimited_quota = 1");
  group(settle("a", 15n), reserve("b", 70n));
  checkpoint(database);
  database.exec("UPDATE users SET status = 2");
  expect(group(reserve("c", 1n))).toEqual([{ kind: "reserve", verdict: "user_disabled" }]);
  expect(one("SELECT quota, used_quota FROM users")).toEqual({ quota: 22, used_quota: 15 });
});

/** As a process that died left it. */
const NOTED = [
  '[7199,"n",[[0,"a",1,2,20,"m"],[0,"b",1,2,20,"m"],[0,"z",1,2,99,"m"]]]',
  '[7200,"n",[[1,"a",1,2,3,15,5,6,1,["c","m",1,1,0,0,"4:upstream_500"]],' +
    '"{\\"kind\\":\\"checkpoint\\",\\"requestId\\":\\"b\\",\\"userId\\":1,\\"tokenId\\":2,' +
    '\\"seen\\":{\\"charge\\":{\\"$amount\\":\\"7\\"},\\"promptTokens\\":1,\\"completionTokens\\":2,\\"channelId\\":3}}"]]',
  '[7201,"n",[[0,"c",1,2,1,"m"],[1,"c",1,2,3,2,5,6,1,null]]]',
];

test("a journal in the form of the first release that has one is read by every later one", () => {
  for (const batch of NOTED) database.prepare("INSERT INTO journal (form, batch) VALUES (1, ?)").run(batch);
  expect(one("SELECT quota, used_quota, request_count FROM users")).toEqual({
    quota: 63,
    used_quota: 17,
    request_count: 2,
  });
  expect(one("SELECT remain_quota, used_quota, accessed_time FROM tokens")).toEqual({
    remain_quota: 13,
    used_quota: 17,
    accessed_time: 7_201,
  });
  expect(one("SELECT request_id, amount, seen_charge, channel_id, created_at FROM reservations")).toEqual({
    request_id: "b",
    amount: 20,
    seen_charge: 7,
    channel_id: 3,
    created_at: 7_199,
  });
  const rows = database.prepare("SELECT request_id, amount, created_at FROM ledger ORDER BY id").all();
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["a", -15, 7_200],
    ["c", -2, 7_201],
  ]);
  expect(one("SELECT count(*) AS n, trail, created_at FROM logs")).toEqual({
    n: 1,
    trail: "4:upstream_500",
    created_at: 7_200,
  });
  const all = { quota: 17, prompt_tokens: 10, completion_tokens: 12, requests: 2 };
  const sums = (table: string, where: string) =>
    one(`SELECT quota, prompt_tokens, completion_tokens, requests FROM ${table} WHERE ${where}`);
  for (const dimension of ["all", "user", "token", "model", "channel", "model-channel", "token-model"])
    expect(sums("log_sums", `dimension = '${dimension}' AND hour = 7200`)).toEqual(all);
  expect(sums("log_rollups", "user_id = 1 AND token_name = 't' AND channel_id = 3")).toEqual(all);
  expect(one("SELECT count(*) AS n FROM journal")).toEqual({ n: 0 });
});

test("a journal of another form is refused, and stays", () => {
  database.exec("INSERT INTO journal (form, batch) VALUES (2, 'what only a newer program reads')");
  expect(() => group(settle("a", 1n))).toThrow("form 2: start the program that wrote it");
  expect(() => checkpoint(database)).toThrow("form 2");
  database.exec(`UPDATE journal SET form = 1, batch = '[1,"n",[[7]]]'`);
  expect(() => checkpoint(database)).toThrow("unknown form of an operation");
  database.exec(`UPDATE journal SET batch = '[1,"n",["{\\"kind\\":\\"x\\",\\"requestId\\":\\"a\\"}"]]'`);
  expect(() => checkpoint(database)).toThrow("unknown operation");
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 1 });
});

test("what changes nothing is not noted", () => {
  group(settle("a", 15n), reserve("b", 1n));
  checkpoint(database);
  expect(group(reserve("c", 60n), settle("a", 15n), reserve("b", 1n))).toMatchObject([
    { verdict: "token_quota" },
    { booking: { charged: 15n } },
    { verdict: "reserved" },
  ]);
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 0 });
});

test("an id that was given back may be set aside again", () => {
  group(reserve("a", 20n));
  checkpoint(database);
  group({ kind: "release", requestId: "a", userId: 1, tokenId: 2 }, reserve("a", 30n));
  expect(one("SELECT amount, (SELECT quota FROM users) AS quota FROM reservations")).toEqual({
    amount: 30,
    quota: 70,
  });
});

test("the id of an open call is no other operation's", () => {
  group(reserve("a", 20n));
  expect(group(grant("a"))).toMatchObject([{ kind: "failed", reason: "a is the id of a call that is open" }]);
  group(settle("a", 15n));
  expect(one("SELECT quota, (SELECT count(*) FROM ledger) AS n FROM users")).toEqual({ quota: 85, n: 1 });
});

test("amounts below nothing are refused when they come, not when they are stored", () => {
  expect(() => group(reserve("a", -1n))).toThrow(TypeError);
  expect(() => group(settle("b", -1n))).toThrow(RangeError);
  expect(one("SELECT quota FROM users")).toEqual({ quota: 100 });
});

test("statistics that no number holds exactly stay at the largest, and hold up no money", () => {
  const usage = { promptTokens: Number.MAX_SAFE_INTEGER, completionTokens: 1, cachedTokens: 0 };
  const huge = (id: string) => ({ ...settle(id, 1n), usage }) as Operation;
  group(huge("a"), huge("b"));
  checkpoint(database);
  group(huge("c"), huge("d"));
  for (const table of ["log_rollups", "log_sums"])
    expect(one(`SELECT prompt_tokens, completion_tokens, quota, requests FROM ${table}`)).toEqual({
      prompt_tokens: Number.MAX_SAFE_INTEGER,
      completion_tokens: 4,
      quota: 4,
      requests: 4,
    });
});

test("no group runs in a transaction that it did not begin, nor ends it", () => {
  database.exec("BEGIN");
  expect(() => group(settle("a", 1n))).toThrow("a transaction of its own");
  expect(database.isTransaction).toBe(true);
  database.exec("COMMIT");
});

test("a process that dies at any moment loses nothing that was answered", () => {
  const steps: Operation[][] = [
    [reserve("a", 20n), reserve("b", 20n)],
    [{ kind: "extend", requestId: "b", userId: 1, tokenId: 2, target: 25n }, settle("a", 15n)],
    [reserve("c", 3n), { kind: "release", requestId: "b", userId: 1, tokenId: 2 }],
    [settle("c", 4n), reserve("d", 2n)],
  ];
  for (const [at, step] of steps.entries()) {
    const outcomes = group(...step);
    restart();
    if (at === 1) checkpoint(database);
    // Those who did not hear the answer ask again.
    expect(group(...step)).toMatchObject(outcomes.map(({ kind }) => ({ kind })));
    restart();
  }
  expect(one("SELECT quota, used_quota, request_count FROM users")).toEqual({
    quota: 79,
    used_quota: 19,
    request_count: 2,
  });
  expect(one("SELECT remain_quota, used_quota FROM tokens")).toEqual({ remain_quota: 29, used_quota: 19 });
  expect(one("SELECT count(*) AS n, sum(amount) AS sum FROM ledger")).toEqual({ n: 2, sum: -19 });
  expect(one("SELECT group_concat(request_id) AS ids FROM reservations")).toEqual({ ids: "d" });
  expect(one("SELECT count(*) AS n FROM logs")).toEqual({ n: 2 });
  expect(one("SELECT requests FROM log_sums WHERE dimension = 'all'")).toEqual({ requests: 2 });
});

test("entries of one group and of many tell who failed before", () => {
  const call = settle("a", 15n);
  if (call.kind !== "settle" || call.log === null) throw new Error("a settlement with a log");
  group({ ...call, log: { ...call.log, trail: "3:upstream_500" } }, settle("b", 5n));
  checkpoint(database);
  const trails = database.prepare("SELECT trail FROM logs ORDER BY id").all();
  expect(trails.map(({ trail }) => trail)).toEqual(["3:upstream_500", ""]);
});

test("many entries are stored without being asked for, with what had happened until then", () => {
  for (let at = 0; at < 52; at += 1)
    group(
      ...Array.from({ length: 20 }, (_, index) => settle(`${at}-${index}`, 0n)),
      reserve(`open-${at}`, 1n, 0),
    );
  expect(stored("SELECT count(*) AS n, max(id) AS last FROM logs")).toEqual({ n: 1_040, last: 1_040 });
  expect(stored("SELECT count(*) AS n FROM ledger")).toEqual({ n: 1_040 });
  expect(stored("SELECT requests FROM log_sums WHERE dimension = 'all'")).toEqual({ requests: 1_040 });
  expect(stored("SELECT count(*) AS n, sum(amount) AS sum FROM reservations")).toEqual({ n: 52, sum: 52 });
  expect(stored("SELECT first_id, last_id FROM log_spans")).toEqual({ first_id: 1, last_id: 1_040 });
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 0 });
});

test("what could not be stored waits in the journal; groups go on until it holds thousands", () => {
  database.exec("CREATE TRIGGER t BEFORE INSERT ON logs BEGIN SELECT RAISE(ABORT, 'no'); END");
  const many = (name: string) => Array.from({ length: 100 }, (_, index) => settle(`${name}-${index}`, 0n));
  for (let at = 0; at < 40; at += 1) group(...many(String(at)));
  expect(() => group(...many("more"))).toThrow("no");
  expect(group(...many("39"))).toHaveLength(100);
  expect(() => checkpoint(database)).toThrow("no");
  expect(() => run(database, CHECKPOINT, { send: vi.fn(), sync: vi.fn() })).toThrow("no");
  expect(stored("SELECT count(*) AS n FROM ledger")).toEqual({ n: 0 });
  expect(stored("PRAGMA busy_timeout")).toEqual({ timeout: 0 });
  database.exec("DROP TRIGGER t");
  expect(one("SELECT count(*) AS n FROM logs")).toEqual({ n: 4_000 });
  expect(one("SELECT count(*) AS n FROM ledger")).toEqual({ n: 4_000 });
});

test("changes by hand are in the tables at once, and what was noted before with them", () => {
  group(settle("a", 15n));
  group(grant("x"));
  expect(stored("SELECT quota FROM users")).toEqual({ quota: 90 });
  expect(stored("SELECT count(*) AS n FROM ledger")).toEqual({ n: 2 });
  expect(stored("SELECT count(*) AS n FROM journal")).toEqual({ n: 0 });
});

test("a repetition is answered from the ledger", () => {
  expect(group(settle("a", 15n))).toEqual(group(settle("a", 99n)));
  expect(group(reserve("a", 1n))).toMatchObject([{ kind: "failed" }]);
  expect(group(reserve("x", 1n), reserve("x", 1n))).toHaveLength(2);
  expect(one("SELECT count(*) AS n FROM reservations")).toEqual({ n: 1 });
});

test("unknown users and tokens are no rows", () => {
  expect(
    group({ ...reserve("a", 1n), userId: 9 } as Operation, reserve("b", 1n, 9), reserve("c", 1n, 0)),
  ).toMatchObject([{ verdict: "user_disabled" }, { verdict: "token_unusable" }, { verdict: "reserved" }]);
});

test("an adjustment is found again by its id", () => {
  expect([group(grant("gift")), group(grant("gift"))]).toMatchObject([
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
  database.exec("CREATE TRIGGER t BEFORE INSERT ON journal BEGIN SELECT RAISE(ROLLBACK, 'gone'); END");
  expect(() => group(settle("a", 5n))).toThrow("gone");
  expect(database.isTransaction).toBe(false);
});
