// The set of permissions that a login provider's rules gave to an account (requirements I66).
import type { Migration } from "./migration.ts";

function statement(int: string): string {
  return `ALTER TABLE identities ADD COLUMN granted_set ${int} NOT NULL DEFAULT 0`;
}

export const grantedSet: Migration = {
  name: "0052-granted-set",
  sqlite: [statement("integer")],
  postgres: [statement("bigint")],
};
