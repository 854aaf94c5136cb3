// The log of a real database, taken to the disk by us.
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SyncFault } from "./fault.ts";
import { WalFile } from "./wal-file.ts";

let dir: string;
let database: DatabaseSync;
let file: WalFile;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tollgate-wal-"));
  database = new DatabaseSync(join(dir, "a.db"));
  database.exec("PRAGMA journal_mode = WAL");
  file = new WalFile(join(dir, "a.db"));
});

afterEach(() => {
  file.close();
  if (database.isOpen) database.close();
  rmSync(dir, { recursive: true });
});

test("where there is no log there is a fault, and a log that comes later is found", () => {
  const nowhere = new WalFile(join(dir, "b.db"));
  expect(() => nowhere.sync()).toThrow(SyncFault);
  database.exec("CREATE TABLE t (a)");
  renameSync(join(dir, "a.db-wal"), join(dir, "b.db-wal"));
  nowhere.sync();
  nowhere.close();
  renameSync(join(dir, "b.db-wal"), join(dir, "a.db-wal"));
});

test("takes no lock of SQLite's away, while it is open or when it is closed", () => {
  database.exec("CREATE TABLE t (a); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
  const other = new DatabaseSync(join(dir, "a.db"), { timeout: 0 });
  file.sync();
  expect(() => other.exec("BEGIN IMMEDIATE")).toThrow("locked");
  file.close();
  expect(() => other.exec("BEGIN IMMEDIATE")).toThrow("locked");
  database.exec("COMMIT");
  file.sync();
  other.exec("BEGIN IMMEDIATE; ROLLBACK");
  other.close();
});

test("is in nobody's way when the log is emptied, and when it goes", () => {
  database.exec("CREATE TABLE t (a)");
  file.sync();
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.exec("INSERT INTO t VALUES (1)");
  file.sync();
  file.close();
  database.close();
  expect(existsSync(join(dir, "a.db-wal"))).toBe(false);
});
