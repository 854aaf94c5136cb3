// The files of a SQLite database: who may read them, and that one process alone writes to them (requirements F10).
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { openStore } from "./db.ts";
import { MIGRATIONS } from "./migrations/list.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase("sqlite", "nothing");
});

afterEach(() => database.drop());

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

test("a second instance is refused, though it finds the database through a link", async () => {
  const { dataDir } = database.options;
  const elsewhere = join(dataDir, "elsewhere");
  mkdirSync(elsewhere);
  // The database need not be there yet.
  symlinkSync(join(dataDir, "tollgate.db"), join(elsewhere, "tollgate.db"));
  const store = await openStore({ dataDir: elsewhere });
  await expect(database.open()).rejects.toThrow("another instance is running");
  await store.close();
  const other = await database.open();
  await expect(openStore({ dataDir: elsewhere })).rejects.toThrow("another instance is running");
  await other.close();
});

test("why a file cannot be opened is told, and not that its thread has ended, though both are heard at once", async () => {
  const { dataDir } = database.options;
  mkdirSync(join(dataDir, "tollgate.db"));
  const deaths: unknown[] = [];
  const opening = openStore({ dataDir, onFatal: (error) => deaths.push(error) });
  // As on a busy machine: this thread hears nothing until the other one is gone.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  await expect(opening).rejects.toThrow("unable to open database file");
  expect(deaths).toEqual([]);
});

test("all files are for their owner alone, also those that were not; a directory that is there stays as it is", async () => {
  const { dataDir } = database.options;
  const made = join(dataDir, "made");
  const older = await openStore({ dataDir: made, migrations: MIGRATIONS.slice(0, -1) });
  await older.close();
  expect(modeOf(made)).toBe("700");
  // As they were made before, and a log as a killed server leaves it.
  for (const name of ["tollgate.db", "tollgate.lock", "tollgate.db-wal"]) {
    closeSync(openSync(join(made, name), "a"));
    chmodSync(join(made, name), 0o644);
  }
  chmodSync(made, 0o755);
  const store = await openStore({ dataDir: made });
  await seedUser(store.db);
  expect(modeOf(made)).toBe("755");
  const copy = `tollgate.db.before-${MIGRATIONS.at(-1)?.name}`;
  const files = readdirSync(made);
  expect(files).toEqual(expect.arrayContaining(["tollgate.db", "tollgate.db-wal", copy, "tollgate.lock"]));
  expect(files.map((name) => modeOf(join(made, name)))).toEqual(files.map(() => "600"));
  await store.close();
});
