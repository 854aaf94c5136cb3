// Which acts of the audit log stand in the list of a team too (requirements O11), and whom a session looks at in place of its own user
// (requirements Z24). The log itself stays as it is: its hashes are over its own columns.
import type { Migration } from "./migration.ts";

function statements({ int, bare, id }: Record<"int" | "bare" | "id", string>): string[] {
  return [
    `CREATE TABLE team_audit (
      team_id ${int} NOT NULL,
      audit_id ${int} NOT NULL,
      PRIMARY KEY (team_id, audit_id)
    )${bare}`,
    // Few rows, which an index on the action finds.
    `INSERT INTO team_audit (team_id, audit_id) SELECT ${id}, id FROM audit WHERE action >= 'team.' AND action < 'team/'`,
    `ALTER TABLE sessions ADD COLUMN view_of ${int} NOT NULL DEFAULT 0`,
    `ALTER TABLE sessions ADD COLUMN view_until ${int} NOT NULL DEFAULT 0`,
  ];
}

export const teamAudit: Migration = {
  name: "0079-team-audit",
  sqlite: statements({ int: "integer", bare: " STRICT, WITHOUT ROWID", id: "cast(target AS integer)" }),
  postgres: statements({ int: "bigint", bare: "", id: "cast(target AS bigint)" }),
};
