// The rows that one group of operations works on, as the rules see them: loaded before, stored after. No SQL here.
import type { NewLog } from "#server/store/logs.ts";
import type { LogSumsTable } from "#server/store/tables.ts";

export interface UserBook {
  readonly id: number;
  readonly username: string;
  readonly status: number;
  quota: bigint;
  usedQuota: bigint;
  requestCount: number;
}

export interface TokenBook {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  status: number;
  readonly isUnlimited: boolean;
  /** Seconds; -1 = never. */
  readonly expiredTime: number;
  readonly isDeleted: boolean;
  accessedTime: number;
  remainQuota: bigint;
  usedQuota: bigint;
}

export interface Reservation {
  readonly requestId: string;
  readonly userId: number;
  readonly tokenId: number;
  readonly modelName: string;
  readonly createdAt: number;
  readonly node: string;
  /** The amount is set aside from the token too. */
  readonly isTokenLimited: boolean;
  amount: bigint;
  channelId: number;
  seenCharge: bigint;
  seenPromptTokens: number;
  seenCompletionTokens: number;
}

/** A ledger entry that carries a natural key already used. */
export interface Booked {
  readonly kind: string;
  /** Signed change of what the user owns. */
  readonly amount: bigint;
  readonly shortfall: bigint;
}

/** What the partner plan owes a user, loaded for the operations that need it. */
export interface CommissionBook {
  readonly userId: number;
  /** Millionths of a yuan. */
  micro: bigint;
}

/** A redemption code. */
export interface CodeBook {
  readonly id: number;
  readonly quota: bigint;
  readonly isDeleted: boolean;
  status: number;
  redeemedTime: number;
  usedUserId: number;
}

export interface LedgerEntry {
  /** Seconds. */
  readonly createdAt: number;
  readonly kind: string;
  readonly userId: number;
  readonly tokenId: number;
  readonly channelId: number;
  readonly amount: bigint;
  readonly tokenAmount: bigint;
  readonly requestId: string;
  readonly shortfall: bigint;
  readonly actorId: number;
  readonly detail: string;
}

/** An entry of the partner plan: it names a code, or changes a commission. */
export interface PartnerEntry extends LedgerEntry {
  /** 0 = from no code. */
  readonly redemptionId: number;
  /** Signed, millionths of a yuan. */
  readonly yuanMicro: bigint;
}

/** What calls of one hour come to. */
export interface HourSums {
  readonly hour: number;
  quota: bigint;
  promptTokens: number;
  completionTokens: number;
  requests: number;
}

/** What is added along one dimension. */
export interface SumPart extends HourSums {
  readonly dimension: LogSumsTable["dimension"];
  readonly key: string;
}

/** What is added along all dimensions at once. */
export interface RollupPart extends HourSums {
  readonly userId: number;
  readonly tokenName: string;
  readonly modelName: string;
  readonly channelId: number;
}

export interface Books {
  readonly users: Map<number, UserBook>;
  readonly tokens: Map<number, TokenBook>;
  /** Open reservations by request id; one that is closed leaves the map. */
  readonly reservations: Map<string, Reservation>;
  /** Ledger entries by natural key, of those the operations name. */
  readonly booked: Map<string, Booked>;
  /** By user id; only of users that operations of the partner plan name. */
  readonly commissions: Map<number, CommissionBook>;
  /** Redemption codes by id, of those the operations name. */
  readonly codes: Map<number, CodeBook>;
}

/** What the rules changed, to be stored in the same transaction. */
export interface Changes {
  readonly users: Set<UserBook>;
  readonly tokens: Set<TokenBook>;
  /** Channel id → quota used more. */
  readonly channels: Map<number, bigint>;
  readonly inserted: Set<Reservation>;
  readonly updated: Set<Reservation>;
  readonly deleted: Set<Reservation>;
  readonly ledger: LedgerEntry[];
  readonly commissions: Set<CommissionBook>;
  readonly codes: Set<CodeBook>;
  readonly partnerLedger: PartnerEntry[];
  readonly logs: NewLog[];
  /** Keyed by names that contain all dimensions. */
  readonly rollups: Map<string, RollupPart>;
}

export function noChanges(): Changes {
  return {
    users: new Set(),
    tokens: new Set(),
    channels: new Map(),
    inserted: new Set(),
    updated: new Set(),
    deleted: new Set(),
    ledger: [],
    commissions: new Set(),
    codes: new Set(),
    partnerLedger: [],
    logs: [],
    rollups: new Map(),
  };
}

/** A stored number that is not what the ledger says. */
export interface Mismatch {
  readonly table: "users" | "tokens" | "channels" | "redemptions";
  readonly id: number;
  readonly column: string;
  readonly stored: number;
  readonly expected: number;
}
