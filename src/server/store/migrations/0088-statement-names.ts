// Whose a closed month is, and whom its invoices are made out to, as it was when it was closed (requirements Y59). A node of the version before
// leaves the columns empty: such months are shown with what is known today.
import type { Migration } from "./migration.ts";

const STATEMENTS = [
  "ALTER TABLE statements ADD COLUMN account_name text NOT NULL DEFAULT ''",
  "ALTER TABLE statements ADD COLUMN buyer_sealed text NOT NULL DEFAULT ''",
];

export const statementNames: Migration = {
  name: "0088-statement-names",
  sqlite: STATEMENTS,
  postgres: STATEMENTS,
};
