// What the ledger can be asked, and what it answers. Types only; amounts are quota units as bigint.
import type { LogRow } from "#server/store/logs.ts";
import type { OrderChange, OrderVerdict } from "./order-operations.ts";
import type {
  CommissionChange,
  CommissionChanged,
  LogNote,
  Redeemed,
  RedeemOrder,
  SignupGifts,
  Transfer,
  Transferred,
} from "./partner-operations.ts";
import type { Usage } from "./price.ts";
import type { LimitRef } from "./rows.ts";

/** The limit that a reservation did not fit into. */
export interface LimitRefusal extends LimitRef {
  readonly amount: bigint;
  readonly used: bigint;
  /** When there may be room: the window's end, or when a rolling one has forgotten enough. Seconds. */
  readonly resetsAt: number;
  /** Waiting helps: the call alone fits. */
  readonly canFit: boolean;
}

/** Whether more was set aside; if not, the limit that has no room for it, or without one the quota of user or token. */
export interface Extended {
  readonly granted: boolean;
  readonly refusal?: LimitRefusal | undefined;
}

/** What is left in a window of a limit after a call was set aside in it, or refused. */
export interface WindowRest {
  readonly limitId: number;
  /** It counts calls; else quota. */
  readonly isCalls: boolean;
  /** What the limit allows now. */
  readonly amount: bigint;
  /** Never below 0, though a soft limit lets pass what it has no room for. */
  readonly left: bigint;
  /** When the window is over, or a rolling one has forgotten some of it; NEVER = a total. Seconds. */
  readonly resetsAt: number;
}

/** Plans that pay for a call have no room for it, and the wallet is not to pay what they have no room for. */
export interface PlanRefusal {
  readonly periodIds: readonly number[];
  /** When the first of them has room again. Seconds. */
  readonly resetsAt: number;
  /** Waiting helps: the call alone fits. */
  readonly canFit: boolean;
}

/** Why a reservation was refused; `token_unusable` = deleted, disabled or expired. */
export type ReserveVerdict =
  | "reserved"
  | "user_quota"
  | "token_quota"
  | "user_disabled"
  | "token_unusable"
  | LimitRefusal
  | PlanRefusal;

/** The parts of a log entry that the caller knows; everything else follows from the settlement and the stored rows. */
export type SettlementLog = Pick<
  LogRow,
  "content" | "model_name" | "elapsed_time" | "first_byte_time" | "is_stream" | "estimated" | "trail"
> & {
  readonly token_kinds?: string | undefined;
  /** Of the price tables by which the call was reserved; absent or -1 = not known. */
  readonly price_version?: number;
};

export interface ReserveOrder {
  /** Natural key of the call. */
  readonly requestId: string;
  readonly userId: number;
  /** 0 = a call without a token. */
  readonly tokenId: number;
  readonly amount: bigint;
  /** The model asked for; recovery books under it. */
  readonly modelName: string;
  /** The limits of windows that the call is counted in, from the token's upwards; absent = none. */
  readonly limits?: readonly LimitRef[] | undefined;
  /** The time zone by whose calendar their windows begin; needed with `limits`. IANA name. */
  readonly zone?: string | undefined;
  /** Told what is left of the tightest of `limits`, of each kind; not when the call was reserved before. */
  readonly hear?: ((rests: readonly WindowRest[]) => void) | undefined;
  /** The running periods of plans that pay for the call, in the order in which they do; absent = none. */
  readonly plans?: readonly number[] | undefined;
  /** It outlives this process: recovery leaves it alone, and the process that resumes it closes it (requirements C52). */
  readonly isKept?: true | undefined;
}

/** What had been received of an answer at some moment; recovery books the last one (requirements M12). */
export interface Seen {
  readonly charge: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly channelId: number;
}

/** What a call cost the operator; money in billionths of a dollar. */
export interface CallCost {
  /** -1 = not known. */
  readonly cost: number;
  /** What reading from an upstream's cache saved who paid. */
  readonly saved: number;
  /** By whose ratio it was charged. */
  readonly group: string;
}

export interface Settlement {
  readonly requestId: string;
  readonly userId: number;
  readonly tokenId: number;
  /** The channel that answered; 0 = none. */
  readonly channelId: number;
  /** Which of the channel's several keys; absent = it has one. */
  readonly keyId?: number;
  /** Who called, where another one pays; absent = whose token it is now. */
  readonly memberId?: number | undefined;
  readonly charge: bigint;
  readonly usage: Usage;
  /** Absent = not known. */
  readonly cost?: CallCost | undefined;
  /** null = LogConsumeEnabled is off; ledger, counters and rollups are booked all the same (requirements M28). */
  readonly log: SettlementLog | null;
  /** A few milliseconds do not matter to the caller: the settlement waits for others to share a commit with. */
  readonly mayWait?: boolean;
}

/** What a settlement booked. `shortfall` is what user or token had no quota for. */
export interface Booking {
  readonly charged: bigint;
  readonly shortfall: bigint;
}

/** `grant`, `topup` and `adjust` change what a user has, `token-adjust` what a token may spend. */
export type AdjustKind = "grant" | "adjust" | "topup" | "token-adjust";

export interface Adjustment {
  readonly userId: number;
  /** Only with `token-adjust`. */
  readonly tokenId?: number;
  readonly kind: AdjustKind;
  /** A change, or the balance there should be; the latter becomes a change of the balance of that moment (requirements J10). */
  readonly quota: { readonly delta: bigint } | { readonly target: bigint };
  /** User id of the actor. */
  readonly actorId: number;
  readonly reason: string;
  /** Natural key: an adjustment given twice with the same one is done once. Made up when absent. */
  readonly operationId?: string;
  /** Told to the user in the same transaction. Not with `token-adjust`. */
  readonly log?: LogNote;
}

/** `repeated` = this operation id was booked before; `below_zero` and `too_large` = nothing was changed. */
export type Adjusted =
  | { readonly outcome: "done"; readonly before: bigint; readonly after: bigint }
  | { readonly outcome: "repeated" | "not_found" | "below_zero" | "too_large" };

/** Every row that a request touches: known beforehand, so that rows can be locked in order. */
interface Parties {
  readonly requestId: string;
  readonly userId: number;
  readonly tokenId: number;
  /** As the reservation was given them. */
  readonly limits?: readonly LimitRef[] | undefined;
  readonly plans?: readonly number[] | undefined;
}

export type Operation =
  | ({ readonly kind: "reserve" } & Omit<ReserveOrder, "hear">)
  /** Raises the reservation to `target`; absolute, so that a repetition changes nothing. The zone tells when a limit has room again. */
  | ({ readonly kind: "extend"; readonly target: bigint; readonly zone?: string | undefined } & Parties)
  /** Counts the call in the windows `take`, those of the channel that is called now, and no longer in `drop`, those of the one before. */
  | ({
      readonly kind: "hold";
      readonly take: readonly LimitRef[];
      readonly drop: readonly LimitRef[];
      readonly zone: string;
    } & Parties)
  | ({ readonly kind: "checkpoint"; readonly seen: Seen } & Parties)
  | ({ readonly kind: "settle" } & Pick<Parties, "limits" | "plans"> & Settlement)
  | ({ readonly kind: "release" } & Parties)
  /** Closes the reservation of a process that is dead. */
  | ({ readonly kind: "recover"; readonly deadNode: string; readonly channelId: number } & Parties)
  | ({ readonly kind: "adjust"; readonly adjustment: Adjustment } & Parties)
  | ({ readonly kind: "redeem"; readonly order: RedeemOrder } & Parties)
  | ({ readonly kind: "commission"; readonly change: CommissionChange } & Parties)
  | ({ readonly kind: "signup"; readonly gifts: SignupGifts } & Parties)
  | ({ readonly kind: "order"; readonly change: OrderChange } & Parties)
  | ({ readonly kind: "transfer"; readonly order: Transfer } & Parties);

/** Operations that touch more than one user, codes, commissions, debts or orders. */
export type PartnerOperation = Extract<
  Operation,
  { kind: "adjust" | "redeem" | "commission" | "signup" | "order" | "transfer" }
>;

export type Outcome =
  /** `rests` = the tightest of each kind; without them the call has no limits that are counted by window. */
  | { readonly kind: "reserve"; readonly verdict: ReserveVerdict; readonly rests?: readonly WindowRest[] }
  | ({ readonly kind: "extend" } & Extended)
  /** undefined = it is counted; otherwise nothing changed. */
  | { readonly kind: "hold"; readonly refusal?: LimitRefusal | undefined }
  | { readonly kind: "checkpoint" }
  | { readonly kind: "settle"; readonly booking: Booking }
  | { readonly kind: "release" }
  | { readonly kind: "recover"; readonly isClosed: boolean }
  | { readonly kind: "adjust"; readonly adjusted: Adjusted }
  | { readonly kind: "redeem"; readonly redeemed: Redeemed }
  | { readonly kind: "commission"; readonly changed: CommissionChanged }
  | { readonly kind: "signup" }
  | { readonly kind: "order"; readonly verdict: OrderVerdict }
  | { readonly kind: "transfer"; readonly transferred: Transferred }
  /** The operation contradicts what is stored: a mistake of the caller. */
  | { readonly kind: "failed"; readonly reason: string };

/** What one transaction carries, in order. */
export interface Batch {
  readonly operations: readonly Operation[];
  readonly nowSec: number;
  /** Boot id of this process. */
  readonly node: string;
}
