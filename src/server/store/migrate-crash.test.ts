// Migrations that are interrupted: whatever the moment, the database is as before or as after, and ends with the same schema
// as one that never was (requirements U01).
import { spawn } from "node:child_process";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { compileCache } from "#test/worlds/process.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createTestDatabase, type Engine, engines, type TestDatabase } from "#test/worlds/stores.ts";
import type { Db } from "./db.ts";
import { MIGRATIONS } from "./migrations/list.ts";

const ROOT = join(import.meta.dirname, "../../..");

/**
 * Everything a schema is made of, as sorted text: tables, columns, indexes, triggers, constraints, applied migrations. What SQLite notes
 * for its planner when a database is closed is no part of it.
 */
async function schemaOf(database: TestDatabase, applied: number): Promise<string[]> {
  const store = await database.open({ migrations: MIGRATIONS.slice(0, applied) });
  try {
    return store.dialect === "sqlite" ? await sqliteSchema(store.db) : await postgresSchema(store.db);
  } finally {
    await store.close();
  }
}

async function sqliteSchema(db: Db): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS text FROM sqlite_master
      WHERE name NOT LIKE 'sqlite_stat%'
    UNION ALL SELECT 'applied ' || name || ' ' || checksum FROM schema_migrations ORDER BY 1`.execute(db);
  return rows.map(({ text }) => text);
}

async function postgresSchema(db: Db): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    SELECT concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, column_default) AS text
      FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = current_schema()::regnamespace
    UNION ALL SELECT 'applied ' || name || ' ' || checksum FROM schema_migrations ORDER BY 1`.execute(db);
  return rows.map(({ text }) => text);
}

/** Lets a process migrate until it dies before a statement. */
function killAt(database: TestDatabase, index: number, at: number): Promise<NodeJS.Signals | null> {
  const order = JSON.stringify({ options: database.options, index, at });
  const child = spawn(process.execPath, ["test/worlds/migrate-victim.ts", order], {
    cwd: ROOT,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    stdio: "inherit",
  });
  return new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
}

/** The migrations that a run looks at, by index: the newest, and some of the earlier ones; all of them in a soak. */
const SOME = [...MIGRATIONS.keys()].filter(
  (index) => index >= MIGRATIONS.length - 8 || index % rounds(8, 1) === 0,
);

test.concurrent.each(engines)(
  "from earlier schemas to the newest on %s: as if it had been made today",
  async (engine) => {
    const fresh = await createTestDatabase(engine, "nothing");
    const newest = await schemaOf(fresh, MIGRATIONS.length);
    await fresh.drop();
    for (const earlier of SOME) {
      if (earlier === 0) continue;
      const database = await createTestDatabase(engine, "nothing");
      expect(await schemaOf(database, earlier)).not.toEqual(newest);
      expect(await schemaOf(database, MIGRATIONS.length)).toEqual(newest);
      await database.drop();
    }
  },
  // One database for each schema that there ever was, while processes are killed beside it; ends what hangs.
  1_200_000,
);

/** Statements between two kills; each takes a process, and PostgreSQL's rollback is one and the same for all. */
const STEP: Readonly<Record<Engine, number>> = { sqlite: rounds(12, 1), postgres: rounds(24, 4) };

test.concurrent.each(engines)(
  "killed between statements on %s: nothing of the migration stays, and it runs again",
  async (engine) => {
    const database = await createTestDatabase(engine, "nothing");
    for (const index of SOME) {
      const before = index === 0 ? [] : await schemaOf(database, index);
      const last = MIGRATIONS[index]?.[engine].length ?? 0;
      for (let at = 1; at <= last + STEP[engine] - 1; at += STEP[engine]) {
        expect(await killAt(database, index, Math.min(at, last))).toBe("SIGKILL");
        if (index > 0) expect(await schemaOf(database, index)).toEqual(before);
      }
    }
    const fresh = await createTestDatabase(engine, "nothing");
    expect(await schemaOf(database, MIGRATIONS.length)).toEqual(await schemaOf(fresh, MIGRATIONS.length));
    await database.drop();
    await fresh.drop();
  },
  1_200_000,
);
