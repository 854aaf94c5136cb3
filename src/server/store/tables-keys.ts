// The tables of tokens and of keys that were rotated out; column names are those of the wire.
import type { Generated } from "kysely";

export interface TokensTable {
  id: Generated<number>;
  user_id: number;
  /** Keyed hash of the full key, for look-up (requirements K05). */
  key_hash: string;
  /** Sealed copy for the owner's "copy" button; "" = the key was shown once and can never be opened (requirements K11). */
  key_sealed: string;
  status: number;
  name: string;
  created_time: number;
  accessed_time: number;
  /** Seconds; -1 = never. */
  expired_time: number;
  remain_quota: Generated<number>;
  /** 0 or 1. */
  unlimited_quota: number;
  used_quota: Generated<number>;
  models: string;
  subnet: string;
  /** The account of the team that pays for its calls; 0 = its user pays. It never goes back to 0. */
  wallet_id: Generated<number>;
  /** The project of that team it belongs to; 0 = none. */
  project_id: Generated<number>;
  /** The begin and the end of the key; "" = made before this was noted. */
  key_hint: Generated<string>;
  /** Comma-separated, in the order in which they are tried; "" = that of its user, or of the team that pays. */
  groups: Generated<string>;
  /** Comma-separated. */
  tags: Generated<string>;
  /** JSON object of texts; "" = none. */
  metadata: Generated<string>;
  /** The administrator who made it for its user; 0 = the user. */
  made_by: Generated<number>;
  /** Seconds; 0 = alive. Rows stay for the sums of the ledger (requirements M29). */
  deleted_at: Generated<number>;
}

/** The key that a token had before its last rotation: it works until `expires_at`. One for each token. Units: seconds. */
export interface OldKeysTable {
  token_id: number;
  key_hash: string;
  /** Of the rotation. */
  created_at: number;
  expires_at: number;
  /** Of its last use since the rotation, within a minute; 0 = none. */
  used_at: number;
}

export interface KeyTables {
  tokens: TokensTable;
  old_keys: OldKeysTable;
}
