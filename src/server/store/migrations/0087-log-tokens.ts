// The log by token: its calls are those of an account by a name, which many accounts give (requirements K14), so that a tag of fifty tokens is read
// along one index. That of names alone needs no accounts any more, and SQLite, which has no statistics, would take it for as good. Building them
// reads the whole log, some seconds each at ten million rows; on PostgreSQL a job does it beside the calls (log-indexes.ts).
import type { Migration } from "./migration.ts";

export const logTokens: Migration = {
  name: "0087-log-tokens",
  sqlite: [
    "CREATE INDEX logs_user_token ON logs (user_id, token_name, id, created_at, type, token_id, channel_id, model_name)",
    "DROP INDEX logs_token_name",
    "CREATE INDEX logs_token_name ON logs (token_name, id, created_at, type)",
  ],
  postgres: [],
};
