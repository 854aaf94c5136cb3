// How far an operator bounds commission (requirements Y53): how many orders of an invited user brought some, what an inviter earned in the
// month, and, frozen in each order, the bounds of its day. Counted from this version on.
import type { Migration } from "./migration.ts";

function statements(int: string): string[] {
  const counts = ["users", "orders"].flatMap((table) =>
    ["commission_orders", "commission_month_micro"].map(
      (column) => `ALTER TABLE ${table} ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`,
    ),
  );
  return [...counts, "ALTER TABLE users ADD COLUMN commission_month text NOT NULL DEFAULT ''"];
}

export const commissionBounds: Migration = {
  name: "0083-commission-bounds",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
