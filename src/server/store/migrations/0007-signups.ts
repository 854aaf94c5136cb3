// What new accounts are still to be granted: written with the account, removed when the bank has booked it, so that a process
// that dies between the two takes no gift with it.
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

export const signups: Migration = {
  name: "0007-signups",
  sqlite: [table({ int: "integer", bare: " STRICT" })],
  postgres: [table({ int: "bigint", bare: "" })],
};
