// Published versions of the price tables: what each model had before and after (requirements X03).
import type { Migration } from "./migration.ts";

function statements(int: string, end: string): string[] {
  return [
    `CREATE TABLE price_versions (
      id ${int} PRIMARY KEY,
      created_at ${int} NOT NULL,
      user_id ${int} NOT NULL,
      username text NOT NULL,
      reason text NOT NULL,
      source text NOT NULL,
      listed ${int} NOT NULL,
      models ${int} NOT NULL,
      changes text NOT NULL,
      undoes ${int} NOT NULL
    )${end}`,
  ];
}

export const priceVersions: Migration = {
  name: "0018-price-versions",
  sqlite: statements("integer", " STRICT"),
  postgres: statements("bigint", ""),
};
