// A team's log by member and by project: among millions of its calls those of one are found along an index, which only calls of teams are in.
// Building it reads the whole log, some seconds at ten million rows; on PostgreSQL a job does it beside the calls (log-indexes.ts).
import type { Migration } from "./migration.ts";

function indexOf(name: string, column: string): string {
  return `CREATE INDEX ${name} ON logs (${column}, id, created_at, type, user_id, channel_id, model_name) WHERE ${column} > 0`;
}

export const logMembers: Migration = {
  name: "0072-log-members",
  sqlite: [indexOf("logs_member", "member_id"), indexOf("logs_project", "project_id")],
  postgres: [],
};
