// The language that an account's owner chose; "" = what his browser prefers.
import type { Migration } from "./migration.ts";

const STATEMENTS = ["ALTER TABLE users ADD COLUMN language text NOT NULL DEFAULT ''"];

export const language: Migration = {
  name: "0031-language",
  sqlite: STATEMENTS,
  postgres: STATEMENTS,
};
