// The version of the price tables by which a call was reserved, as its receipt tells (requirements Y63).
import type { Migration } from "./migration.ts";

const statement = "ALTER TABLE logs ADD COLUMN price_version {int} NOT NULL DEFAULT -1";

export const logPriceVersions: Migration = {
  name: "0077-log-price-versions",
  sqlite: [statement.replace("{int}", "integer")],
  postgres: [statement.replace("{int}", "bigint")],
};
