// Who holds which user name, whatever its case and form. Empty at first: names that are there already are entered in slices by a job
// (store/names.ts), of those that are one now the oldest; the others stay, and hold none.
import type { Migration } from "./migration.ts";

function statements({ int, bare }: { int: string; bare: string }): string[] {
  return [
    `CREATE TABLE user_names (
      name_key text PRIMARY KEY,
      user_id ${int} NOT NULL REFERENCES users (id) ON DELETE CASCADE
    )${bare}`,
    "CREATE INDEX user_names_user ON user_names (user_id)",
  ];
}

export const names: Migration = {
  name: "0012-names",
  sqlite: statements({ int: "integer", bare: " STRICT, WITHOUT ROWID" }),
  postgres: statements({ int: "bigint", bare: "" }),
};
