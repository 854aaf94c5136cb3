// Indexes of the log that are built while calls go on: on PostgreSQL a migration that did so would hold up every call (requirements U04).
// Queries work with and without them.
import { sql } from "kysely";
import type { Db } from "./db.ts";

/** As migration 0072 builds them on SQLite. */
const INDEXES = [
  { name: "logs_member", column: "member_id" },
  { name: "logs_project", column: "project_id" },
] as const;

/** Builds those that are missing, or were left half built by a process that died. Returns their names. For PostgreSQL's patient connections. */
export async function buildLogIndexes(patient: Db): Promise<string[]> {
  const built: string[] = [];
  for (const { name, column } of INDEXES) {
    const { rows } = await sql<{ indisvalid: boolean }>`
      SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${name})`.execute(patient);
    if (rows[0]?.indisvalid === true) continue;
    await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(name)}`.execute(patient);
    await sql`CREATE INDEX CONCURRENTLY ${sql.id(name)} ON logs (${sql.id(column)}, id)
      WHERE ${sql.id(column)} > 0`.execute(patient);
    built.push(name);
  }
  return built;
}
