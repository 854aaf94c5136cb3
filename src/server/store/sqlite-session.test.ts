// What the worker thread does, here in the main thread where it can be looked at.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StoreError } from "./fault.ts";
import { assertVersion, describe as describeFault, SqliteSession } from "./sqlite-session.ts";

let dir: string;
let session: SqliteSession;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  session = new SqliteSession({ file: join(dir, "tollgate.db"), lockFile: join(dir, "tollgate.lock") });
  session.query("CREATE TABLE t (id integer PRIMARY KEY, text text NOT NULL UNIQUE) STRICT", []);
});

afterEach(() => {
  session.close();
  rmSync(dir, { recursive: true, force: true });
});

function faultOf(run: () => unknown) {
  try {
    run();
  } catch (error) {
    return describeFault(error);
  }
  return undefined;
}

test.each([
  ["3.40.1", false],
  ["3.51.2", false],
  ["3.51", false],
  ["2.99.99", false],
  ["3.51.3", true],
  ["3.51.10", true],
  ["3.53.0", true],
  ["4.0.0", true],
])("SQLite %s is new enough: %s", (version, isFine) => {
  if (isFine) assertVersion(version);
  else expect(() => assertVersion(version)).toThrow("is older than 3.51.3");
});

test("answers rows, or what was changed", () => {
  expect(session.query("INSERT INTO t (text) VALUES (?), (?)", ["a", "b"])).toEqual({
    rows: [],
    changes: 2,
    insertId: 2,
  });
  expect(session.query("SELECT id, text FROM t WHERE id > ?", [1])).toEqual({
    rows: [{ id: 2, text: "b" }],
    changes: undefined,
    insertId: undefined,
  });
  expect(session.query("INSERT INTO t (text) VALUES ('c') RETURNING id", []).rows).toEqual([{ id: 3 }]);
});

test("keeps statements prepared, but not without bound", () => {
  for (let index = 0; index < 1_200; index += 1) {
    expect(session.query(`SELECT ${index} AS n`, []).rows).toEqual([{ n: index }]);
  }
  expect(session.query("SELECT 0 AS n", []).rows).toEqual([{ n: 0 }]);
});

test("says what went wrong", () => {
  session.query("INSERT INTO t (text) VALUES ('a')", []);
  expect(faultOf(() => session.query("INSERT INTO t (text) VALUES ('a')", []))).toEqual({
    kind: "constraint",
    message: "UNIQUE constraint failed: t.text",
  });
  expect(faultOf(() => session.query("nonsense", []))).toMatchObject({ kind: "other" });
  expect(describeFault("a text")).toEqual({ kind: "other", message: "a text" });
  expect(describeFault(new StoreError("full", "no space"))).toEqual({ kind: "full", message: "no space" });
});

test("a full disk is told as one, and the next write works when there is space", () => {
  session.query("PRAGMA max_page_count = 10", []);
  const big = "x".repeat(10_000);
  const fault = faultOf(() => {
    for (let index = 0; index < 10; index += 1)
      session.query("INSERT INTO t (text) VALUES (?)", [big + index]);
  });
  expect(fault).toMatchObject({ kind: "full" });
  session.query("PRAGMA max_page_count = 100000", []);
  session.query("INSERT INTO t (text) VALUES (?)", [`${big}again`]);
});

test("a lock of another connection on the file is waited for, then told", { timeout: 15_000 }, () => {
  const other = new DatabaseSync(join(dir, "tollgate.db"));
  other.exec("BEGIN IMMEDIATE");
  session.query("PRAGMA busy_timeout = 100", []);
  expect(faultOf(() => session.query("INSERT INTO t (text) VALUES ('a')", []))).toMatchObject({
    kind: "busy",
  });
  other.exec("COMMIT");
  other.close();
  session.query("INSERT INTO t (text) VALUES ('a')", []);
});

test("once a lock was waited for in vain no caller waits for it again at length, until one gets it", async () => {
  const module =
    "data:text/javascript,export function run(db) { db.exec('UPDATE t SET text = 1'); } export function flush() {}";
  await session.load(module);
  const other = new DatabaseSync(join(dir, "tollgate.db"));
  other.exec("BEGIN IMMEDIATE");
  const timed = (run: () => unknown) => {
    const startMs = performance.now();
    return { fault: faultOf(run)?.kind, ms: performance.now() - startMs };
  };
  const write = () => timed(() => session.query("INSERT INTO t (text) VALUES ('a')", []));
  // Who chose to wait for a moment only has not found out anything.
  session.query("PRAGMA busy_timeout = 100", []);
  for (let turn = 0; turn < 2; turn += 1) expect(write().ms).toBeGreaterThan(90);
  session.query("PRAGMA busy_timeout = 3100", []);
  expect(write()).toMatchObject({ fault: "busy" });
  for (let turn = 0; turn < 20; turn += 1) {
    const { fault, ms } = write();
    expect([fault, ms < 1_000]).toEqual(["busy", true]);
  }
  const program = timed(() => session.run(module, "", () => undefined));
  expect(program.fault).toBe("busy");
  expect(program.ms).toBeGreaterThan(400);
  expect(program.ms).toBeLessThan(3_000);
  other.exec("COMMIT");
  other.close();
  expect(write().fault).toBeUndefined();
  session.query("UPDATE t SET text = 'b'", []);
  expect(session.query("PRAGMA busy_timeout", []).rows).toEqual([{ timeout: 5_000 }]);
});

test("one instance per directory; a reader needs no lock and cannot write", () => {
  const second = faultOf(
    () => new SqliteSession({ file: join(dir, "tollgate.db"), lockFile: join(dir, "tollgate.lock") }),
  );
  expect(second).toMatchObject({
    kind: "busy",
    message: expect.stringContaining("another instance is running"),
  });
  const reader = new SqliteSession({ file: join(dir, "tollgate.db"), lockFile: undefined });
  expect(reader.query("SELECT count(*) AS n FROM t", []).rows).toEqual([{ n: 0 }]);
  expect(faultOf(() => reader.query("INSERT INTO t (text) VALUES ('a')", []))).toMatchObject({
    kind: "full",
  });
  reader.close();
});

test("a place that cannot hold a database is an error", () => {
  const nowhere = join(dir, "no", "such", "dir", "x.db");
  expect(faultOf(() => new SqliteSession({ file: nowhere, lockFile: nowhere }))).toMatchObject({
    kind: "broken",
  });
  expect(faultOf(() => new SqliteSession({ file: ":memory:", lockFile: undefined }))).toMatchObject({
    message: expect.stringContaining("write-ahead log"),
  });
});

test("runs a program that was loaded", async () => {
  const module =
    "data:text/javascript,export function run(db, input) { return db.prepare('SELECT ? AS n').get(input).n; }";
  expect(faultOf(() => session.run(module, 5, () => undefined))).toMatchObject({
    message: expect.stringContaining("not loaded"),
  });
  await session.load(module);
  expect(session.run(module, 5, () => undefined)).toBe(5);
});
