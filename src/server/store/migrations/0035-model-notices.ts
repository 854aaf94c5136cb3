// Which last days of models were told, and how long before (requirements X12).
import type { Migration } from "./migration.ts";

function statements({ int, bare }: Record<"int" | "bare", string>): string[] {
  return [
    `CREATE TABLE model_notices (
      model text NOT NULL,
      last_day text NOT NULL,
      stage ${int} NOT NULL,
      told_at ${int} NOT NULL,
      PRIMARY KEY (model, last_day, stage)
    )${bare}`,
  ];
}

export const modelNotices: Migration = {
  name: "0035-model-notices",
  sqlite: statements({ int: "integer", bare: " STRICT, WITHOUT ROWID" }),
  postgres: statements({ int: "bigint", bare: "" }),
};
