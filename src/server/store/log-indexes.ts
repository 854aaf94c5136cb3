// The indexes of the log on PostgreSQL, one for each way of looking; each has the columns of other filters too, so that entries are counted
// without reading them (decision 015). They are built while calls go on: a migration that did so would hold up every call (requirements U04).
// Queries work with and without them.
import { sql } from "kysely";
import type { Db } from "./db.ts";

interface LogIndex {
  readonly name: string;
  readonly columns: readonly string[];
  /** What of the log is in it; absent = all. */
  readonly where?: string;
  /** The narrower one of the first migration, which goes. */
  readonly replaces?: string;
}

const AT = ["id", "created_at", "type"];

const INDEXES: readonly LogIndex[] = [
  { name: "logs_by_user", columns: ["user_id", ...AT, "channel_id", "model_name"], replaces: "logs_user" },
  {
    name: "logs_by_channel",
    columns: ["channel_id", ...AT, "user_id", "model_name"],
    replaces: "logs_channel",
  },
  { name: "logs_by_model", columns: ["model_name", ...AT, "user_id", "channel_id"], replaces: "logs_model" },
  { name: "logs_by_token", columns: ["token_name", ...AT, "user_id"], replaces: "logs_token_name" },
  {
    name: "logs_by_member",
    columns: ["member_id", ...AT, "user_id", "channel_id", "model_name"],
    where: "member_id > 0",
  },
  {
    name: "logs_by_project",
    columns: ["project_id", ...AT, "user_id", "channel_id", "model_name"],
    where: "project_id > 0",
  },
  {
    name: "logs_by_type",
    columns: ["type", "id", "created_at", "user_id", "channel_id"],
    where: "type <> 2",
    replaces: "logs_not_calls",
  },
];

/**
 * Builds those that are missing, or were left half built by a process that died. Returns their names. `patient` = connections without a
 * limit on the time of a statement.
 */
export async function buildLogIndexes(patient: Db): Promise<string[]> {
  const built: string[] = [];
  for (const index of INDEXES) {
    if (await isBuilt(patient, index)) continue;
    await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(index.name)}`.execute(patient);
    await build(patient, index);
    if (index.replaces !== undefined)
      await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(index.replaces)}`.execute(patient);
    built.push(index.name);
  }
  return built;
}

async function isBuilt(db: Db, { name }: LogIndex): Promise<boolean> {
  const { rows } = await sql<{ indisvalid: boolean }>`
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${name})`.execute(db);
  return rows[0]?.indisvalid === true;
}

async function build(db: Db, { name, columns, where }: LogIndex): Promise<void> {
  const some = where === undefined ? sql`` : sql`WHERE ${sql.raw(where)}`;
  const list = sql.join(columns.map((column) => sql.id(column)));
  await sql`CREATE INDEX CONCURRENTLY ${sql.id(name)} ON logs (${list}) ${some}`.execute(db);
}
