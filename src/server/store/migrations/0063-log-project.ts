// The project of a team that a call belongs to, so that its log is read by project (requirements I68). Entries from before are of none.
import type { Migration } from "./migration.ts";

function statement(int: string): string {
  return `ALTER TABLE logs ADD COLUMN project_id ${int} NOT NULL DEFAULT 0`;
}

export const logProject: Migration = {
  name: "0063-log-project",
  sqlite: [statement("integer")],
  postgres: [statement("bigint")],
};
