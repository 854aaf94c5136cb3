// How many notices of a payment account did not verify, and when the last came (requirements Y06): all that is kept of them.
import type { Migration } from "./migration.ts";

const statementsFor = (int: string): string[] =>
  ["refused_notices", "refused_at"].map(
    (column) => `ALTER TABLE payment_instances ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`,
  );

export const refusedNotices: Migration = {
  name: "0089-refused-notices",
  sqlite: statementsFor("integer"),
  postgres: statementsFor("bigint"),
};
