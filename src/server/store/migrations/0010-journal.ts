// Where SQLite keeps what groups of calls have booked until it is carried over to the tables; see docs/decisions/025. It takes the
// place of 0006: entries that wait there are brought among the others, with their spans and sums. PostgreSQL needs no such place.
import type { Migration } from "./migration.ts";

const ENTRY = `user_id, created_at, type, content, username, token_id, token_name, model_name, quota, prompt_tokens,
  completion_tokens, cached_tokens, channel_id, request_id, elapsed_time, first_byte_time, is_stream, estimated, trail`;

const HOUR = "created_at - created_at % 3600";
const SUMS =
  "sum(quota), sum(prompt_tokens), sum(completion_tokens), count(*) FROM recent_logs WHERE type = 2";

function add(table: string): string {
  const names = ["quota", "prompt_tokens", "completion_tokens", "requests"];
  return `DO UPDATE SET ${names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(", ")}`;
}

const ALONG: readonly (readonly [dimension: string, key: string])[] = [
  ["all", "''"],
  ["user", "CAST(user_id AS text)"],
  ["token", "token_name"],
  ["model", "model_name"],
  ["channel", "CAST(channel_id AS text)"],
  ["model-channel", "model_name || char(10) || channel_id"],
];

export const journal: Migration = {
  name: "0010-journal",
  sqlite: [
    "CREATE TABLE journal (id integer PRIMARY KEY, form integer NOT NULL, batch text NOT NULL) STRICT",
    `INSERT INTO logs (${ENTRY}) SELECT ${ENTRY} FROM recent_logs ORDER BY id`,
    `INSERT INTO log_spans (span, first_id, last_id)
      SELECT created_at - created_at % 600, min(id), max(id) FROM logs
      WHERE id > (SELECT max(id) FROM logs) - (SELECT count(*) FROM recent_logs) GROUP BY 1
      ON CONFLICT (span) DO UPDATE SET
        first_id = min(first_id, excluded.first_id), last_id = max(last_id, excluded.last_id)`,
    ...ALONG.map(
      ([
        dimension,
        key,
      ]) => `INSERT INTO log_sums SELECT '${dimension}', ${key}, ${HOUR}, ${SUMS} GROUP BY 2, 3
        ON CONFLICT (dimension, key, hour) ${add("log_sums")}`,
    ),
    `INSERT INTO log_rollups SELECT user_id, ${HOUR}, token_name, model_name, channel_id, ${SUMS} GROUP BY 1, 2, 3, 4, 5
      ON CONFLICT (user_id, hour, token_name, model_name, channel_id) ${add("log_rollups")}`,
    "DROP TABLE recent_logs",
  ],
  postgres: [],
};
