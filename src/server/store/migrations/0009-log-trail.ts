// Which channels failed before one answered: a column of the log, and of the place where SQLite keeps its newest entries
// (docs/decisions/023). The default is for the entries that are there and for nodes that still run the program before this one.
import type { Migration } from "./migration.ts";

const COLUMN = "ADD COLUMN trail text NOT NULL DEFAULT ''";

export const logTrail: Migration = {
  name: "0009-log-trail",
  sqlite: [`ALTER TABLE logs ${COLUMN}`, `ALTER TABLE recent_logs ${COLUMN}`],
  postgres: [`ALTER TABLE logs ${COLUMN}`],
};
