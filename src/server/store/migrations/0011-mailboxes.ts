// One account for each mailbox: addresses that differ in a tag behind the name count as one (requirements M25, store/mailbox.ts). And who
// had the gifts of a registration, known by hash: an account that is deleted and made anew brings no second ones.
import type { Migration } from "./migration.ts";

function statements({ position, bare }: { position: "instr" | "strpos"; bare: string }): string[] {
  const at = (sign: string) => `${position}(email, '${sign}')`;
  return [
    // The default is for accounts without an address and for nodes that still run the program before this one.
    "ALTER TABLE users ADD COLUMN mailbox text NOT NULL DEFAULT ''",
    `UPDATE users SET mailbox = CASE WHEN ${at("+")} > 1 AND ${at("+")} < ${at("@")}
      THEN substr(email, 1, ${at("+")} - 1) || substr(email, ${at("@")}) ELSE email END WHERE email <> ''`,
    // Accounts that share one already stay as they are: it is held by the oldest that is not deleted, against all that come.
    `UPDATE users SET mailbox = '' WHERE id IN (SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY mailbox ORDER BY status, id) AS place FROM users WHERE mailbox <> ''
      ) AS holders WHERE place > 1)`,
    "CREATE UNIQUE INDEX users_mailbox ON users (mailbox) WHERE mailbox <> ''",
    `CREATE TABLE welcomed (identity_hash text PRIMARY KEY)${bare}`,
  ];
}

export const mailboxes: Migration = {
  name: "0011-mailboxes",
  sqlite: statements({ position: "instr", bare: " STRICT, WITHOUT ROWID" }),
  postgres: statements({ position: "strpos", bare: "" }),
};
