// The trail of administrators' acts, the sums from which the books are checked every minute, and indexes for a large log.
import type { Migration } from "./migration.ts";

function tables(type: { int: string; strict: string; bare: string }): string[] {
  const { int, strict, bare } = type;
  return [
    // Ids are given by audit_head, without gaps: a row that is missing shows.
    `CREATE TABLE audit (
      id ${int} PRIMARY KEY,
      created_at ${int} NOT NULL,
      actor_id ${int} NOT NULL,
      actor_name text NOT NULL,
      action text NOT NULL,
      target text NOT NULL,
      detail text NOT NULL,
      address text NOT NULL,
      request_id text NOT NULL,
      previous_hash text NOT NULL,
      hash text NOT NULL
    )${strict}`,
    `CREATE TABLE audit_head (
      one ${int} PRIMARY KEY CHECK (one = 1),
      last_id ${int} NOT NULL,
      last_hash text NOT NULL
    )${strict}`,
    "INSERT INTO audit_head (one, last_id, last_hash) VALUES (1, 0, '')",
    "CREATE INDEX audit_actor ON audit (actor_id, id)",
    "CREATE INDEX audit_action ON audit (action, id)",
    `CREATE TABLE ledger_sums (
      scope text NOT NULL,
      id ${int} NOT NULL,
      credit ${int} NOT NULL,
      spent ${int} NOT NULL,
      calls ${int} NOT NULL,
      PRIMARY KEY (scope, id)
    )${bare}`,
    `CREATE TABLE ledger_sums_head (
      one ${int} PRIMARY KEY CHECK (one = 1),
      last_id ${int} NOT NULL
    )${strict}`,
    "INSERT INTO ledger_sums_head (one, last_id) VALUES (1, 0)",
    // Statistics by model and channel, and by token without a user, would else read every sum there is.
    `INSERT INTO log_sums (dimension, key, hour, quota, prompt_tokens, completion_tokens, requests)
      SELECT 'model-channel', model_name || '\n' || channel_id, hour, sum(quota), sum(prompt_tokens),
        sum(completion_tokens), sum(requests)
      FROM log_rollups GROUP BY model_name, channel_id, hour`,
    "CREATE INDEX log_rollups_token ON log_rollups (token_name)",
    // Entries of the partner plan among millions of calls, for the checker.
    "CREATE INDEX ledger_yuan ON ledger (user_id) WHERE yuan_micro <> 0",
  ];
}

/**
 * SQLite walks one index per list of the log. Each holds columns of other filters, so that rows that do not match are passed
 * over without being read: ten million rows stay within the budget of a page. Texts are dear, so not every index has them all;
 * log-filter.ts knows which.
 */
const COVERING_INDEXES = [
  ["logs_user", "user_id, id, created_at, type, channel_id, model_name"],
  ["logs_channel", "channel_id, id, created_at, type, user_id, model_name"],
  ["logs_model", "model_name, id, created_at, type, user_id, channel_id"],
  ["logs_token_name", "token_name, id, created_at, type, user_id"],
  ["logs_not_calls", "type, id, created_at, user_id, channel_id", "WHERE type <> 2"],
].flatMap(([name, columns, where = ""]) => [
  `DROP INDEX ${name}`,
  `CREATE INDEX ${name} ON logs (${columns}) ${where}`,
]);

const REFUSAL = "the audit trail is append-only";

export const operations: Migration = {
  name: "0004-operations",
  sqlite: [
    ...tables({ int: "integer", strict: " STRICT", bare: " STRICT, WITHOUT ROWID" }),
    ...COVERING_INDEXES,
    `CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
    `CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
  ],
  postgres: [
    ...tables({ int: "bigint", strict: "", bare: "" }),
    `CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${REFUSAL}'; END $$`,
    `CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()`,
    `CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()`,
  ],
};
