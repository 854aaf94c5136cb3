// Brings a database to the newest schema: numbered list, one transaction each, under a lock, never backwards.
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql, type Transaction } from "kysely";
import { sha256Hex } from "#server/secrets.ts";
import { faultKind, StoreError } from "./fault.ts";
import { flush, flushNames, makePrivate } from "./files.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";
import type { Tables } from "./tables.ts";

/** Key of the advisory lock that migrations take on PostgreSQL; any constant that no other lock has. */
const LOCK_KEY = 7_260_551_204;
/**
 * On PostgreSQL a transaction that wants a table for itself makes all wait that come after it, also while it waits for one that reads it.
 * So a migration waits for a moment only, lets the others pass, and tries again (requirements U04).
 */
const LOCK_WAIT_MS = 1_000;
const LOCK_PAUSE_MS = 2_000;
const LOCK_TRIES = 100;

export interface MigrateOptions {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  /** Only SQLite: where the copy before a migration goes. */
  readonly backupFile?: string | undefined;
  readonly migrations?: readonly Migration[] | undefined;
  /** Looks at a database that has data before anything of it is touched, copied included; what it throws ends the start. */
  readonly beforeMigration?: ((db: Kysely<Tables>) => Promise<unknown>) | undefined;
}

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/** The statements of a migration as one number: what was applied must stay what is in the list. */
export function checksum(migration: Migration, dialect: "sqlite" | "postgres"): string {
  return sha256Hex(migration[dialect].join(";\n"));
}

/**
 * Applies what is missing. Several processes may do this at once: one works, the others wait (requirements U01, U02).
 * Throws: StoreError when the database is newer than this program or an applied migration has changed since (requirements U03).
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const migrations = options.migrations ?? MIGRATIONS;
  // Reads without taking locks, and refuses before anything is touched.
  const { length } = await readApplied(options.db, options.dialect, migrations);
  if (length === migrations.length) return;
  if (length > 0) {
    await options.beforeMigration?.(options.db);
    await backUp(options, migrations[length]?.name);
  }
  for (let more = true, tries = 1; more; ) {
    try {
      more = await options.db.transaction().execute((tx) => applyNext(tx, options.dialect, migrations));
    } catch (error) {
      if (options.dialect === "sqlite" || faultKind(error) !== "busy" || tries === LOCK_TRIES) throw error;
      tries += 1;
      await sleep(LOCK_PAUSE_MS);
    }
  }
}

/** What was applied. Throws: StoreError when this program does not know it, or as something else. */
async function readApplied(
  db: Kysely<Tables>,
  dialect: "sqlite" | "postgres",
  migrations: readonly Migration[],
): Promise<readonly Applied[]> {
  const exists =
    dialect === "sqlite"
      ? sql<{ n: number }>`SELECT count(*) AS n FROM sqlite_master WHERE name = 'schema_migrations'`
      : sql<{ n: number }>`SELECT count(*) AS n FROM pg_tables
          WHERE tablename = 'schema_migrations' AND schemaname = current_schema()`;
  const { rows } = await exists.execute(db);
  if (rows[0]?.n !== 1) return [];
  const applied =
    await sql<Applied>`SELECT version, name, checksum FROM schema_migrations ORDER BY version`.execute(db);
  assertKnown(applied.rows, migrations, dialect);
  return applied.rows;
}

function assertKnown(
  applied: readonly Applied[],
  migrations: readonly Migration[],
  dialect: "sqlite" | "postgres",
): void {
  for (const row of applied) {
    const known = migrations[row.version - 1];
    if (!known) {
      throw new StoreError(
        "other",
        `the database has schema ${row.version} (${row.name}), this program knows ${migrations.length}: ` +
          "start the newer program, or restore the copy made before the upgrade",
      );
    }
    if (known.name !== row.name || checksum(known, dialect) !== row.checksum) {
      throw new StoreError("other", `migration ${row.name} is not the one this database was made with`);
    }
  }
}

/** Copies a SQLite database before its first change of schema, for its owner alone; it gets its name when it is whole. */
async function backUp({ db, backupFile }: MigrateOptions, next = "unknown"): Promise<void> {
  if (backupFile === undefined) return;
  const file = `${backupFile}.before-${next}`;
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    makePrivate(partial);
    await sql`VACUUM INTO ${partial}`.execute(db);
    flush(partial);
    // One left by a start that failed later holds the same data as this one.
    renameSync(partial, file);
    flushNames(dirname(file));
  } catch (error) {
    rmSync(partial, { force: true });
    if (!(error instanceof StoreError)) throw error;
    // What is full has space again by now: it must be told what wanted it.
    const what = `the database cannot be copied to ${file}, and is not changed without a copy`;
    throw new StoreError(error.kind, `${what}: ${error.message}`, error);
  }
}

/** Applies one migration inside the caller's transaction. Returns whether there may be more. */
async function applyNext(
  tx: Transaction<Tables>,
  dialect: "sqlite" | "postgres",
  migrations: readonly Migration[],
): Promise<boolean> {
  // On SQLite the transaction itself is the lock: the writer begins it IMMEDIATE.
  if (dialect === "postgres") {
    await sql`SET LOCAL lock_timeout = 0`.execute(tx);
    await sql`SET LOCAL statement_timeout = 0`.execute(tx);
    await sql`SELECT pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx);
  }
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations
    (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL)`.execute(tx);
  const applied = await readApplied(tx, dialect, migrations);
  const next = migrations[applied.length];
  if (!next) return false;
  if (dialect === "postgres") await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_WAIT_MS)}`.execute(tx);
  for (const statement of next[dialect]) await sql.raw(statement).execute(tx);
  await sql`INSERT INTO schema_migrations (version, name, checksum)
    VALUES (${applied.length + 1}, ${next.name}, ${checksum(next, dialect)})`.execute(tx);
  return applied.length + 1 < migrations.length;
}
