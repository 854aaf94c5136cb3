// Keys that are shown once, rotation with an overlap, labels and who made them (requirements K11, K12). The key before the last rotation
// stands in a table of its own: it is looked up by its hash.
import type { Migration } from "./migration.ts";

function statements(int: string, end: string): string[] {
  return [
    "ALTER TABLE tokens ADD COLUMN key_hint text NOT NULL DEFAULT ''",
    "ALTER TABLE tokens ADD COLUMN tags text NOT NULL DEFAULT ''",
    "ALTER TABLE tokens ADD COLUMN metadata text NOT NULL DEFAULT ''",
    `ALTER TABLE tokens ADD COLUMN made_by ${int} NOT NULL DEFAULT 0`,
    `CREATE TABLE old_keys (
      token_id ${int} PRIMARY KEY,
      key_hash text NOT NULL,
      created_at ${int} NOT NULL,
      expires_at ${int} NOT NULL,
      used_at ${int} NOT NULL
    )${end}`,
    "CREATE UNIQUE INDEX old_keys_hash ON old_keys (key_hash)",
  ];
}

export const keys: Migration = {
  name: "0022-keys",
  sqlite: statements("integer", " STRICT"),
  postgres: statements("bigint", ""),
};
