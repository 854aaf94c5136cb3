// Requests of super administrators to remove the second factors of another; one for each account (requirements I34).
import type { Migration } from "./migration.ts";

function statements({ int, bare }: Record<"int" | "bare", string>): string[] {
  return [
    `CREATE TABLE factor_resets (
      user_id ${int} PRIMARY KEY,
      asked_by ${int} NOT NULL,
      asked_at ${int} NOT NULL,
      reason text NOT NULL
    )${bare}`,
  ];
}

export const factorResets: Migration = {
  name: "0033-factor-resets",
  sqlite: statements({ int: "integer", bare: " STRICT, WITHOUT ROWID" }),
  postgres: statements({ int: "bigint", bare: "" }),
};
