// What a paid order of a plan does: it opens a period, or changes a running one to another plan; and what a refund or dispute ends. Pure,
// part of rules.ts (requirements Y49–Y51, Y65).
import type { PlanSale, PlanTerms } from "#contract/plan-terms.ts";
import { DAY_SEC } from "#server/clock.ts";
import { type Bought, NOTHING_BOUGHT, nanoOfFen, together } from "./bought.ts";
import type { OrderBook } from "./order-rows.ts";
import type { PeriodBook } from "./plan-rows.ts";
import { daysLeft, type PeriodTimes, periodFrom, periodNamed } from "./plan-times.ts";
import type { Desk } from "./rules-booking.ts";
import { isRunning } from "./rules-plans.ts";

type PlanDesk = Pick<Desk, "periods" | "changes" | "nowSec">;

/** All periods of a user that are stored, or about to be. */
function periodsOf({ periods, changes }: PlanDesk, userId: number): PeriodBook[] {
  return [...periods.values(), ...changes.newPeriods].filter((period) => period.userId === userId);
}

/** The period that an order opened or changed. */
function periodOf(desk: PlanDesk, { userId, orderNo, sale }: OrderBook): PeriodBook | undefined {
  if (sale === undefined) return undefined;
  return periodsOf(desk, userId).find(
    (period) => period.orderNo === orderNo || (sale.upgrade_of !== 0 && period.id === sale.upgrade_of),
  );
}

function periodsBought(desk: PlanDesk, { userId }: OrderBook, { plan_id }: PlanSale): number {
  return periodsOf(desk, userId).filter(({ planId }) => planId === plan_id).length;
}

/** Why a plan that was paid for cannot begin; "" = it can. */
export function saleFault(desk: PlanDesk, order: OrderBook, sale: PlanSale): string {
  // An order that was closed, and paid all the same after others had been bought.
  if (sale.most !== undefined && periodsBought(desk, order, sale) >= sale.most) return "plan_limit";
  if (sale.upgrade_of === 0) return "";
  const period = periodOf(desk, order);
  // Priced for another version, it would pay for what was paid already.
  const isMeant = period?.versionId === sale.upgrade_from && isRunning(period, desk.nowSec);
  return isMeant ? "" : "plan_gone";
}

/** Opens the period, or changes the one that runs, which it gives back. `saleFault` found nothing against it. */
export function sell(desk: PlanDesk, order: OrderBook, sale: PlanSale, span?: Span): PeriodBook {
  const running = sale.upgrade_of === 0 ? undefined : periodOf(desk, order);
  // An order of before margins knew it says nothing.
  const income = order.income || nanoOfFen(BigInt(sale.terms.price_minor));
  const bought = { ...NOTHING_BOUGHT, quota: BigInt(sale.quota), income, fees: order.fees };
  return running ? upgrade(desk, running, { sale, bought }) : open(desk, order, { sale, bought, span });
}

interface Sold {
  readonly sale: PlanSale;
  readonly bought: Bought;
}

/** Seconds. */
type Span = Pick<PeriodTimes, "startsAt" | "endsAt">;

function nextNumber(periods: readonly PeriodBook[]): number {
  return periods.reduce((most, { n }) => Math.max(most, n), 0) + 1;
}

/**
 * When a new period runs. Bought again before its end, a plan goes on where it ends: no second is lost, no two periods overlap (requirements
 * Y49). An invoice names the time itself, unless that was sold already (requirements Z21).
 */
function timesOf(desk: PlanDesk, before: readonly PeriodBook[], terms: PlanTerms, span?: Span): PeriodTimes {
  const live = before.filter(({ endedAt }) => endedAt === 0);
  if (span && !live.some(({ startsAt, endsAt }) => startsAt < span.endsAt && span.startsAt < endsAt))
    return periodNamed(span, terms);
  const last = live.filter(({ endsAt }) => endsAt > desk.nowSec).sort((a, b) => b.endsAt - a.endsAt)[0];
  const months = last?.terms.unit === "month" ? last.terms.count : 0;
  return periodFrom(last?.endsAt ?? desk.nowSec, terms, last && { ...last, months });
}

function open(
  desk: PlanDesk,
  order: OrderBook,
  { sale, bought, span }: Sold & { readonly span: Span | undefined },
): PeriodBook {
  const { terms } = sale;
  const all = periodsOf(desk, order.userId);
  const mine = all.filter(({ planId }) => planId === sale.plan_id);
  const followed = all.filter(({ id, planId }) => id === sale.follows && planId !== sale.plan_id);
  if (sale.begins_now) endRunning(desk, order, mine);
  const period: PeriodBook = {
    ...timesOf(desk, [...mine, ...followed], terms, span),
    id: 0,
    userId: order.userId,
    orderNo: order.orderNo,
    planId: sale.plan_id,
    versionId: sale.version_id,
    n: nextNumber(mine),
    endedAt: 0,
    endedBy: "",
    terms,
    quota: BigInt(sale.quota),
    spent: 0n,
    held: 0n,
    windows: [],
    bought,
  };
  desk.changes.newPeriods.push(period);
  return period;
}

/** Ends the period of the plan that runs, for a new one that begins at once; not where another was bought meanwhile and waits for its end. */
function endRunning(desk: PlanDesk, { orderNo }: OrderBook, periods: readonly PeriodBook[]): void {
  const live = periods.filter(({ endedAt, endsAt }) => endedAt === 0 && endsAt > desk.nowSec);
  if (live.some(({ startsAt }) => startsAt > desk.nowSec)) return;
  for (const period of live) {
    period.endedAt = desk.nowSec;
    period.endedBy = orderNo;
    desk.changes.periods.add(period);
  }
}

/** What was used stays used, also in windows that the new plan has too; the end stays where it is (requirements Y50). */
function upgrade(desk: PlanDesk, period: PeriodBook, { sale, bought }: Sold): PeriodBook {
  const others = periodsOf(desk, period.userId).filter(
    (other) => other !== period && other.planId === sale.plan_id,
  );
  if (period.planId !== sale.plan_id) period.n = nextNumber(others);
  period.planId = sale.plan_id;
  period.versionId = sale.version_id;
  period.terms = sale.terms;
  period.quota += BigInt(sale.quota);
  period.bought = together(period.bought, bought);
  desk.changes.periods.add(period);
  return period;
}

/** How much of the money paid for a plan can go back: by what is left of its days and of its quota, whichever is less (requirements Y65). */
export function refundableOf(desk: PlanDesk, order: OrderBook): number {
  const back = order.refundedMinor + order.disputedMinor;
  const period = periodOf(desk, order);
  // Nothing was opened: the payment waits for a person.
  if (!period || order.status !== "credited") return order.paidMinor - back;
  const unused = unusedDays(period, period.endedAt || desk.nowSec);
  const byDays = Math.floor((order.paidMinor * unused.left) / unused.all);
  const left = period.quota - period.spent - period.held;
  const byQuota = Number((BigInt(order.paidMinor) * left) / period.quota);
  return Math.max(0, Math.min(byDays, byQuota) - back);
}

/** Whole days that are left: one that has begun is used. */
function unusedDays(period: PeriodBook, nowSec: number): { left: number; all: number } {
  const { left, all } = daysLeft(period, nowSec);
  const isWhole = nowSec <= period.startsAt || (period.endsAt - nowSec) % DAY_SEC === 0;
  return { left: Math.max(0, isWhole ? left : left - 1), all };
}

/** Ends the period at this moment; calls that run in it finish. */
export function endPeriod(desk: PlanDesk, order: OrderBook): void {
  const period = periodOf(desk, order);
  if (period?.endedAt !== 0) return;
  period.endedAt = desk.nowSec;
  period.endedBy = order.orderNo;
  desk.changes.periods.add(period);
}

/** The money did not go back after all. */
export function resumePeriod(desk: PlanDesk, order: OrderBook): void {
  const period = periodOf(desk, order);
  if (period?.endedBy !== order.orderNo || order.refundedMinor + order.disputedMinor > 0) return;
  period.endedAt = 0;
  period.endedBy = "";
  desk.changes.periods.add(period);
}
