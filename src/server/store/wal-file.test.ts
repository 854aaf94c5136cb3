// The log of a real database, taken to the disk by us; at the calls themselves where no test can cut the power.
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SyncFault } from "./fault.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { WalFile } from "./wal-file.ts";

const { synced } = vi.hoisted(() => ({ synced: vi.fn<(handle: number) => void>() }));
vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  synced.mockImplementation(real.fdatasyncSync);
  return { ...real, fdatasyncSync: synced };
});

let dir: string;

beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), "tollgate-wal-"));
  synced.mockClear();
});

afterEach(() => fs.rmSync(dir, { recursive: true }));

function open(name = "a.db"): DatabaseSync {
  const database = new DatabaseSync(join(dir, name));
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (a)");
  return database;
}

test("where there is no log there is none to open", () => {
  expect(() => new WalFile(join(dir, "a.db"))).toThrow("ENOENT");
});

test("takes no lock of SQLite's away, while it is open or when it is closed", () => {
  const database = open();
  const file = new WalFile(join(dir, "a.db"));
  database.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
  const other = new DatabaseSync(join(dir, "a.db"), { timeout: 0 });
  file.sync();
  expect(() => other.exec("BEGIN IMMEDIATE")).toThrow("locked");
  file.close();
  expect(() => other.exec("BEGIN IMMEDIATE")).toThrow("locked");
  database.exec("COMMIT");
  other.exec("BEGIN IMMEDIATE; ROLLBACK");
  other.close();
  database.close();
});

test("does not hinder SQLite when the log is emptied, and when it goes", () => {
  const database = open();
  const file = new WalFile(join(dir, "a.db"));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (1)");
  file.sync();
  file.close();
  expect(() => file.sync()).toThrow(SyncFault);
  database.close();
  expect(fs.existsSync(join(dir, "a.db-wal"))).toBe(false);
});

const PROGRAM =
  "data:text/javascript,export function run(db, input, early) { early.sync(); } export function flush() {}";

async function session(): Promise<SqliteSession> {
  const made = new SqliteSession({ file: join(dir, "a.db"), lockFile: join(dir, "a.lock") });
  await made.load(PROGRAM);
  return made;
}

test("a program's sync is one of the log of the file behind all links, always by the same handle", async () => {
  fs.mkdirSync(join(dir, "far"));
  fs.symlinkSync(join(dir, "far", "real.db"), join(dir, "a.db"));
  const writer = await session();
  writer.query("CREATE TABLE t (a)", []);
  writer.run(PROGRAM, "", () => undefined);
  writer.run(PROGRAM, "", () => undefined);
  const handles = synced.mock.calls.map(([handle]) => handle);
  expect(handles).toHaveLength(2);
  expect(new Set(handles).size).toBe(1);
  expect(fs.fstatSync(handles[0] ?? -1).ino).toBe(fs.statSync(join(dir, "far", "real.db-wal")).ino);
  writer.close();
  expect(() => fs.fstatSync(handles[0] ?? -1)).toThrow("EBADF");
});

test("an error of the disk's is a fault with its cause", async () => {
  const writer = await session();
  const cause = Object.assign(new Error("EIO"), { code: "EIO" });
  synced.mockImplementationOnce(() => {
    throw cause;
  });
  expect(() => writer.run(PROGRAM, "", () => undefined)).toThrow(
    expect.objectContaining({ name: "SyncFault", cause }),
  );
  writer.close();
});

test("what a process left in the log is in the file before the next one writes, unless another connection reads it", () => {
  const left = () => {
    const last = open();
    last.exec("INSERT INTO t VALUES (1)");
    for (const end of ["", "-wal"]) fs.copyFileSync(join(dir, `a.db${end}`), join(dir, `b.db${end}`));
    last.close();
    for (const end of ["", "-wal"]) fs.renameSync(join(dir, `b.db${end}`), join(dir, `a.db${end}`));
    expect(fs.statSync(join(dir, "a.db-wal")).size).toBeGreaterThan(0);
  };
  const start = () => new SqliteSession({ file: join(dir, "a.db"), lockFile: join(dir, "a.lock") });
  left();
  const first = start();
  expect(fs.statSync(join(dir, "a.db-wal")).size).toBe(0);
  first.close();
  left();
  const reader = new DatabaseSync(join(dir, "a.db"));
  reader.exec("BEGIN; SELECT * FROM t");
  const second = start();
  expect(fs.statSync(join(dir, "a.db-wal")).size).toBeGreaterThan(0);
  expect(second.query("SELECT count(*) AS n FROM t", []).rows).toEqual([{ n: 2 }]);
  second.close();
  reader.close();
});
