// The table of payouts; see tables.ts.
import type { Generated } from "kysely";
import type { PayoutState, PayoutWay } from "#contract/payout.ts";

/** What an inviter asked to be paid (requirements Y54). That it was paid stands in the ledger, as `payout-<id>`. */
export interface PayoutsTable {
  id: Generated<number>;
  user_id: number;
  /** Millionths of a yuan. */
  micro: number;
  way: PayoutWay;
  /** Sealed; "" = the account was deleted. */
  account_sealed: string;
  name_sealed: string;
  state: PayoutState;
  note: string;
  /** The administrator who paid or refused it; 0 = none yet, or its user took it back. */
  actor_id: number;
  created_at: number;
  decided_at: number;
}

export interface PayoutTables {
  payouts: PayoutsTable;
}
