// The rows that one group of operations works on, as the rules see them: loaded before, stored after. No SQL here.
import type { LimitWindow } from "#contract/limit-words.ts";
import type { NewLog } from "#server/store/logs.ts";
import type { LogSumsTable } from "#server/store/tables-logs.ts";
import type { Bought } from "./bought.ts";
import type { EventEntry, OrderBook, RefundBook } from "./order-rows.ts";
import type { PeriodBook, PlanPart } from "./plan-rows.ts";

export interface UserBook {
  readonly id: number;
  readonly username: string;
  readonly status: number;
  quota: bigint;
  usedQuota: bigint;
  requestCount: number;
  /** What the quota that is left was bought for, as far as that is known, what calls hold included. */
  bought: Bought;
}

export interface TokenBook {
  readonly id: number;
  /** The person. */
  readonly userId: number;
  /** The account that pays for its calls: the person's, or that of a team (requirements O01). */
  readonly payerId: number;
  /** Of the team that pays; 0 = none. */
  readonly projectId: number;
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

/** A limit that is counted by window, as it is set now. */
export interface LimitBook {
  readonly id: number;
  /** Calls are counted, not quota. */
  readonly isCalls: boolean;
  readonly amount: bigint;
  readonly window: LimitWindow;
  /** Day of the month on which months begin. */
  readonly anchor: number;
  /** It is counted, and refuses nothing. */
  readonly isSoft: boolean;
  /** So much more until `boostUntil`, seconds. */
  readonly boostAmount: bigint;
  readonly boostUntil: number;
  /** Seconds; what was counted before by another window or for other models does not count. */
  readonly since: number;
}

/** What a limit has counted in one window, of one holder. */
export interface WindowBook {
  readonly limitId: number;
  /** The user, for a limit of each member of a group; 0 = the limit has one count. */
  readonly holder: number;
  /** Seconds. */
  readonly start: number;
  /** All that was ever booked here. */
  spent: bigint;
  reserved: bigint;
  /** Only of a rolling window: what was booked in each of its steps, by the step's start. */
  slices: Map<number, bigint>;
  /** The newest of its limit and holder. */
  isCurrent: boolean;
  /** The last that was set aside here, for the next call that holds the same. */
  hold?: Hold;
}

/** What a reservation has set aside in a window: its amount, or one call. */
export interface Hold {
  readonly limitId: number;
  readonly holder: number;
  readonly start: number;
  readonly isCalls: boolean;
  /** The step of a rolling window that it was reserved in; 0 = it does not roll. */
  readonly slice: number;
  /** The last list of a call that began with this one, for the next call that holds the same. */
  list?: readonly Hold[];
}

/** What the operations name of limits; all empty where none of them is limited. */
export interface LimitBooks {
  readonly rules: Map<number, LimitBook>;
  /** By `windowKey`. */
  readonly windows: Map<string, WindowBook>;
  /** The newest window by `holderKey`. */
  readonly current: Map<HolderKey, WindowBook>;
}

export function noLimits(): LimitBooks {
  return { rules: new Map(), windows: new Map(), current: new Map() };
}

/** What is counted by a limit: itself, or one of its holders. */
export interface LimitRef {
  readonly limitId: number;
  readonly holder: number;
}

/** A number for limits with one count, which most are: no text is made to look for them. */
export type HolderKey = number | string;

export function holderKey({ limitId, holder }: LimitRef): HolderKey {
  return holder === 0 ? limitId : `${limitId} ${holder}`;
}

/** The window that something was set aside in; mostly it is the newest. */
export function findWindow(
  { current, windows }: LimitBooks,
  hold: Pick<WindowBook, "limitId" | "holder" | "start">,
): WindowBook | undefined {
  const newest = current.get(holderKey(hold));
  return newest?.start === hold.start ? newest : windows.get(windowKey(hold));
}

export function windowKey({
  limitId,
  holder,
  start,
}: Pick<WindowBook, "limitId" | "holder" | "start">): string {
  return `${limitId} ${holder} ${start}`;
}

/** Adds a window that was loaded. */
export function addWindow(limits: LimitBooks, book: WindowBook): void {
  limits.windows.set(windowKey(book), book);
  if (book.isCurrent) limits.current.set(holderKey(book), book);
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
  /** The windows that the amount is set aside in too; they are settled there, whatever is configured meanwhile. */
  holds: readonly Hold[];
  /** What plans have set aside of `amount`; the wallet has the rest. */
  readonly parts: readonly PlanPart[];
  amount: bigint;
  channelId: number;
  seenCharge: bigint;
  seenPromptTokens: number;
  seenCompletionTokens: number;
}

/** A ledger entry that carries a natural key already used. */
export interface Booked {
  readonly kind: string;
  /** Signed change of what the user owns, in the wallet and in plans. */
  readonly amount: bigint;
  readonly shortfall: bigint;
}

/** What the partner plan owes a user, and what the user owes, loaded for the operations that need it. */
export interface CommissionBook {
  readonly userId: number;
  /** Millionths of a yuan. */
  micro: bigint;
  /** Quota that a refund or dispute could not take. */
  debt: bigint;
  /** Commission that a refund or dispute could not take, millionths of a yuan. */
  owedMicro: bigint;
  /** How many of the user's own orders brought an inviter commission. */
  orders: number;
  /** The newest month in which the user earned some, `2026-11`, and how much: millionths of a yuan, what went back included. */
  month: string;
  monthMicro: bigint;
}

/** A redemption code. */
export interface CodeBook {
  readonly id: number;
  readonly quota: bigint;
  /** What it was sold for, in fen; 0 = it was given away, below 0 = what codes are sold for. */
  readonly priceMinor: bigint;
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
  /** The windows of limits it was counted in; absent = none. */
  readonly holds?: readonly Hold[];
  readonly parts?: readonly PlanPart[];
}

/** An entry of the partner plan: it names a code, or changes a commission. */
export interface PartnerEntry extends LedgerEntry {
  /** 0 = from no code. */
  readonly redemptionId: number;
  /** Signed, millionths of a yuan. */
  readonly yuanMicro: bigint;
}

/** A call's entry with the part that plans paid, or the part of one plan. */
export interface PlanEntry extends LedgerEntry {
  readonly planAmount: bigint;
  /** 0 = the call as a whole. */
  readonly periodId: number;
}

/** What calls of one hour come to. */
export interface HourSums {
  readonly hour: number;
  quota: bigint;
  promptTokens: number;
  completionTokens: number;
  requests: number;
  /** Of the calls whose cost is known: billionths of a dollar, and what was charged for them. */
  cost: number;
  costedQuota: bigint;
  cachedTokens: number;
  /** Billionths of a dollar. */
  saved: number;
  /** Of `costedQuota` what is known of what it was bought for, what of `cost` was for quota that was given, and the money: billionths of a dollar. */
  pricedQuota: bigint;
  givenCost: number;
  income: number;
  fees: number;
  commission: number;
}

/** What is added along one dimension. */
export interface SumPart extends HourSums {
  readonly dimension: LogSumsTable["dimension"];
  readonly key: string;
}

/** What is added along all dimensions at once. */
export interface RollupPart extends HourSums {
  readonly userId: number;
  /** 0 = without a token. The stored sums know a token by its name, which several of an account may have. */
  readonly tokenId: number;
  readonly tokenName: string;
  readonly modelName: string;
  readonly channelId: number;
  /** Sums of the keys of a channel that has several. */
  keys?: Map<number, HourSums>;
  /** Sums of the members of a team, where the user is its wallet. */
  members?: Map<number, HourSums>;
  /** The same of its projects. */
  projects?: Map<number, HourSums>;
  /** Sums of the groups by whose ratios calls were charged. */
  groups?: Map<string, HourSums>;
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
  /** By order number, of those the operations name. */
  readonly orders: Map<string, OrderBook>;
  /** Order numbers by `tradeKey`, of the payments the operations name. */
  readonly trades: Map<string, string>;
  /** By refund number, of those the operations name. */
  readonly refunds: Map<string, RefundBook>;
  readonly limits: LimitBooks;
  /** Periods of plans by id: of those that calls name, and of users whose orders change. */
  readonly periods: Map<number, PeriodBook>;
}

/** What the rules changed, to be stored in the same transaction. */
export interface Changes {
  readonly users: Set<UserBook>;
  readonly tokens: Set<TokenBook>;
  readonly windows: Set<WindowBook>;
  readonly periods: Set<PeriodBook>;
  readonly newPeriods: PeriodBook[];
  /** Reservations whose parts in plans changed. */
  readonly planned: Set<Reservation>;
  readonly planLedger: PlanEntry[];
  /** Channel id → quota used more. */
  readonly channels: Map<number, bigint>;
  readonly inserted: Set<Reservation>;
  readonly updated: Set<Reservation>;
  readonly deleted: Set<Reservation>;
  readonly ledger: LedgerEntry[];
  readonly commissions: Set<CommissionBook>;
  readonly codes: Set<CodeBook>;
  readonly orders: Set<OrderBook>;
  readonly refunds: Set<RefundBook>;
  readonly orderEvents: EventEntry[];
  readonly partnerLedger: PartnerEntry[];
  readonly logs: NewLog[];
  /** Keyed by names that contain all dimensions. */
  readonly rollups: Map<string, RollupPart>;
}

export function noChanges(): Changes {
  return {
    users: new Set(),
    tokens: new Set(),
    windows: new Set(),
    periods: new Set(),
    newPeriods: [],
    planned: new Set(),
    planLedger: [],
    channels: new Map(),
    inserted: new Set(),
    updated: new Set(),
    deleted: new Set(),
    ledger: [],
    commissions: new Set(),
    codes: new Set(),
    orders: new Set(),
    refunds: new Set(),
    orderEvents: [],
    partnerLedger: [],
    logs: [],
    rollups: new Map(),
  };
}

/** A stored number that is not what the ledger says. */
export interface Mismatch {
  readonly table:
    | "users"
    | "tokens"
    | "channels"
    | "redemptions"
    | "orders"
    | "limit_windows"
    | "plan_periods";
  readonly id: number;
  readonly column: string;
  readonly stored: number;
  readonly expected: number;
}
