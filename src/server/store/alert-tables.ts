// The tables of alerts, one interface each; see tables.ts.
import type { Generated } from "kysely";
import type { AlertDelivery } from "#contract/alert.ts";

/** Where alerts go. The kind never changes. Times are seconds. */
export interface AlertTargetsTable {
  id: Generated<number>;
  kind: string;
  name: string;
  /** 0 or 1. */
  is_enabled: number;
  /** JSON without secrets. */
  settings: string;
  /** Sealed; "" = none. */
  address_sealed: string;
  secret_sealed: string;
  created_at: number;
  updated_at: number;
}

/** A message to one target. Removed after 30 days. */
export interface AlertDeliveriesTable {
  id: Generated<number>;
  target_id: number;
  event: string;
  /** What it is about, e.g. `channel 12`. */
  about: string;
  /** The level of the event, or `over` for the end of what lasted. */
  level: AlertDelivery["level"];
  title: string;
  content: string;
  state: AlertDelivery["state"];
  tries: number;
  problem: string;
  /** Seconds. */
  created_at: number;
  /** When it is tried next, milliseconds; 0 = at once. */
  next_ms: number;
  /** When it was sent or given up, seconds; 0 = not yet. */
  done_at: number;
}

/** What lasts: a row from its begin to its end. */
export interface AlertConditionsTable {
  event: string;
  about: string;
  title: string;
  /** Seconds. */
  since: number;
}

export interface AlertTables {
  alert_targets: AlertTargetsTable;
  alert_deliveries: AlertDeliveriesTable;
  alert_conditions: AlertConditionsTable;
}
