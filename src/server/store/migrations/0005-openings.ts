// What imported users, tokens and channels had used before they came here: where their counters start. The ledger explains
// everything after that, so the checker adds the two. Append-only like the ledger itself.
import type { Migration } from "./migration.ts";

function table(type: { int: string; bare: string }): string {
  const { int, bare } = type;
  return `CREATE TABLE openings (
    scope text NOT NULL CHECK (scope IN ('user', 'token', 'channel')),
    id ${int} NOT NULL,
    used_quota ${int} NOT NULL,
    request_count ${int} NOT NULL,
    PRIMARY KEY (scope, id)
  )${bare}`;
}

const REFUSAL = "openings are append-only";

export const openings: Migration = {
  name: "0005-openings",
  sqlite: [
    table({ int: "integer", bare: " STRICT, WITHOUT ROWID" }),
    `CREATE TRIGGER openings_no_update BEFORE UPDATE ON openings BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
    `CREATE TRIGGER openings_no_delete BEFORE DELETE ON openings BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
  ],
  postgres: [
    table({ int: "bigint", bare: "" }),
    `CREATE FUNCTION refuse_openings_change() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${REFUSAL}'; END $$`,
    `CREATE TRIGGER openings_no_change BEFORE UPDATE OR DELETE ON openings
      FOR EACH ROW EXECUTE FUNCTION refuse_openings_change()`,
    `CREATE TRIGGER openings_no_truncate BEFORE TRUNCATE ON openings
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_openings_change()`,
  ],
};
