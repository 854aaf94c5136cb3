import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { COLUMNS } from "#test/seeds/columns.ts";
import { createTestDatabase, engines, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";

const CHANGES: Migration = {
  name: "0002-test",
  sqlite: ["CREATE TABLE extra (id integer PRIMARY KEY) STRICT", "INSERT INTO extra (id) VALUES (1)"],
  postgres: ["CREATE TABLE extra (id bigint PRIMARY KEY)", "INSERT INTO extra (id) VALUES (1)"],
};
const NEWER = [...MIGRATIONS, CHANGES];

/** Fails at its last statement. */
const BROKEN: Migration = {
  name: "0002-broken",
  sqlite: [...CHANGES.sqlite, "INSERT INTO no_such_table VALUES (1)"],
  postgres: [...CHANGES.postgres, "INSERT INTO no_such_table VALUES (1)"],
};

describe.each(engines)("migrations on %s", (engine) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase(engine, "nothing");
  });

  afterEach(() => database.drop());

  const extraRows = async () => {
    const store = await database.open({ migrations: NEWER });
    const { rows } = await sql`SELECT id FROM extra`.execute(store.db);
    await store.close();
    return rows;
  };

  test("bring an empty and an older database to the same schema, keeping what is in it", async () => {
    const store = await database.open();
    await seedUser(store.db, { username: "kept" });
    await store.close();
    expect(await extraRows()).toEqual([{ id: 1 }]);
    const newer = await database.open({ migrations: NEWER });
    expect(await newer.db.selectFrom("users").select("username").execute()).toEqual([{ username: "kept" }]);
    await newer.close();
  });

  test("refuse a database that is newer than the program, and leave it as it is", async () => {
    await (await database.open({ migrations: NEWER })).close();
    const known = MIGRATIONS.length;
    await expect(database.open()).rejects.toThrow(
      `schema ${known + 1} (0002-test), this program knows ${known}`,
    );
    expect(await extraRows()).toEqual([{ id: 1 }]);
  });

  test("refuse a migration that was changed after it was applied", async () => {
    await (await database.open({ migrations: NEWER })).close();
    const changed = { ...CHANGES, [engine]: [...CHANGES[engine], "SELECT 1"] };
    await expect(database.open({ migrations: [...MIGRATIONS, changed] })).rejects.toThrow(
      "0002-test is not the one",
    );
    const renamed = { ...CHANGES, name: "0002-other" };
    await expect(database.open({ migrations: [...MIGRATIONS, renamed] })).rejects.toThrow(
      "0002-test is not the one",
    );
  });

  test("undo one that fails as a whole, and run it when it is put right", async () => {
    await expect(database.open({ migrations: [...MIGRATIONS, BROKEN] })).rejects.toThrow("no_such_table");
    expect(await extraRows()).toEqual([{ id: 1 }]);
  });

  test("create every table and column that the code names", async () => {
    const store = await database.open();
    for (const [table, columns] of Object.entries(COLUMNS)) {
      const { rows } = await sql<{ name: string }>`${
        engine === "sqlite"
          ? sql`SELECT name FROM pragma_table_info(${table})`
          : sql`SELECT column_name AS name FROM information_schema.columns WHERE table_name = ${table}`
      }`.execute(store.db);
      expect(rows.map((row) => row.name).toSorted(), table).toEqual(Object.keys(columns).toSorted());
    }
    await store.close();
  });
});

test("several nodes that start at once on PostgreSQL migrate once", async () => {
  const database = await createTestDatabase("postgres", "nothing");
  const stores = await Promise.all(Array.from({ length: 5 }, () => database.open({ migrations: NEWER })));
  const { rows } = await sql`SELECT version FROM schema_migrations`.execute(stores[0]?.db ?? expect.fail());
  expect(rows).toHaveLength(NEWER.length);
  await Promise.all(stores.map((store) => store.close()));
  await database.drop();
});

test("a migration of PostgreSQL does not make others wait while a transaction reads what it changes", async () => {
  const database = await createTestDatabase("postgres", "nothing");
  const store = await database.open();
  const widened: Migration = {
    name: "0002-wide",
    sqlite: [],
    postgres: ["ALTER TABLE users ADD COLUMN wide text"],
  };
  let opening: ReturnType<TestDatabase["open"]> | undefined;
  await store.db.transaction().execute(async (reading) => {
    await sql`SELECT count(*) FROM users`.execute(reading);
    opening = database.open({ migrations: [...MIGRATIONS, widened] });
    const wants = sql<{ n: number }>`SELECT count(*) AS n FROM pg_locks JOIN pg_database ON oid = database
      WHERE datname = current_database() AND mode = 'AccessExclusiveLock' AND NOT granted`;
    await expect.poll(async () => (await wants.execute(store.db)).rows[0]?.n).toBe(1);
    // Behind the one who wants the table for himself.
    await sql`SELECT count(*) FROM users`.execute(store.db);
  });
  const wide = await opening;
  await sql`SELECT wide FROM users`.execute(wide?.db ?? expect.fail());
  await Promise.all([store.close(), wide?.close()]);
  await database.drop();
});

test("a migration of a large SQLite database takes as long as it takes", async () => {
  const database = await createTestDatabase("sqlite", "nothing");
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    let isOpen = false;
    const end = () => {
      isOpen = true;
    };
    const opening = database.open();
    opening.then(end, end);
    // Each statement takes longer than any transaction may at other times.
    while (!isOpen) await vi.advanceTimersByTimeAsync(60_000);
    await (await opening).close();
  } finally {
    vi.useRealTimers();
    await database.drop();
  }
});

test("a SQLite database is copied before its schema changes, but not when it is new", async () => {
  const database = await createTestDatabase("sqlite", "nothing");
  const { dataDir } = database.options;
  const copies = () => readdirSync(dataDir).filter((name) => name.includes("before"));
  const store = await database.open();
  await seedUser(store.db, { username: "kept" });
  await store.close();
  expect(copies()).toEqual([]);
  await expect(database.open({ migrations: [...MIGRATIONS, BROKEN] })).rejects.toThrow();
  await (await database.open({ migrations: NEWER })).close();
  await (await database.open({ migrations: NEWER })).close();
  expect(copies().toSorted()).toEqual(["tollgate.db.before-0002-broken", "tollgate.db.before-0002-test"]);
  const copy = new DatabaseSync(join(dataDir, "tollgate.db.before-0002-test"), { readOnly: true });
  expect(copy.prepare("SELECT username FROM users").all()).toEqual([{ username: "kept" }]);
  expect(copy.prepare("SELECT count(*) AS n FROM schema_migrations").get()).toEqual({
    n: MIGRATIONS.length,
  });
  copy.close();
  // The copy is a database to go back to.
  rmSync(join(dataDir, "tollgate.db"));
  expect(readFileSync(join(dataDir, "tollgate.db.before-0002-test")).length).toBeGreaterThan(0);
  await database.drop();
});

test("a copy before a migration that cannot be made whole leaves nothing that looks like one, and no change", async () => {
  const database = await createTestDatabase("sqlite", "nothing");
  const { dataDir } = database.options;
  const file = join(dataDir, "tollgate.db");
  const store = await database.open();
  for (let id = 1; id <= 50; id += 1) await seedUser(store.db, { display_name: "x".repeat(4_000) });
  await store.close();
  const whole = readFileSync(file);
  const PAGE = 4_096;
  writeFileSync(file, Buffer.from(whole).fill(0xa5, whole.length - 20 * PAGE, whole.length - 2 * PAGE));
  await expect(database.open({ migrations: NEWER })).rejects.toThrow(
    /cannot be copied to .*before-0002-test, and is not changed without a copy: .*malformed/,
  );
  expect(readdirSync(dataDir).filter((name) => name.includes("before"))).toEqual([]);
  writeFileSync(file, whole);
  // One that a killed start left half made does not hinder the next start.
  writeFileSync(`${file}.before-0002-test.partial`, "half");
  await (await database.open({ migrations: NEWER })).close();
  expect(readdirSync(dataDir).filter((name) => name.includes("before"))).toEqual([
    "tollgate.db.before-0002-test",
  ]);
  await database.drop();
});
