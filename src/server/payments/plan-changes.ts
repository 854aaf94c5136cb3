// The cheaper plan that follows when a period ends: chosen now, taken back at will, and without effect once the period was changed
// (requirements Z22). A plan that is renewed by its provider is charged at the new price from then on; one that is paid for by hand begins
// after the period when it is bought.
import type { PlanDowngrade } from "#contract/plan.ts";
import { isDowngrade } from "#contract/plan-terms.ts";
import { faults } from "#server/errors.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { findRenewalByLast, listChanges, removeChange, saveChange } from "#server/store/plan-renewals.ts";
import {
  findLivePeriods,
  findPeriod,
  findPlan,
  findPlanVersion,
  type PlanPeriodRow,
  type PlanRow,
} from "#server/store/plans.ts";
import type { Tools } from "#server/tools.ts";
import type { OrderTools } from "./orders.ts";
import { tellProvider } from "./renewal-looks.ts";

/** The last running period of its plan: what follows it is still open. */
function isOpen(period: PlanPeriodRow, periods: readonly PlanPeriodRow[], nowSec: number): boolean {
  const runs = period.ended_at === 0 && period.starts_at <= nowSec && nowSec < period.ends_at;
  const goesOn = periods.some(
    ({ plan_id, starts_at, ended_at }) =>
      plan_id === period.plan_id && ended_at === 0 && starts_at >= period.ends_at,
  );
  return runs && !goesOn;
}

/** What the periods of a user may change to when they end, and what was chosen. */
export async function downgradesOf(
  tools: Pick<Tools, "db" | "clock">,
  periods: readonly PlanPeriodRow[],
  sold: readonly PlanRow[],
): Promise<PlanDowngrade[]> {
  const { db, clock } = tools;
  const nowSec = clock.seconds();
  const has = new Set(
    periods.filter((row) => row.ended_at === 0 && row.ends_at > nowSec).map(({ plan_id }) => plan_id),
  );
  const open = periods.filter((period) => isOpen(period, periods, nowSec));
  const choices = await listChanges(
    db,
    open.map(({ id }) => id),
  );
  const rows = open.flatMap((period) => {
    const choice = choices.find(
      ({ period_id, from_version_id }) => period_id === period.id && from_version_id === period.version_id,
    );
    const offered = sold.filter(
      (plan) => !has.has(plan.id) && isDowngrade(termsOf(period.terms), termsOf(plan.terms)),
    );
    const shown = offered.map(({ id, version_id, terms }) => ({ plan_id: id, version_id, terms }));
    return [...shown.filter(({ plan_id }) => plan_id !== choice?.plan_id), ...(choice ? [choice] : [])].map(
      (plan) => ({ period, plan, isChosen: plan === choice }),
    );
  });
  return Promise.all(
    rows.map(async ({ period, plan, isChosen }) => {
      // What was chosen stays what it was then, also when it is sold no more.
      const terms =
        "terms" in plan ? plan.terms : ((await findPlanVersion(db, plan.version_id))?.terms ?? "");
      const { name, price_minor } = termsOf(terms);
      const { plan_id, version_id } = plan;
      return { period_id: period.id, plan_id, version_id, name, price_minor, is_chosen: isChosen };
    }),
  );
}

export interface Choice {
  readonly userId: number;
  readonly periodId: number;
  /** 0 = the plan that it has. */
  readonly plan_id: number;
  /** What the user saw. */
  readonly version_id: number;
}

/** Throws: AppError with the reason. */
export async function choosePlan(tools: OrderTools, choice: Choice): Promise<void> {
  const { db, clock } = tools;
  const period = await findPeriod(db, choice.periodId);
  if (period?.user_id !== choice.userId) throw faults.notFound("找不到该周期");
  if (choice.plan_id === 0) await removeChange(db, period.id);
  else await choose(tools, period, choice);
  const renewal = await findRenewalByLast(db, period.order_no);
  if (renewal && renewal.ended_at === 0 && clock.seconds() < period.ends_at)
    await tellProvider(tools, renewal.id);
}

async function choose({ db, clock }: OrderTools, period: PlanPeriodRow, choice: Choice): Promise<void> {
  const nowSec = clock.seconds();
  const periods = await findLivePeriods(db, choice.userId, nowSec);
  if (!isOpen(period, periods, nowSec))
    throw faults.refused("只有生效中且尚未续费的周期可以选择到期后改用的套餐");
  const plan = await findPlan(db, choice.plan_id);
  if (plan?.enabled !== 1 || plan.version_id !== choice.version_id)
    throw faults.refused("该套餐已下架或已更新，请刷新页面");
  if (!isDowngrade(termsOf(period.terms), termsOf(plan.terms)))
    throw faults.refused("只能改用周期相同、价格更低的套餐");
  if (periods.some(({ plan_id }) => plan_id === plan.id)) throw faults.refused("已有该套餐");
  await saveChange(db, {
    period_id: period.id,
    from_version_id: period.version_id,
    plan_id: plan.id,
    version_id: plan.version_id,
    created_at: nowSec,
  });
}
