// What an exchange of the master key leaves in the database and on the disk, step by step (requirements K03). The command as operators
// run it, and killed at any moment: test/e2e/backup.test.ts.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openDataKey, readMasterKey, unlockSecrets } from "#server/accounts/master-key.ts";
import { readConfig } from "#server/config.ts";
import type { Db } from "#server/store/db.ts";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import { rotateMasterKey } from "./rotate-key.ts";

const [FIRST, SECOND, THIRD] = ["first", "second", "third"].map(
  (name) => `the ${name} master key of the test, 32+`,
);

let database: TestDatabase;

afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await database.drop();
});

const configOf = (env: Record<string, string | undefined> = {}) =>
  readConfig({ DATA_DIR: database.options.dataDir, DATABASE_URL: database.options.databaseUrl, ...env });

describe.each(engines)("a master key from the environment, on %s", (engine) => {
  beforeEach(async () => {
    database = await createTestDatabase(engine);
  });

  /** The database is closed again each time: the command opens it on its own. */
  async function using(work: (db: Db) => Promise<void>): Promise<void> {
    const store = await database.open();
    await work(store.db).finally(() => store.close());
  }
  const keyOf = (masterKey: string | undefined) => readMasterKey({ masterKey, dataDir: "" });
  const start = async (db: Db, key: string | undefined) => unlockSecrets(db, await keyOf(key));
  const look = async (db: Db, key: string | undefined) => openDataKey(db, await keyOf(key));
  const rotate = (from: string | undefined, to: string | undefined) =>
    rotateMasterKey(configOf({ MASTER_KEY: from, NEW_MASTER_KEY: to }));

  test("opens the database as long as no process has started with the new one", async () => {
    let dataKey: Uint8Array | undefined;
    await using(async (db) => {
      await start(db, FIRST);
      dataKey = await look(db, FIRST);
    });
    await rotate(FIRST, SECOND);
    await using(async (db) => {
      // A worker that dies now starts again with what its parent has.
      for (let turn = 0; turn < 2; turn += 1) {
        await start(db, FIRST);
        for (const key of [FIRST, SECOND]) expect(await look(db, key)).toEqual(dataKey);
      }
      // All the workers of a node start at once.
      await Promise.all(Array.from({ length: 5 }, () => start(db, SECOND)));
      expect(await look(db, SECOND)).toEqual(dataKey);
      await expect(look(db, FIRST)).rejects.toThrow("is not the key");
    });
  });

  test("can be exchanged for a third before, from either", async () => {
    let dataKey: Uint8Array | undefined;
    await using(async (db) => {
      await start(db, FIRST);
      dataKey = await look(db, FIRST);
    });
    await rotate(FIRST, SECOND);
    await rotate(FIRST, THIRD);
    await rotate(THIRD, SECOND);
    await using(async (db) => {
      await expect(look(db, FIRST)).rejects.toThrow("is not the key");
      expect(await look(db, THIRD)).toEqual(dataKey);
      await start(db, SECOND);
      expect(await look(db, SECOND)).toEqual(dataKey);
      await expect(look(db, THIRD)).rejects.toThrow("is not the key");
    });
  });
});

test("a new key file is on the disk before the old one is gone, and that before the database relies on it", async () => {
  database = await createTestDatabase("sqlite");
  const { dataDir } = database.options;
  const store = await database.open();
  await unlockSecrets(store.db, await readMasterKey(configOf()));
  await store.close();
  const steps: string[] = [];
  const opened = new Map<number, string>();
  const { openSync, fsyncSync, renameSync } = fs;
  vi.spyOn(fs, "openSync").mockImplementation((path, ...rest) => {
    const handle = openSync(path, ...rest);
    opened.set(handle, String(path));
    return handle;
  });
  vi.spyOn(fs, "fsyncSync").mockImplementation((handle) => {
    steps.push(`flush ${opened.get(handle)}`);
    fsyncSync(handle);
  });
  vi.spyOn(fs, "renameSync").mockImplementation((from, to) => {
    steps.push(`rename to ${to}`);
    renameSync(from, to);
  });
  syncBuiltinESMExports();
  await rotateMasterKey(configOf());
  const file = join(dataDir, "master.key");
  expect(steps.slice(-4)).toEqual([
    `flush ${file}.old`,
    `flush ${dataDir}`,
    `rename to ${file}`,
    `flush ${dataDir}`,
  ]);
});

// Only root may act for another user.
test.skipIf(process.getuid?.() !== 0)(
  "by root leaves the new file to the user whose the old one was",
  async () => {
    database = await createTestDatabase("sqlite");
    const file = join(database.options.dataDir, "master.key");
    const store = await database.open();
    await unlockSecrets(store.db, await readMasterKey(configOf()));
    await store.close();
    fs.chownSync(file, 12_345, 12_346);
    await rotateMasterKey(configOf());
    const { uid, gid, mode } = fs.statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([12_345, 12_346, 0o600]);
  },
);

test("one that was killed when the new file was in its place is ended by running it again", async () => {
  database = await createTestDatabase("sqlite");
  const { dataDir } = database.options;
  const store = await database.open();
  await unlockSecrets(store.db, await readMasterKey(configOf()));
  await store.close();
  const { renameSync } = fs;
  const killed = vi.spyOn(fs, "renameSync").mockImplementation((from, to) => {
    renameSync(from, to);
    if (String(to).endsWith("master.key")) throw new Error("killed");
  });
  syncBuiltinESMExports();
  await expect(rotateMasterKey(configOf())).rejects.toThrow("killed");
  killed.mockRestore();
  syncBuiltinESMExports();
  expect(await rotateMasterKey(configOf())).toContain("is new");
  const after = await database.open();
  const old = await readMasterKey({
    masterKey: fs.readFileSync(join(dataDir, "master.key.old"), "utf8").trim(),
    dataDir,
  });
  await expect(openDataKey(after.db, old)).rejects.toThrow("is not the key");
  await after.close();
  // There is nothing left to end.
  await expect(rotateMasterKey(configOf())).rejects.toThrow("put it away");
});
