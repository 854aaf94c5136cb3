// What calls leave behind: the log, and its sums by hour, by day and by span.
import type { Generated } from "kysely";

export interface LogsTable {
  id: Generated<number>;
  user_id: number;
  created_at: number;
  type: number;
  content: string;
  username: string;
  token_id: number;
  token_name: string;
  model_name: string;
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  channel_id: number;
  request_id: string;
  /** Milliseconds. */
  elapsed_time: number;
  first_byte_time: number;
  /** 0 or 1. */
  is_stream: number;
  estimated: number;
  /** The person who called, where the account that paid is a team's; 0 = the account is the person's. */
  member_id: Generated<number>;
  /** The project of that team; 0 = none. */
  project_id: Generated<number>;
  /** Channels that were called in vain before, `id:error,id:error`; "" = none. For administrators only. */
  trail: string;
  /** Which of a channel's several keys served; 0 = its only one. */
  key_id: Generated<number>;
  /** What it cost the operator, in billionths of a dollar; -1 = not known. */
  cost: Generated<number>;
  /** What its quota was bought for, where that is known, as money/bought.ts writes it. */
  earned: Generated<string>;
  /** Kinds of tokens beside plain ones, as contract/token-kinds.ts writes them; "" = none. */
  token_kinds: Generated<string>;
  /** Of the price tables by which it was reserved: 0 = none was ever published, -1 = it was not noted. */
  price_version: Generated<number>;
}

/** What the calls of an hour come to. */
interface HourSums {
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
  /** Of the calls whose cost is known: what they cost, in billionths of a dollar, and what was charged for them. */
  cost: Generated<number>;
  costed_quota: Generated<number>;
  /** Input read from an upstream's cache, and what that saved who paid, in billionths of a dollar. */
  cached_tokens: Generated<number>;
  saved: Generated<number>;
  /** Of `costed_quota` what it is known of what it was bought for, what of `cost` was for quota that was given, and the money: billionths of a dollar. */
  priced_quota: Generated<number>;
  given_cost: Generated<number>;
  income: Generated<number>;
  fees: Generated<number>;
  commission: Generated<number>;
}

/** Consumption summed by hour along one dimension, so that statistics by one filter read a few rows. */
export interface LogSumsTable extends HourSums {
  dimension:
    | "all"
    | "user"
    | "token"
    | "model"
    | "channel"
    | "model-channel"
    | "token-model"
    | "key"
    | "member"
    | "project"
    | "group";
  /**
   * User, channel or key id, token or model name; model name, line feed and channel id for `model-channel`; account, blank, token id, line
   * feed and model name for `token-model`, which has calls of the ledger only; wallet, blank and user id for `member`; name for `group`; ""
   * for `all`.
   */
  key: string;
  /** Start of the hour, seconds. */
  hour: number;
}

/** Consumption summed by hour along all dimensions at once, for statistics by several filters. */
export interface LogRollupsTable extends HourSums {
  /** Start of the hour, seconds. */
  hour: number;
  user_id: number;
  token_name: string;
  model_name: string;
  channel_id: number;
}

/** How calls went, by hour: of everybody, of one user, or tries at one channel. Telemetry, not money: seconds of it may be lost. */
export interface TrafficHoursTable {
  scope: "all" | "user" | "channel";
  /** User or channel id; 0 for `all`. */
  id: number;
  /** Start of the hour, seconds. */
  hour: number;
  calls: number;
  failures: number;
  /** Streamed answers of which the first byte came. */
  streams: number;
  /** Sum over those streams, milliseconds. */
  first_byte_ms: number;
}

/** Which log ids fall into which ten minutes, so that a filter by time becomes a range of ids at any size. */
export interface LogSpansTable {
  /** Start of the ten minutes, seconds. */
  span: number;
  first_id: number;
  last_id: number;
}
