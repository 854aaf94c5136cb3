// What new accounts are still to be granted: written with the account, removed when the ledger has booked it, so that a process
// that dies between the two takes no gift with it. And which processes prove by a lock that they live, besides their lease. And indexes for searches by the head of a name.
import type { Migration } from "./migration.ts";

function table(type: { int: string; bare: string }): string {
  const { int, bare } = type;
  return `CREATE TABLE signups (
    user_id ${int} PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    inviter_id ${int} NOT NULL,
    for_new_user ${int} NOT NULL,
    for_invitee ${int} NOT NULL,
    for_inviter ${int} NOT NULL
  )${bare}`;
}

/** Searches ask for heads of words in lower case; PostgreSQL compares them byte by byte only with an operator class for it. */
function searchIndexes(operators: string): string[] {
  return [
    ["users", "username"],
    ["users", "display_name"],
    ["users", "email"],
    ["redemptions", "name"],
  ].map(
    ([table, column]) => `CREATE INDEX ${table}_${column}_head ON ${table} (lower(${column})${operators})`,
  );
}

export const survivors: Migration = {
  name: "0007-survivors",
  sqlite: [
    table({ int: "integer", bare: " STRICT" }),
    "ALTER TABLE nodes ADD COLUMN is_locked integer NOT NULL DEFAULT 0",
    ...searchIndexes(""),
  ],
  postgres: [
    table({ int: "bigint", bare: "" }),
    "ALTER TABLE nodes ADD COLUMN is_locked bigint NOT NULL DEFAULT 0",
    ...searchIndexes(" text_pattern_ops"),
  ],
};
