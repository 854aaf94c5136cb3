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

export interface PriceTables {
  price_versions: PriceVersionsTable;
}
