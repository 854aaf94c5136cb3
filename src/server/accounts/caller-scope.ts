// What holds for the calls of a token: the plans of who pays, the group that one of them may lend, and the limits there.
import { type GroupTables, groupsOf, mayUseGroup } from "#contract/group.ts";
import type { PlanTerms } from "#contract/plan-terms.ts";
import { DAY_SEC } from "#server/clock.ts";
import { NEVER } from "#server/money/windows.ts";
import type { Options } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { findCallerLimits, type Limited, type LimitRow } from "#server/store/limits.ts";
import { findLivePeriods, type PlanPeriodRow } from "#server/store/plans.ts";
import type { TokenWithOwner } from "#server/store/tokens.ts";

/** A period of a plan that runs. */
export interface CallerPlan {
  readonly periodId: number;
  readonly terms: PlanTerms;
}

/** A group that serves the calls of a token, and the limits there. */
export interface CallerGroup {
  readonly group: string;
  readonly limits: readonly LimitRow[];
}

export interface Scope {
  /** The earliest end first. */
  readonly plans: readonly CallerPlan[];
  /** In the order in which they are tried; empty = the token names some and may use none of them now. */
  readonly groups: readonly CallerGroup[];
  /** Seconds: a plan begins or ends then. */
  readonly until: number;
}

/** Whose calls they are, of a token or, with id 0, of a user without one. */
export type ScopeOwner = Pick<
  TokenWithOwner,
  "id" | "user_id" | "wallet_id" | "project_id" | "group" | "wallet_group" | "seat_id" | "groups"
>;

export interface ScopeMoment {
  readonly nowSec: number;
  /** How long a plan that has ended goes on lending its group. */
  readonly graceSec: number;
  readonly tables: GroupTables;
}

export async function readScope(
  db: Db,
  row: ScopeOwner,
  { nowSec, graceSec, tables }: ScopeMoment,
): Promise<Scope> {
  // Those too that have ended a moment ago.
  const periods = await findLivePeriods(db, payerOf(row), nowSec - graceSec);
  const plans = periods.filter((period) => period.starts_at <= nowSec && period.ends_at > nowSec).map(planOf);
  const changes = periods.map((period) => nextChange(period, { nowSec, graceSec }));
  // Of several plans that lend a group the dearest one's (requirements Y51).
  const lending = lendersOf(periods, nowSec).map(planOf);
  const dearest = lending.toSorted((a, b) => b.terms.price_minor - a.terms.price_minor)[0];
  const own = [groupOf(row), ...lending.map(({ terms }) => terms.lent_group)];
  const names =
    row.groups === ""
      ? [dearest?.terms.lent_group ?? groupOf(row)]
      : groupsOf(row.groups).filter((name) => mayUseGroup(name, own, tables));
  const groups: CallerGroup[] = [];
  for (const group of names)
    groups.push({ group, limits: await findCallerLimits(db, limitedBy(row, group)) });
  return { plans, groups, until: Math.min(NEVER, ...changes) };
}

/** How long a plan that has ended goes on lending its group, as the operator set it. Unit: seconds. */
export function planGraceSec(options: Pick<Options, "get">): number {
  return options.get("PlanGraceDays") * DAY_SEC;
}

/** When something of a period changes next. */
function nextChange(
  { starts_at, ends_at }: PlanPeriodRow,
  { nowSec, graceSec }: Pick<ScopeMoment, "nowSec" | "graceSec">,
): number {
  if (starts_at > nowSec) return starts_at;
  return ends_at > nowSec ? ends_at : ends_at + graceSec;
}

/**
 * Which periods lend their group: those that run; where none of them does, those that have ended within the days of grace (requirements
 * Y67). Pure.
 */
export function lendersOf(periods: readonly PlanPeriodRow[], nowSec: number): readonly PlanPeriodRow[] {
  const lenders = periods.filter(({ starts_at, terms }) => starts_at <= nowSec && lentBy(terms) !== "");
  const running = lenders.filter(({ ends_at }) => ends_at > nowSec);
  return running.length > 0 ? running : lenders;
}

function lentBy(terms: string): string {
  // Written from checked terms alone.
  return (JSON.parse(terms) as PlanTerms).lent_group;
}

function planOf({ id, terms }: PlanPeriodRow): CallerPlan {
  // Written from checked terms alone.
  return { periodId: id, terms: JSON.parse(terms) as PlanTerms };
}

/** Whose limits the calls of a token pass (requirements O08). */
function limitedBy(row: ScopeOwner, group: string): Limited {
  const own = { tokenId: row.id, userId: row.user_id, group };
  const { wallet_id: walletId, project_id: projectId } = row;
  return walletId === 0 ? own : { ...own, walletId, projectId, seatId: row.seat_id ?? 0 };
}

/** The account that pays. */
export function payerOf({ wallet_id, user_id }: ScopeOwner): number {
  return wallet_id === 0 ? user_id : wallet_id;
}

/** The team's, where a team pays. */
function groupOf({ group, wallet_group }: ScopeOwner): string {
  return (wallet_group ?? group) || "default";
}
