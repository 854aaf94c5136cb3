// The groups that a token tries, in their order (requirements K15).
import type { Migration } from "./migration.ts";

const STATEMENTS = ["ALTER TABLE tokens ADD COLUMN groups text NOT NULL DEFAULT ''"];

export const tokenGroups: Migration = {
  name: "0029-token-groups",
  sqlite: STATEMENTS,
  postgres: STATEMENTS,
};
