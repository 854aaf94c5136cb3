// The table of statements; see tables.ts.
import type { Generated } from "kysely";

/** A closed month of an account (requirements Y59). Rows never change. */
export interface StatementsTable {
  id: Generated<number>;
  user_id: number;
  /** `2026-10`. */
  month: string;
  /** Its entries of the ledger: after the first id, up to the second. */
  from_row: number;
  to_row: number;
  opening: number;
  closing: number;
  /** JSON: sums by kind, usage, tokens and money, without names. */
  body: string;
  /** Of the audit trail at that moment. */
  trail_hash: string;
  created_at: number;
}

export interface StatementTables {
  statements: StatementsTable;
}
