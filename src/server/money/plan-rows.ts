// Periods of plans as the rules of the ledger see them, and what calls have set aside in them. Types only.
import type { PlanTerms, PlanWindowKind } from "#contract/plan-terms.ts";
import type { Bought } from "./bought.ts";
import type { PeriodTimes } from "./plan-times.ts";

/** What was used in one window; the next window is another one, and no count is ever set to 0. */
export interface PlanWindowBook {
  readonly kind: PlanWindowKind;
  readonly start: number;
  readonly end: number;
  spent: bigint;
  held: bigint;
}

/** A paid period of a plan. */
export interface PeriodBook extends PeriodTimes {
  /** 0 = it is not stored yet. */
  readonly id: number;
  readonly userId: number;
  /** The order that opened it. */
  readonly orderNo: string;
  planId: number;
  versionId: number;
  /** From 1 on, of this user and plan. */
  n: number;
  /** Seconds; 0 = it runs to its end. */
  endedAt: number;
  /** The order whose refund or dispute ended it. */
  endedBy: string;
  terms: PlanTerms;
  quota: bigint;
  spent: bigint;
  held: bigint;
  /** What the quota that is left was bought for. */
  bought: Bought;
  /** Oldest first; of those that are over only the ones in which calls still hold something. */
  windows: PlanWindowBook[];
}

/** What a call has set aside of a period, and in which windows it counts; none are named before it takes something. */
export interface PlanPart {
  readonly periodId: number;
  amount: bigint;
  windows: readonly Pick<PlanWindowBook, "kind" | "start">[];
}
