// Where SQLite keeps entries of the log until they are sorted in among the others; see docs/decisions/017. PostgreSQL needs no
// such place.
import type { Migration } from "./migration.ts";

export const recentLogs: Migration = {
  name: "0006-recent-logs",
  sqlite: [
    `CREATE TABLE recent_logs (
      id integer PRIMARY KEY,
      user_id integer NOT NULL,
      created_at integer NOT NULL,
      type integer NOT NULL,
      content text NOT NULL,
      username text NOT NULL,
      token_id integer NOT NULL,
      token_name text NOT NULL,
      model_name text NOT NULL,
      quota integer NOT NULL,
      prompt_tokens integer NOT NULL,
      completion_tokens integer NOT NULL,
      cached_tokens integer NOT NULL,
      channel_id integer NOT NULL,
      request_id text NOT NULL,
      elapsed_time integer NOT NULL,
      first_byte_time integer NOT NULL,
      is_stream integer NOT NULL,
      estimated integer NOT NULL
    ) STRICT`,
  ],
  postgres: [],
};
