// What calls cost the operator: per call, in the sums by hour, and a channel's own price sheet (requirements X09). Costs are whole
// billionths of a dollar; a call of which it is not known has -1.
import type { Migration } from "./migration.ts";

function statements(int: string): string[] {
  const sums = ["cost", "costed_quota", "cached_tokens", "saved"];
  return [
    `ALTER TABLE logs ADD COLUMN cost ${int} NOT NULL DEFAULT -1`,
    ...["log_sums", "log_rollups"].flatMap((table) =>
      sums.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`),
    ),
    "ALTER TABLE channels ADD COLUMN cost_sheet text NOT NULL DEFAULT ''",
  ];
}

export const callCosts: Migration = {
  name: "0034-call-costs",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
