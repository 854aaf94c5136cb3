// The indexes of the log on PostgreSQL, one for each way of looking; each has the columns of other filters too, so that entries are counted
// without reading them (decision 015). They are built while calls go on: a migration that did so would hold up every call (requirements U04).
// Queries work with and without them.
import { sql } from "kysely";
import type { Db } from "./db.ts";
import { DRIVERS } from "./log-filter.ts";

interface LogIndex {
  readonly name: string;
  readonly columns: readonly string[];
  /** What of the log is in it; absent = all. */
  readonly where?: string;
}

/** Columns of the filters that an index covers. */
const COVERED = { userId: "user_id", channelId: "channel_id", modelName: "model_name" } as const;

const INDEXES: readonly LogIndex[] = [
  ...DRIVERS.map(({ column, dimension, covers, isOfTeams }) => ({
    name: `logs_by_${dimension}`,
    columns: [column, "id", "created_at", "type", ...covers.map((field) => COVERED[field])],
    ...(isOfTeams && { where: `${column} > 0` }),
  })),
  {
    name: "logs_by_type",
    columns: ["type", "id", "created_at", "user_id", "channel_id"],
    where: "type <> 2",
  },
];

/** The narrower ones of the first migration, which go when the others are there. */
const REPLACED = ["logs_user", "logs_channel", "logs_model", "logs_token_name", "logs_not_calls"];

/**
 * Builds those that are missing, or were left half built by a process that died. Returns their names. `patient` = connections without a
 * limit on the time of a statement.
 */
export async function buildLogIndexes(patient: Db): Promise<string[]> {
  const built: string[] = [];
  for (const index of INDEXES) {
    if (await isBuilt(patient, index)) continue;
    await drop(patient, index.name);
    await build(patient, index);
    built.push(index.name);
  }
  for (const name of REPLACED) await drop(patient, name);
  return built;
}

async function isBuilt(db: Db, { name }: LogIndex): Promise<boolean> {
  const { rows } = await sql<{ indisvalid: boolean }>`
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${name})`.execute(db);
  return rows[0]?.indisvalid === true;
}

async function drop(db: Db, name: string): Promise<void> {
  await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(name)}`.execute(db);
}

async function build(db: Db, { name, columns, where }: LogIndex): Promise<void> {
  const some = where === undefined ? sql`` : sql`WHERE ${sql.raw(where)}`;
  const list = sql.join(columns.map((column) => sql.id(column)));
  await sql`CREATE INDEX CONCURRENTLY ${sql.id(name)} ON logs (${list}) ${some}`.execute(db);
}
