// The table of statements; see tables.ts.
import type { Generated } from "kysely";

/** A closed month of an account (requirements Y59). Rows never change, but that a deleted user's name and buyer are erased. */
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
  /** JSON: sums by kind, usage, tokens and money, with the names that they had. */
  body: string;
  /** Of the audit trail at that moment. */
  trail_hash: string;
  created_at: number;
  /** Of the user or team, when it was closed; "" = it is not known any more. */
  account_name: string;
  /** As in invoice_profiles; "" = none was saved. */
  buyer_sealed: string;
}

export interface StatementTables {
  statements: StatementsTable;
}
