// What calls on quota that was given cost, and what a redemption code was sold for (requirements X13): in fen, -1 = what codes are sold for.
import type { Migration } from "./migration.ts";

function statements(int: string): string[] {
  return [
    ...["log_sums", "log_rollups"].map(
      (table) => `ALTER TABLE ${table} ADD COLUMN given_cost ${int} NOT NULL DEFAULT 0`,
    ),
    `ALTER TABLE redemptions ADD COLUMN price_minor ${int} NOT NULL DEFAULT -1`,
  ];
}

export const givenQuotas: Migration = {
  name: "0081-given-quota",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
