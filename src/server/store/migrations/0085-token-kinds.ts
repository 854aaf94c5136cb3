// What kinds of tokens a call had beside plain ones, as its receipt tells (requirements Y63).
import type { Migration } from "./migration.ts";

const statement = "ALTER TABLE logs ADD COLUMN token_kinds text NOT NULL DEFAULT ''";

export const tokenKinds: Migration = {
  name: "0085-token-kinds",
  sqlite: [statement],
  postgres: [statement],
};
