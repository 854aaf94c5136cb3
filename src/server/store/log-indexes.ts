// The indexes of the log on PostgreSQL, one for each way of looking; each has the columns of other filters too, so that entries are counted
// without reading them (decision 015).
import type { Db } from "./db.ts";
import { buildIndexes, dropIndex, type LateIndex } from "./late-indexes.ts";
import { DRIVERS, type Driver, FILTER_COLUMNS } from "./log-filter.ts";

const columnsOf = (fields: Driver["fields"]) => fields.map((field) => FILTER_COLUMNS[field]);

const INDEXES: readonly LateIndex[] = [
  ...DRIVERS.map(({ name, fields, covers, ofTeams }) => ({
    name: `logs_by_${name}`,
    table: "logs" as const,
    of: [...columnsOf(fields), "id", "created_at", "type", ...columnsOf(covers)],
    ...(ofTeams && { where: `${FILTER_COLUMNS[ofTeams]} > 0` }),
  })),
  // Whose a token's name is, in the sums by hour.
  { name: "log_rollups_by_token", table: "log_rollups", of: ["token_name", "user_id"] },
  {
    name: "logs_by_type",
    table: "logs",
    of: ["type", "id", "created_at", "user_id", "channel_id"],
    where: "type <> 2",
  },
];

/** Narrower ones of earlier programs, which go when the others are there. */
const REPLACED = [
  "logs_user",
  "logs_channel",
  "logs_model",
  "logs_token_name",
  "logs_not_calls",
  "log_rollups_token",
  "logs_by_member",
];

/** Builds those that are missing. Returns their names. `patient` = connections without a limit on the time of a statement. */
export async function buildLogIndexes(patient: Db): Promise<string[]> {
  const built = await buildIndexes(patient, INDEXES);
  for (const name of REPLACED) await dropIndex(patient, name);
  return built;
}
