// What an order of a plan sells: a new period, or a running one changed to a dearer plan.
import { type PaymentProviderName, paymentProvider } from "#contract/payment-provider.ts";
import { canRenew, type PlanSale } from "#contract/plan-terms.ts";
import { faults } from "#server/errors.ts";
import { upgradeQuote } from "#server/money/plan-quote.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { findInstance } from "#server/store/payment-instances.ts";
import { findRenewalByLast, listRunningRenewals } from "#server/store/plan-renewals.ts";
import { findLivePeriods, findPeriod, findPlan, findPlanVersion, type PlanRow } from "#server/store/plans.ts";
import { getUser } from "#server/store/users.ts";
import { planCommission } from "./commission.ts";
import type { Goods, OrderTools } from "./orders.ts";
import { choiceOf } from "./renewals.ts";

export interface PlanWish {
  readonly userId: number;
  readonly plan_id: number;
  /** What the buyer saw. */
  readonly version_id: number;
  readonly upgrade_of: number;
  readonly instance_id: number;
  readonly method: string;
  /** The provider is to renew it by itself. */
  readonly renews: boolean;
  /** The running period of the plan ends for the new one. */
  readonly begins_now: boolean;
}

/** Throws: AppError with the reason. */
export async function planGoods(tools: OrderTools, wish: PlanWish): Promise<Goods> {
  const { db } = tools;
  const plan = await findPlan(db, wish.plan_id);
  if (plan?.enabled !== 1 || plan.version_id !== wish.version_id)
    throw faults.refused("该套餐已下架或已更新，请刷新页面");
  const terms = termsOf(plan.terms);
  if (wish.renews) await checkRenewing(tools, wish, plan);
  if (wish.begins_now) await checkBeginning(tools, wish);
  const follows = await followed(tools, wish);
  const base = {
    plan_id: plan.id,
    version_id: plan.version_id,
    terms,
    ...(wish.renews && { renews: true as const }),
    ...(wish.begins_now && { begins_now: true as const }),
    ...(follows !== undefined && { follows }),
    ...(plan.purchase_limit > 0 && { most: plan.purchase_limit }),
  };
  const { sale, yuanMinor } =
    wish.upgrade_of === 0
      ? {
          sale: { ...base, upgrade_of: 0, upgrade_from: 0, quota: terms.quota },
          yuanMinor: terms.price_minor,
        }
      : await upgradeOf(tools, wish, base);
  const user = await getUser(db, wish.userId);
  return {
    yuanMinor,
    product: {
      plan_id: plan.id,
      version_id: plan.version_id,
      upgrade_of: sale.upgrade_of,
      // Another day is another price.
      yuanMinor,
      quota: sale.quota,
      ...(wish.renews && { renews: true }),
      ...(wish.begins_now && { begins_now: true }),
    },
    // Of an upgrade too: an order is about some quota.
    quota: terms.quota,
    giver_id: 0,
    inviter_id: user.inviter_id,
    gift_quota: 0,
    commission_micro: planCommission(tools, user, yuanMinor),
    plan_sale: JSON.stringify(sale satisfies PlanSale),
  };
}

/** Throws: AppError when the provider cannot renew this plan, or does already. */
async function checkRenewing({ db }: OrderTools, wish: PlanWish, plan: PlanRow): Promise<void> {
  const instance = await findInstance(db, wish.instance_id);
  // The column holds names of providers only.
  const { renewing = [] } = instance ? paymentProvider(instance.provider as PaymentProviderName) : {};
  if (!renewing.includes(wish.method)) throw faults.refused("该支付方式不支持自动续费");
  const isNew = wish.upgrade_of === 0;
  if (!isNew || !canRenew({ ...termsOf(plan.terms), purchase_limit: plan.purchase_limit }))
    throw faults.refused("该套餐不支持自动续费");
  for (const { version_id, renews } of await listRunningRenewals(db, wish.userId)) {
    const version = await findPlanVersion(db, version_id);
    if (renews === 1 && version?.plan_id === plan.id) throw faults.refused("该套餐已开启自动续费");
  }
}

/** Throws: AppError when no period of the plan can end for a new one: none runs, another waits for its end, or the provider renews it. */
async function checkBeginning(
  { db, clock }: OrderTools,
  { userId, plan_id, upgrade_of, renews }: PlanWish,
): Promise<void> {
  const nowSec = clock.seconds();
  const periods = await findLivePeriods(db, userId, nowSec);
  const [running, ...more] = periods.filter((period) => period.plan_id === plan_id);
  const isNew = upgrade_of === 0 && !renews;
  if (!isNew || running === undefined || running.starts_at > nowSec || more.length > 0)
    throw faults.refused("只有最后一个周期可以提前结束，请刷新页面");
  const renewal = await findRenewalByLast(db, running.order_no);
  if (renewal?.renews === 1 && renewal.ended_at === 0)
    throw faults.refused("该套餐已开启自动续费，不能提前开始下一周期");
}

/** The period that the plan is to begin after, because that was chosen (requirements Z22). Throws: AppError. */
async function followed(
  tools: OrderTools,
  { userId, plan_id, upgrade_of, renews }: PlanWish,
): Promise<number | undefined> {
  const { db, clock } = tools;
  if (upgrade_of !== 0) return undefined;
  for (const period of await findLivePeriods(db, userId, clock.seconds())) {
    if ((await choiceOf(tools, period))?.plan_id !== plan_id) continue;
    const renewal = await findRenewalByLast(db, period.order_no);
    if (renews || (renewal?.renews === 1 && renewal.ended_at === 0))
      throw faults.refused("已选择到期后改用该套餐，自动续费时会按新价格扣款");
    return period.id;
  }
  return undefined;
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
