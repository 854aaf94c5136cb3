// The tables of prices: drafts, what was published, what lists name; column names are those of the wire.
import type { Generated } from "kysely";
import type { DraftState, DraftWarning } from "#contract/price-draft.ts";
import type { PriceFormat } from "#contract/price-list.ts";

/** Published versions of the price tables. */
export interface PriceVersionsTable {
  id: number;
  created_at: number;
  user_id: number;
  username: string;
  reason: string;
  source: string;
  /** How many models the list named. */
  listed: number;
  models: number;
  /** JSON: by model, its prices before and after. */
  changes: string;
  /** The version that this one takes back; 0 = none. */
  undoes: number;
}

/** Price lists that were compared with ours. */
export interface PriceDraftsTable {
  id: Generated<number>;
  /** Of each change of it. */
  revision: number;
  state: DraftState;
  created_at: number;
  user_id: number;
  username: string;
  format: PriceFormat;
  source: string;
  hash: string;
  /** How many models the list named. */
  listed: number;
  listed_before: number;
  changed: number;
  warning: DraftWarning;
  /** JSON: its rows. */
  lines: string;
  /** JSON: by model, what is to become of its row. */
  choices: string;
  decided_by: string;
  decided_at: number;
  reason: string;
  /** The version that it was published as; 0 = none. */
  version: number;
}

/** Models of ours that a source named. */
export interface PriceListingsTable {
  source: string;
  model: string;
  seen_at: number;
  /** Since when it is not in the list any more; 0 = it is. */
  gone_at: number;
}

/** Last days of models that were told, so many days before. */
export interface ModelNoticesTable {
  model: string;
  /** `2026-12-31`. */
  last_day: string;
  stage: number;
  told_at: number;
}

export interface PriceTables {
  model_notices: ModelNoticesTable;
  price_drafts: PriceDraftsTable;
  price_listings: PriceListingsTable;
  price_versions: PriceVersionsTable;
}
