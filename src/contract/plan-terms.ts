// What a subscription plan (套餐) promises, as data and types. Without schemas, since the ledger's rules need them.
import { isModelOf } from "./limit-words.ts";

/** `session` is five hours from the first call on; days, weeks of seven days and months count from the period's start. */
export const PLAN_WINDOWS = ["session", "day", "week", "month"] as const;
export type PlanWindowKind = (typeof PLAN_WINDOWS)[number];

export const PLAN_WINDOW_LABELS: Readonly<Record<PlanWindowKind, string>> = {
  session: "每 5 小时",
  day: "每天",
  week: "每 7 天",
  month: "每月",
};

export const PLAN_UNITS = ["day", "month"] as const;
export type PlanUnit = (typeof PLAN_UNITS)[number];

/** Never more of the period's quota than this in one window. Unit: quota. */
export interface PlanWindow {
  readonly kind: PlanWindowKind;
  readonly quota: number;
}

/** What one version of a plan promises; who has bought it keeps it (requirements Y44). */
export interface PlanTerms {
  readonly name: string;
  /** Length of a period. */
  readonly unit: PlanUnit;
  readonly count: number;
  /** Of one period. */
  readonly quota: number;
  /** Fen. */
  readonly price_minor: number;
  readonly windows: readonly PlanWindow[];
  /** Models it pays for, a beginning with `*` behind or whole; empty = all. */
  readonly models: readonly string[];
  /** Groups whose calls it pays for; empty = all. */
  readonly groups: readonly string[];
  /** The group its user is in while it runs; "" = the user's own. */
  readonly lent_group: string;
  /** The wallet pays what the plan has no quota for. */
  readonly overflow: boolean;
}

/** What an order sells, frozen when it is made. */
export interface PlanSale {
  readonly plan_id: number;
  readonly version_id: number;
  /** The running period that changes to this plan; 0 = a new period. */
  readonly upgrade_of: number;
  /** The version that it changes from; 0 = a new period. */
  readonly upgrade_from: number;
  /** What it brings: of a new period its quota, of an upgrade what is added. */
  readonly quota: number;
  /** The provider is to renew it by itself from then on (requirements Z21). */
  readonly renews?: true;
  /** The period of another plan that the new one begins after, rather than now (requirements Z22). */
  readonly follows?: number;
  /** The new period begins at once, and the running one of the plan ends for it; it is not paid back by that (requirements Y49). */
  readonly begins_now?: true;
  /** How often one user may buy the plan, as it was when this was ordered; absent = as often as he likes. */
  readonly most?: number;
  readonly terms: PlanTerms;
}

/** The longest that Stripe renews by itself, in each unit (vendors/stripe). */
const LONGEST: Readonly<Record<PlanUnit, number>> = { day: 1_095, month: 36 };

/** Whether a provider can renew a plan by itself: for years at most, and not where the number of purchases is limited. */
export function canRenew({
  unit,
  count,
  purchase_limit,
}: Pick<PlanTerms, "unit" | "count"> & { readonly purchase_limit: number }): boolean {
  return count <= LONGEST[unit] && purchase_limit === 0;
}

/** Whether a period may change to a plan when it ends: one of the same length that costs less (requirements Z22). */
export function isDowngrade(
  from: Pick<PlanTerms, "unit" | "count" | "price_minor">,
  to: Pick<PlanTerms, "unit" | "count" | "price_minor">,
): boolean {
  return to.unit === from.unit && to.count === from.count && to.price_minor < from.price_minor;
}

/** Whether a plan pays for calls of this model, by the name it was asked for, in this group (requirements Y52). */
export function paysFor(
  { models, groups }: Pick<PlanTerms, "models" | "groups">,
  model: string,
  group: string,
): boolean {
  if (groups.length > 0 && !groups.includes(group)) return false;
  return models.length === 0 || models.some((pattern) => isModelOf(pattern, model));
}
