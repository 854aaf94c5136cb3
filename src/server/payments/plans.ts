// What an order of a plan sells: a new period, or a running one changed to a dearer plan.
import type { PlanSale } from "#contract/plan-terms.ts";
import { faults } from "#server/errors.ts";
import { upgradeQuote } from "#server/money/plan-quote.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { countPeriods, findLivePeriods, findPeriod, findPlan } from "#server/store/plans.ts";
import { getUser } from "#server/store/users.ts";
import type { Goods, OrderTools } from "./orders.ts";

/** Millionths of a yuan in a hundredth of a fen's worth: 1 % of 1 fen. */
const MICRO_PER_PERCENT = 100;

export interface PlanWish {
  readonly userId: number;
  readonly plan_id: number;
  /** What the buyer saw. */
  readonly version_id: number;
  readonly upgrade_of: number;
}

/** Throws: AppError with the reason. */
export async function planGoods(tools: OrderTools, wish: PlanWish): Promise<Goods> {
  const { db } = tools;
  const plan = await findPlan(db, wish.plan_id);
  if (plan?.enabled !== 1 || plan.version_id !== wish.version_id)
    throw faults.refused("该套餐已下架或已更新，请刷新页面");
  const bought = await countPeriods(db, wish.userId, plan.id);
  if (plan.purchase_limit > 0 && bought >= plan.purchase_limit)
    throw faults.refused(`该套餐每人最多购买 ${plan.purchase_limit} 次`);
  const terms = termsOf(plan.terms);
  const base = { plan_id: plan.id, version_id: plan.version_id, terms };
  const { sale, yuanMinor } =
    wish.upgrade_of === 0
      ? {
          sale: { ...base, upgrade_of: 0, upgrade_from: 0, quota: terms.quota },
          yuanMinor: terms.price_minor,
        }
      : await upgradeOf(tools, wish, base);
  const { inviter_id } = await getUser(db, wish.userId);
  return {
    yuanMinor,
    product: {
      plan_id: plan.id,
      version_id: plan.version_id,
      upgrade_of: sale.upgrade_of,
      // Another day is another price.
      yuanMinor,
      quota: sale.quota,
    },
    // Of an upgrade too: an order is about some quota.
    quota: terms.quota,
    giver_id: 0,
    inviter_id,
    gift_quota: 0,
    commission_micro: yuanMinor * MICRO_PER_PERCENT * tools.options.get("PlanCommissionPercent"),
    plan_sale: JSON.stringify(sale satisfies PlanSale),
  };
}

async function upgradeOf(
  { db, clock }: OrderTools,
  { userId, upgrade_of }: PlanWish,
  base: Pick<PlanSale, "plan_id" | "version_id" | "terms">,
): Promise<{ sale: PlanSale; yuanMinor: number }> {
  const nowSec = clock.seconds();
  const period = await findPeriod(db, upgrade_of);
  const quote = period?.user_id === userId ? upgradeQuote(period, base.terms, nowSec) : undefined;
  if (!period || !quote) throw faults.refused("不能从当前套餐升级到该套餐");
  const live = await findLivePeriods(db, userId, nowSec);
  if (live.some(({ id, plan_id }) => id !== period.id && plan_id === base.plan_id))
    throw faults.refused("已有该套餐，无需升级");
  const sale = { ...base, upgrade_of, upgrade_from: period.version_id, quota: quote.quota };
  return { sale, yuanMinor: quote.priceMinor };
}
