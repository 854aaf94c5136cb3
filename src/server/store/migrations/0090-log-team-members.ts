// A team's log by member: a user may call in several teams, and the calls in one are found without passing over those in the others. Building the
// index reads the whole log, some seconds at ten million rows; on PostgreSQL a job does it beside the calls (log-indexes.ts).
import type { Migration } from "./migration.ts";

export const logTeamMembers: Migration = {
  name: "0090-log-team-members",
  sqlite: [
    `CREATE INDEX logs_user_member ON logs (user_id, member_id, id, created_at, type, channel_id, model_name)
      WHERE member_id > 0`,
    "DROP INDEX logs_member",
  ],
  postgres: [],
};
