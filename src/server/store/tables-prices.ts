// The table of published prices; column names are those of the wire.

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
  price_versions: PriceVersionsTable;
}
