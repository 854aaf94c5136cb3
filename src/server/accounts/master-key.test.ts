// The file of the master key: readable by its owner alone, written atomically (requirements K02).
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import fs, { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MIGRATIONS } from "#server/store/migrations/list.ts";
import { createTestDatabase, engines, newUser, seedUser } from "#test/worlds/stores.ts";
import { MasterKeyError, openDataKey, readMasterKey, unlockSecrets, writeKeyFile } from "./master-key.ts";

const KEY = "a master key of the test, 32 characters or more";

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tollgate-key-"));
  file = join(dir, "master.key");
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  rmSync(dir, { recursive: true, force: true });
});

const write = () => writeKeyFile(file, Buffer.from(KEY));

test("a key file is written whole or not at all, and replaces none", async () => {
  // Handles have no other name.
  const handle = await open(join(dir, "any"), "w");
  await handle.close();
  const seen: boolean[] = [];
  const broken = vi.spyOn(Object.getPrototypeOf(handle), "writeFile").mockImplementation(() => {
    seen.push(existsSync(file));
    return Promise.reject(new Error("killed"));
  });
  await expect(write()).rejects.toThrow("killed");
  expect([seen, readdirSync(dir)]).toEqual([[false], ["any"]]);
  broken.mockRestore();
  await write();
  expect(readFileSync(file, "utf8")).toBe(`${KEY}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await expect(writeKeyFile(file, Buffer.from("another"))).rejects.toMatchObject({ code: "EEXIST" });
  expect(readFileSync(file, "utf8")).toBe(`${KEY}\n`);
  expect(readdirSync(dir)).toEqual(["any", "master.key"]);
});

test("it is written on a file system without links, too", async () => {
  vi.spyOn(fs, "link").mockRejectedValue(Object.assign(new Error("no links"), { code: "EPERM" }));
  syncBuiltinESMExports();
  await write();
  await expect(writeKeyFile(file, Buffer.from("another"))).rejects.toThrow("no links");
  expect(readFileSync(file, "utf8")).toBe(`${KEY}\n`);
  expect(readdirSync(dir)).toEqual(["master.key"]);
});

test("a key file that others could read is made private, with a warning", async () => {
  await write();
  const words: string[] = [];
  const read = () => readMasterKey({ dataDir: dir, masterKey: undefined }, (said) => words.push(said));
  expect((await read()).bytes.toString()).toBe(KEY);
  expect(words).toEqual([]);
  for (const mode of [0o644, 0o640, 0o660]) {
    chmodSync(file, mode);
    expect((await read()).bytes.toString()).toBe(KEY);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  expect(words).toHaveLength(3);
  expect(words[0]).toContain(`${file} was not for its owner alone`);
});

test.each(engines)(
  "a database with users but without its data key is refused on %s: a new key would open nothing",
  async (engine) => {
    const database = await createTestDatabase(engine);
    try {
      const { db, close } = await database.open();
      const key = { bytes: Buffer.from(KEY), file: undefined, isNew: false };
      await unlockSecrets(db, key);
      await seedUser(db, {});
      await unlockSecrets(db, key);
      await db.deleteFrom("options").where("key", "=", "DataKey").execute();
      for (const look of [unlockSecrets, openDataKey])
        await expect(look(db, key)).rejects.toThrow("no data key");
      expect(await db.selectFrom("options").selectAll().execute()).toEqual([]);
      await close();
    } finally {
      await database.drop();
    }
  },
);

test.each(engines)(
  "a database of any earlier schema opens with its key and none else on %s",
  async (engine) => {
    const master = { bytes: Buffer.from(KEY), file: undefined, isNew: false };
    const other = { ...master, bytes: Buffer.from(KEY.toUpperCase()) };
    const steps = [1, 10, MIGRATIONS.length - 1];
    for (const count of steps) {
      const database = await createTestDatabase(engine, "nothing");
      try {
        const before = await database.open({ migrations: MIGRATIONS.slice(0, count) });
        await unlockSecrets(before.db, master);
        await before.db.insertInto("users").values(newUser()).execute();
        await before.close();
        const refused = database.open({ beforeMigration: (db) => openDataKey(db, other) });
        await expect(refused).rejects.toThrow(MasterKeyError);
        let dataKey: Uint8Array | undefined;
        const now = await database.open({
          beforeMigration: async (db) => {
            dataKey = await openDataKey(db, master);
          },
        });
        expect(dataKey).toBeDefined();
        await now.close();
      } finally {
        await database.drop();
      }
    }
  },
);
