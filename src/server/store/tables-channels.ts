// The tables of channels; column names are those of the wire.
import type { Generated } from "kysely";

export interface ChannelsTable {
  id: Generated<number>;
  type: number;
  key_hash: string;
  key_sealed: string;
  status: number;
  status_reason: string;
  status_time: number;
  name: string;
  weight: number;
  priority: number;
  created_time: number;
  test_time: number;
  /** Milliseconds; 0 = untested. */
  response_time: number;
  base_url: string;
  other: string;
  balance: number;
  balance_updated_time: number;
  /** Comma-separated, as on the wire. */
  models: string;
  group: string;
  used_quota: Generated<number>;
  model_mapping: string;
  config: string;
  /** The proxy with its credentials, or `direct`; "" = as all. */
  proxy_sealed: Generated<string>;
  /** `auto`, or `never`: each call gets a connection of its own. */
  reuse: Generated<string>;
  /** Counts the changes of its rows in `channel_keys`; 0 = it has none, its only key is this row's. */
  keys_version: Generated<number>;
  /** How one of several keys is chosen. */
  key_mode: Generated<string>;
  /** How long its calls may take, milliseconds; 0 = the default. */
  connect_ms: Generated<number>;
  first_byte_ms: Generated<number>;
  idle_ms: Generated<number>;
  total_ms: Generated<number>;
  /** What it costs, as a multiple of its models' prices. */
  cost_ratio: Generated<number>;
  /** JSON: its own prices, and the currency in which it is paid; "" = the prices of its models, in dollars. */
  cost_sheet: Generated<string>;
  /** When it was asked again for the last time after it was disabled by itself, seconds, and how often that was in vain. */
  probe_time: Generated<number>;
  probes: Generated<number>;
  deleted_at: Generated<number>;
}

/** The keys of channels that have several; the first that is enabled stands in `channels` too, for older programs. */
export interface ChannelKeysTable {
  id: Generated<number>;
  channel_id: number;
  key_hash: string;
  key_sealed: string;
  name: string;
  status: number;
  status_reason: string;
  status_time: number;
  weight: number;
  /** As in `channels`; "" = as the channel. */
  proxy_sealed: string;
  /** Comma-separated; "" = all of the channel's. */
  models: string;
  /** Seconds; 0 = untested. */
  test_time: number;
  /** Milliseconds. */
  response_time: number;
  /** When a key that was disabled by itself is asked again, seconds, and how often that was in vain. */
  probe_time: number;
  probes: number;
  created_time: number;
  /** In place of the channel's; 0 = as the channel. Milliseconds. */
  connect_ms: Generated<number>;
  first_byte_ms: Generated<number>;
  idle_ms: Generated<number>;
  total_ms: Generated<number>;
  /** What its provider says is left, in which currency ("" = it does not say), when it said so, and when it was last asked (seconds). */
  balance: Generated<number>;
  balance_currency: Generated<string>;
  balance_updated_time: Generated<number>;
  balance_asked_time: Generated<number>;
}

/** What the upstream of a channel said it has. */
export interface ModelListsTable {
  channel_id: number;
  /** Type, address and place that were asked. */
  source: string;
  /** Seconds. */
  checked_time: number;
  /** How many models the list had that was last taken. */
  total: number;
  /** Why the last list was not taken; "" = it was. */
  problem: string;
  /** JSON lists: names that are no news; names that are; models of the channel that the list lacks. */
  known: string;
  fresh: string;
  gone: string;
}

export interface ChannelTables {
  channels: ChannelsTable;
  channel_keys: ChannelKeysTable;
  model_lists: ModelListsTable;
}
