// The tables of subscription plans, one interface each; see tables.ts. Times are seconds, prices fen.
import type { Generated } from "kysely";

/** A plan that is, or was, for sale. */
export interface PlansTable {
  id: Generated<number>;
  about: string;
  sort: number;
  /** 0 or 1. */
  enabled: number;
  /** How often one user may buy it; 0 = as often as he likes. */
  purchase_limit: number;
  /** The version that is sold now. */
  version_id: number;
  created_at: number;
}

/** What a plan promised at some time. Never changes: who has bought it keeps it (requirements Y44). */
export interface PlanVersionsTable {
  id: Generated<number>;
  plan_id: number;
  /** JSON, as contract/plan-terms.ts says. */
  terms: string;
  actor_id: number;
  created_at: number;
}

/** What a user has bought. Written by `money` only. */
export interface PlanPeriodsTable {
  id: Generated<number>;
  user_id: number;
  /** The order that opened it. */
  order_no: string;
  plan_id: number;
  version_id: number;
  n: number;
  starts_at: number;
  ends_at: number;
  anchor_at: number;
  anchor_months: number;
  ended_at: number;
  ended_by: string;
  /** JSON of the version. */
  terms: string;
  quota: number;
  spent: number;
  held: number;
  /** `kind.start.end.spent.held` of each window. */
  windows: string;
  /** What its quota was bought for, as money/bought.ts writes it; "" = by the price of its terms. */
  bought: Generated<string>;
}

/** The reminder of a period's end that was sent last. */
export interface PlanRemindersTable {
  period_id: number;
  /** Before the end. */
  days: number;
  sent_at: number;
}

export type RenewalStatus = "active" | "failed" | "ended";

/** A plan that a provider renews by itself: what we know of its subscription (requirements Z21). */
export interface PlanRenewalsTable {
  id: Generated<number>;
  user_id: number;
  instance_id: number;
  /** What the provider calls it; unique per instance. */
  provider_id: string;
  /** The order that began it. */
  order_no: string;
  /** The order of its last period. */
  last_order_no: string;
  /** What the provider charges for next, and how much. */
  version_id: number;
  currency: string;
  amount_minor: number;
  /** 0 or 1: whether the user wants it to go on. */
  renews: number;
  /** 0 or 1: whether the provider has confirmed `renews`. */
  is_told: number;
  status: RenewalStatus;
  /** 0 or 1: whether the user was written to about the payment that failed. */
  failed_told: Generated<number>;
  /** The end of the period that is paid for, as the provider says. */
  next_at: number;
  ended_at: Generated<number>;
  /** When the provider is asked next; 0 = never. */
  next_check: number;
  created_at: number;
}

/** The cheaper plan that a user has chosen for after a period (requirements Z22). */
export interface PlanChangesTable {
  period_id: number;
  /** Of the period when it was chosen: a period that was upgraded since has no choice. */
  from_version_id: number;
  plan_id: number;
  version_id: number;
  created_at: number;
}

export interface PlanTables {
  plan_renewals: PlanRenewalsTable;
  plan_changes: PlanChangesTable;
  plans: PlansTable;
  plan_versions: PlanVersionsTable;
  plan_periods: PlanPeriodsTable;
  plan_reminders: PlanRemindersTable;
}
