// What the ways in need besides passwords: one-time codes, addresses that belong to one account, reminders that were sent.
import type { Migration } from "./migration.ts";

function statements(type: { int: string; bare: string }): string[] {
  const { int, bare } = type;
  return [
    `CREATE TABLE codes (
      key text PRIMARY KEY,
      code_hash text NOT NULL,
      user_id ${int} NOT NULL,
      detail text NOT NULL,
      tries ${int} NOT NULL DEFAULT 0,
      expires_at ${int} NOT NULL
    )${bare}`,
    "CREATE INDEX codes_expires ON codes (expires_at)",
    `CREATE TABLE quota_reminders (
      user_id ${int} PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      level ${int} NOT NULL,
      low_sent_at ${int} NOT NULL DEFAULT 0,
      empty_sent_at ${int} NOT NULL DEFAULT 0
    )${bare}`,
    `ALTER TABLE users ADD COLUMN external_login ${int} NOT NULL DEFAULT 0 CHECK (external_login IN (0, 1))`,
    // An address that several accounts share stays with the oldest that is not deleted (requirements A19).
    `UPDATE users SET email = '' WHERE email <> '' AND EXISTS (
      SELECT 1 FROM users AS other WHERE lower(other.email) = lower(users.email)
      AND (other.status, other.id) < (users.status, users.id))`,
    "UPDATE users SET email = lower(email) WHERE email <> lower(email)",
    "DROP INDEX users_email",
    "CREATE UNIQUE INDEX users_email ON users (email) WHERE email <> ''",
  ];
}

export const logins: Migration = {
  name: "0003-logins",
  sqlite: statements({ int: "integer", bare: " STRICT, WITHOUT ROWID" }),
  postgres: statements({ int: "bigint", bare: "" }),
};
