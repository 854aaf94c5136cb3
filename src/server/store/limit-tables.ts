// The tables of limits; column names are those of the wire.
import type { Generated } from "kysely";
import type { LimitKind, LimitMode, LimitSubject, LimitWindow } from "#contract/limit-words.ts";

/** Limits of calls: how many, how much, how dear, for whom. */
export interface LimitsTable {
  id: Generated<number>;
  subject: LimitSubject;
  /** Id of the token or user; 0 for other subjects. */
  subject_id: number;
  /** Name of the group; "" for other subjects. */
  subject_name: string;
  /** A model, a beginning with `*` behind, or "" for all. */
  model_pattern: string;
  kind: LimitKind;
  amount: number;
  /** Of kinds that are counted by window. */
  time_window: LimitWindow;
  /** Day of the month on which months begin, 1–31. */
  anchor: number;
  mode: LimitMode;
  /** So much more until `boost_until`; 0 = none. */
  boost_amount: Generated<number>;
  /** Seconds. */
  boost_until: Generated<number>;
  boost_reason: Generated<string>;
  /** Seconds; windows begin no earlier. Set when what is counted changes. */
  since: Generated<number>;
  created_at: number;
  /** Seconds; 0 = alive. Its row stays: calls that are running settle in its windows. */
  deleted_at: Generated<number>;
}

/** What limits have counted by window. Written by `money` only, but for `told`; made by the first reservation of a window. */
export interface LimitWindowsTable {
  limit_id: number;
  /** User of a limit of each member of a group; 0 = the limit has one count. */
  holder: number;
  /** Seconds. */
  start: number;
  spent: number;
  reserved: number;
  /** Of rolling windows, `start=amount` of each step. */
  slices: string;
  /** 1 = the newest of its limit and holder. */
  is_current: number;
  /** 1 = the warning of this window went out; a rolling one is told again when it is used little (see jobs). */
  told: Generated<number>;
}

export interface LimitTables {
  limits: LimitsTable;
  limit_windows: LimitWindowsTable;
}
