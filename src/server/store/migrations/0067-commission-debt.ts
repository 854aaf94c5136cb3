// Commission that a refund took back and that was no longer there: later commission fills it first (requirements Z23).
import type { Migration } from "./migration.ts";

function statement(int: string): string {
  return `ALTER TABLE users ADD COLUMN commission_debt_micro ${int} NOT NULL DEFAULT 0`;
}

export const commissionDebt: Migration = {
  name: "0067-commission-debt",
  sqlite: [statement("integer")],
  postgres: [statement("bigint")],
};
