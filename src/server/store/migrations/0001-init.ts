// The first schema. Never changes once released: its checksum is stored in every database.
import type { Migration } from "./migration.ts";

/** Columns shared by both databases; the words that differ are filled in. */
function tables(type: { id: string; int: string; real: string; strict: string; bare: string }): string[] {
  const { id, int, real, strict, bare } = type;
  return [
    `CREATE TABLE users (
      id ${id},
      username text NOT NULL,
      password text NOT NULL,
      display_name text NOT NULL,
      role ${int} NOT NULL,
      status ${int} NOT NULL,
      email text NOT NULL,
      github_id text NOT NULL,
      wechat_id text NOT NULL,
      access_token_hash text,
      quota ${int} NOT NULL DEFAULT 0,
      used_quota ${int} NOT NULL DEFAULT 0,
      request_count ${int} NOT NULL DEFAULT 0,
      "group" text NOT NULL,
      aff_code text NOT NULL,
      inviter_id ${int} NOT NULL,
      created_at ${int} NOT NULL
    )${strict}`,
    `CREATE TABLE sessions (
      id_hash text PRIMARY KEY,
      user_id ${int} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      created_at ${int} NOT NULL,
      last_seen ${int} NOT NULL
    )${bare}`,
    `CREATE TABLE tokens (
      id ${id},
      user_id ${int} NOT NULL REFERENCES users (id),
      key_hash text NOT NULL,
      key_sealed text NOT NULL,
      status ${int} NOT NULL,
      name text NOT NULL,
      created_time ${int} NOT NULL,
      accessed_time ${int} NOT NULL,
      expired_time ${int} NOT NULL,
      remain_quota ${int} NOT NULL DEFAULT 0,
      unlimited_quota ${int} NOT NULL CHECK (unlimited_quota IN (0, 1)),
      used_quota ${int} NOT NULL DEFAULT 0,
      models text NOT NULL,
      subnet text NOT NULL,
      deleted_at ${int} NOT NULL DEFAULT 0
    )${strict}`,
    `CREATE TABLE channels (
      id ${id},
      type ${int} NOT NULL,
      key_hash text NOT NULL,
      key_sealed text NOT NULL,
      status ${int} NOT NULL,
      status_reason text NOT NULL,
      status_time ${int} NOT NULL,
      name text NOT NULL,
      weight ${int} NOT NULL,
      priority ${int} NOT NULL,
      created_time ${int} NOT NULL,
      test_time ${int} NOT NULL,
      response_time ${int} NOT NULL,
      base_url text NOT NULL,
      other text NOT NULL,
      balance ${real} NOT NULL,
      balance_updated_time ${int} NOT NULL,
      models text NOT NULL,
      "group" text NOT NULL,
      used_quota ${int} NOT NULL DEFAULT 0,
      model_mapping text NOT NULL,
      config text NOT NULL,
      deleted_at ${int} NOT NULL DEFAULT 0
    )${strict}`,
    `CREATE TABLE options (key text PRIMARY KEY, value text NOT NULL)${bare}`,
    `CREATE TABLE logs (
      id ${id},
      user_id ${int} NOT NULL,
      created_at ${int} NOT NULL,
      type ${int} NOT NULL,
      content text NOT NULL,
      username text NOT NULL,
      token_id ${int} NOT NULL,
      token_name text NOT NULL,
      model_name text NOT NULL,
      quota ${int} NOT NULL,
      prompt_tokens ${int} NOT NULL,
      completion_tokens ${int} NOT NULL,
      cached_tokens ${int} NOT NULL,
      channel_id ${int} NOT NULL,
      request_id text NOT NULL,
      elapsed_time ${int} NOT NULL,
      first_byte_time ${int} NOT NULL,
      is_stream ${int} NOT NULL,
      estimated ${int} NOT NULL
    )${strict}`,
    `CREATE TABLE log_sums (
      dimension text NOT NULL,
      key text NOT NULL,
      hour ${int} NOT NULL,
      quota ${int} NOT NULL,
      prompt_tokens ${int} NOT NULL,
      completion_tokens ${int} NOT NULL,
      requests ${int} NOT NULL,
      PRIMARY KEY (dimension, key, hour)
    )${bare}`,
    `CREATE TABLE log_rollups (
      user_id ${int} NOT NULL,
      hour ${int} NOT NULL,
      token_name text NOT NULL,
      model_name text NOT NULL,
      channel_id ${int} NOT NULL,
      quota ${int} NOT NULL,
      prompt_tokens ${int} NOT NULL,
      completion_tokens ${int} NOT NULL,
      requests ${int} NOT NULL,
      PRIMARY KEY (user_id, hour, token_name, model_name, channel_id)
    )${bare}`,
    `CREATE TABLE log_spans (
      span ${int} PRIMARY KEY,
      first_id ${int} NOT NULL,
      last_id ${int} NOT NULL
    )${strict}`,
    `CREATE TABLE reservations (
      request_id text PRIMARY KEY,
      user_id ${int} NOT NULL REFERENCES users (id),
      token_id ${int} NOT NULL,
      channel_id ${int} NOT NULL,
      amount ${int} NOT NULL CHECK (amount >= 0),
      seen_charge ${int} NOT NULL CHECK (seen_charge >= 0),
      seen_prompt_tokens ${int} NOT NULL,
      seen_completion_tokens ${int} NOT NULL,
      model_name text NOT NULL,
      created_at ${int} NOT NULL,
      node text NOT NULL,
      token_limited ${int} NOT NULL
    )${bare}`,
    `CREATE TABLE nodes (node text PRIMARY KEY, lease_until ${int} NOT NULL)${bare}`,
    `CREATE TABLE ledger (
      id ${id},
      created_at ${int} NOT NULL,
      kind text NOT NULL,
      user_id ${int} NOT NULL REFERENCES users (id),
      token_id ${int} NOT NULL,
      channel_id ${int} NOT NULL,
      amount ${int} NOT NULL,
      token_amount ${int} NOT NULL,
      request_id text,
      shortfall ${int} NOT NULL CHECK (shortfall >= 0),
      actor_id ${int} NOT NULL,
      detail text NOT NULL,
      CHECK (kind <> 'consume' OR amount <= 0)
    )${strict}`,
  ];
}

const INDEXES = [
  "CREATE UNIQUE INDEX users_username ON users (username)",
  "CREATE INDEX users_email ON users (email)",
  "CREATE UNIQUE INDEX users_access_token ON users (access_token_hash)",
  "CREATE UNIQUE INDEX users_github ON users (github_id) WHERE github_id <> ''",
  "CREATE UNIQUE INDEX users_wechat ON users (wechat_id) WHERE wechat_id <> ''",
  "CREATE UNIQUE INDEX users_aff_code ON users (aff_code) WHERE aff_code <> ''",
  "CREATE INDEX users_inviter ON users (inviter_id) WHERE inviter_id <> 0",
  "CREATE INDEX sessions_user ON sessions (user_id)",
  "CREATE INDEX sessions_last_seen ON sessions (last_seen)",
  "CREATE UNIQUE INDEX tokens_key_hash ON tokens (key_hash)",
  "CREATE INDEX tokens_user ON tokens (user_id, deleted_at, id)",
  "CREATE INDEX channels_key_hash ON channels (key_hash)",
  // Lists of the log run over id backwards; each filter has an index that goes on with id. What follows it lets counts and
  // far pages by a second filter do without the rows: 50 ms instead of 950 for a user with a million of ten (SQLite).
  "CREATE INDEX logs_user ON logs (user_id, id, type, model_name, token_name)",
  "CREATE INDEX logs_channel ON logs (channel_id, id, type, model_name)",
  "CREATE INDEX logs_model ON logs (model_name, id, type)",
  "CREATE INDEX logs_token_name ON logs (token_name, id, type)",
  // The few entries that are not calls (type 2), which a filter would else look for among millions.
  "CREATE INDEX logs_not_calls ON logs (type, id) WHERE type <> 2",
  // Clearing by age.
  "CREATE INDEX logs_created ON logs (created_at, type)",
  // A call is booked once, whatever is retried (requirements M10).
  "CREATE UNIQUE INDEX ledger_request ON ledger (request_id)",
  "CREATE INDEX ledger_user ON ledger (user_id, id)",
];

const REFUSAL = "the ledger is append-only";

export const init: Migration = {
  name: "0001-init",
  sqlite: [
    ...tables({
      // No AUTOINCREMENT: rows with an id that others keep are never removed.
      id: "integer PRIMARY KEY",
      int: "integer",
      real: "real",
      strict: " STRICT",
      bare: " STRICT, WITHOUT ROWID",
    }),
    ...INDEXES,
    `CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
    `CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
  ],
  postgres: [
    ...tables({
      id: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
      int: "bigint",
      real: "double precision",
      strict: "",
      bare: "",
    }),
    ...INDEXES,
    // Limits and marks that several nodes share; nothing is lost that a restart of the server may not forget.
    `CREATE UNLOGGED TABLE coord_marks (key text PRIMARY KEY, until_ms double precision NOT NULL)`,
    "CREATE INDEX coord_marks_until ON coord_marks (until_ms)",
    `CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${REFUSAL}'; END $$`,
    `CREATE TRIGGER ledger_no_change BEFORE UPDATE OR DELETE ON ledger
      FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change()`,
    `CREATE TRIGGER ledger_no_truncate BEFORE TRUNCATE ON ledger
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change()`,
  ],
};
