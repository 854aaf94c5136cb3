// Indexes on PostgreSQL that are built while calls go on: a migration that did so would hold up every call (requirements U04). Queries work with
// and without them.
import { sql } from "kysely";
import type { Db } from "./db.ts";
import type { Tables } from "./tables.ts";

export interface LateIndex {
  readonly name: string;
  readonly table: keyof Tables | "coord_marks";
  /** Columns and expressions, as SQL. */
  readonly of: readonly string[];
  /** What of the table is in it, as SQL; absent = all. */
  readonly where?: string;
}

/**
 * Builds those that are missing, or were left half built by a process that died. Returns their names. `patient` = connections without a
 * limit on the time of a statement.
 */
export async function buildIndexes(patient: Db, indexes: readonly LateIndex[]): Promise<string[]> {
  const built: string[] = [];
  for (const index of indexes) {
    if (await isBuilt(patient, index)) continue;
    await dropIndex(patient, index.name);
    await build(patient, index);
    built.push(index.name);
  }
  return built;
}

async function isBuilt(db: Db, { name }: LateIndex): Promise<boolean> {
  const { rows } = await sql<{ indisvalid: boolean }>`
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${name})`.execute(db);
  return rows[0]?.indisvalid === true;
}

/** Drops one that is there beside the calls. */
export async function dropIndex(patient: Db, name: string): Promise<void> {
  await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(name)}`.execute(patient);
}

async function build(db: Db, { name, table, of, where }: LateIndex): Promise<void> {
  const some = where === undefined ? sql`` : sql`WHERE ${sql.raw(where)}`;
  await sql`CREATE INDEX CONCURRENTLY ${sql.id(name)} ON ${sql.table(table)} (${sql.raw(of.join(", "))}) ${some}`.execute(
    db,
  );
}
