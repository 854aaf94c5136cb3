// What users in fact paid for quota, less the fees and commission of their payments: of what is in a wallet and in a plan's period, of each
// call, and in the sums by hour (requirements X13). Money is whole billionths of a dollar.
import type { Migration } from "./migration.ts";

function statements(int: string): string[] {
  const sums = ["priced_quota", "income", "fees", "commission"];
  const text = (table: string, column: string) =>
    `ALTER TABLE ${table} ADD COLUMN ${column} text NOT NULL DEFAULT ''`;
  const number = (table: string, column: string) =>
    `ALTER TABLE ${table} ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`;
  return [
    text("users", "bought"),
    text("plan_periods", "bought"),
    text("logs", "earned"),
    ...["income", "fees"].map((column) => number("orders", column)),
    ...["log_sums", "log_rollups"].flatMap((table) => sums.map((column) => number(table, column))),
  ];
}

export const netMargins: Migration = {
  name: "0084-net-margins",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
