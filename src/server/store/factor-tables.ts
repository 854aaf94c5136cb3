// One interface per table of second factors and browsers; column names are those of the wire where they cross it. Times in seconds.
import type { Generated } from "kysely";

/** The authenticator app of an account, known to work. */
export interface TotpTable {
  user_id: number;
  secret_sealed: string;
  /** The newest step of 30 seconds that was accepted; no code of it, or before it, is accepted again. */
  last_step: number;
  created_at: number;
  last_used_at: number;
  /** From when on it proves more than a login: later than `created_at` when a recovery code led to it. */
  trusted_from: number;
}

export interface RecoveryCodesTable {
  /** Keyed hash of account and code. */
  code_hash: string;
  user_id: number;
}

export interface PasskeysTable {
  id: Generated<number>;
  user_id: number;
  /** base64url, as browsers name it. */
  credential_id: string;
  /** COSE key as base64url. */
  public_key: string;
  counter: number;
  /** Comma-separated. */
  transports: string;
  /** 0 or 1: it is copied to other devices of its owner. */
  is_synced: number;
  /** 0 or 1: its counter fell back once, as that of a copy would. */
  is_suspicious: Generated<number>;
  name: string;
  created_at: number;
  last_used_at: number;
  /** As in `TotpTable`. */
  trusted_from: number;
}

/** A browser that an account was used from. */
export interface DevicesTable {
  device_hash: string;
  user_id: number;
  created_at: number;
  seen_at: number;
  /** Until when a login from it needs no second factor; 0 = it always does. */
  trusted_until: number;
}

/** Until when an account that needs a second factor may go on without one. */
export interface FactorDuesTable {
  user_id: number;
  due_at: number;
}

/** The request of a super administrator to remove the factors of another. */
export interface FactorResetsTable {
  user_id: number;
  asked_by: number;
  asked_at: number;
  reason: string;
}

export interface FactorTables {
  totp: TotpTable;
  recovery_codes: RecoveryCodesTable;
  passkeys: PasskeysTable;
  devices: DevicesTable;
  factor_dues: FactorDuesTable;
  factor_resets: FactorResetsTable;
}
