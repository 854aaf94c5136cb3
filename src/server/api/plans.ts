// Handlers: subscription plans. Users buy them by orders, as the payments room makes them; a change is a new version, sold from then on.
import type { Language } from "#contract/language.ts";
import { minorOf, minorText } from "#contract/money.ts";
import type {
  AdminPlan,
  Plan,
  PlanDraft,
  PlanPeriod,
  PlanShop,
  PlanUpgrade,
  planApi,
} from "#contract/plan.ts";
import type { PlanTerms } from "#contract/plan-terms.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import { upgradeQuote, windowStates } from "#server/money/plan-quote.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { createOrder } from "#server/payments/orders.ts";
import { choosePlan, downgradesOf } from "#server/payments/plan-changes.ts";
import { planGoods } from "#server/payments/plans.ts";
import { cardPageOf, decideRenewal } from "#server/payments/renewal-looks.ts";
import {
  countRenewing,
  findRenewal,
  listRunningRenewals,
  type RenewalRow,
} from "#server/store/plan-renewals.ts";
import {
  countSubscribers,
  findPlan,
  insertPlan,
  insertPlanVersion,
  listPeriods,
  listPlans,
  type PlanPeriodRow,
  type PlanRow,
  updatePlan,
} from "#server/store/plans.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { labelsOf, methodsOf, presentOrder } from "./payment.ts";
import { presentRenewal } from "./plan-renewals.ts";

/** Periods that a user sees of himself. */
const SHOWN = 20;

export const plan: Handlers<{ plan: typeof planApi }>["plan"] = {
  shop: (ctx, { actor, language }) => presentShop(ctx, actor.id, language),

  async order(ctx, { actor, body, address, language }) {
    await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
    const goods = await planGoods(ctx, { ...body, userId: actor.id });
    const order = await createOrder(ctx, { ...body, userId: actor.id, address }, goods);
    return presentOrder(order, await labelsOf(ctx, language));
  },

  async renew(ctx, { actor, params, body, address, language }) {
    const renewal = await runningRenewal(ctx, { actor, params, address });
    await decideRenewal(ctx, { id: renewal.id, renews: body.renews });
    return presentShop(ctx, actor.id, language);
  },

  async card(ctx, call) {
    return { url: await cardPageOf(ctx, await runningRenewal(ctx, call)) };
  },

  async change(ctx, { actor, params, body, address, language }) {
    await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
    await choosePlan(ctx, { ...body, userId: actor.id, periodId: params.id });
    return presentShop(ctx, actor.id, language);
  },

  async list(ctx) {
    const counts = await countsOf(ctx);
    return (await listPlans(ctx.db)).map((row) => presentAdmin(row, counts));
  },

  async create(ctx, call) {
    const { body, actor } = call;
    const created_at = ctx.clock.seconds();
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertPlan(tx, { ...columnsOf(body), version_id: 0, created_at });
      const terms = JSON.stringify(draftTerms(body));
      const version_id = await insertPlanVersion(tx, {
        plan_id: made,
        terms,
        actor_id: actor.id,
        created_at,
      });
      await updatePlan(tx, made, { version_id });
      await audit(ctx, tx, call, { action: "plan.create", target: made, detail: body });
      return made;
    });
    return presentOne(ctx, id);
  },

  async update(ctx, call) {
    const { body, actor, params } = call;
    const before = await findPlan(ctx.db, params.id);
    if (!before) throw faults.notFound("找不到该套餐");
    const terms = JSON.stringify(draftTerms(body));
    await ctx.db.transaction().execute(async (tx) => {
      // What is no change of the terms is no other version: who is about to buy need not look again.
      const version_id =
        terms === before.terms
          ? before.version_id
          : await insertPlanVersion(tx, {
              plan_id: before.id,
              terms,
              actor_id: actor.id,
              created_at: ctx.clock.seconds(),
            });
      await updatePlan(tx, before.id, { ...columnsOf(body), version_id });
      await audit(ctx, tx, call, {
        action: "plan.update",
        target: before.id,
        detail: { ...body, version_id },
        before: present(before),
      });
    });
    return presentOne(ctx, before.id);
  },
};

/** A user's own renewal that has not ended. Throws: AppError; also when the user asks too often. */
async function runningRenewal(
  ctx: Context,
  {
    actor,
    params,
    address,
  }: {
    readonly actor: { readonly id: number };
    readonly params: { readonly id: number };
    readonly address: string;
  },
): Promise<RenewalRow> {
  await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
  const renewal = await findRenewal(ctx.db, params.id);
  if (renewal?.user_id !== actor.id) throw faults.notFound("找不到该自动续费");
  if (renewal.ended_at > 0) throw faults.refused("该自动续费已经结束，可重新购买套餐");
  return renewal;
}

function columnsOf({ about, sort, is_enabled, purchase_limit }: PlanDraft) {
  return { about, sort, enabled: is_enabled ? 1 : 0, purchase_limit };
}

function draftTerms(draft: PlanDraft): PlanTerms {
  const { name, unit, count, quota, price, windows, models, groups, lent_group, overflow } = draft;
  const price_minor = minorOf(price) ?? 0;
  return { name, unit, count, quota, price_minor, windows, models, groups, lent_group, overflow };
}

function present(row: PlanRow): Plan {
  const { windows, models, groups, ...terms } = termsOf(row.terms);
  return {
    ...terms,
    id: row.id,
    version_id: row.version_id,
    about: row.about,
    sort: row.sort,
    is_enabled: row.enabled === 1,
    purchase_limit: row.purchase_limit,
    price: minorText(terms.price_minor),
    windows: [...windows],
    models: [...models],
    groups: [...groups],
  };
}

interface Counts {
  readonly subscribers: ReadonlyMap<number, number>;
  readonly renewing: ReadonlyMap<number, number>;
}

async function countsOf({ db, clock }: Context): Promise<Counts> {
  return { subscribers: await countSubscribers(db, clock.seconds()), renewing: await countRenewing(db) };
}

function presentAdmin(row: PlanRow, { subscribers, renewing }: Counts): AdminPlan {
  return {
    ...present(row),
    created_at: row.created_at,
    subscribers: subscribers.get(row.id) ?? 0,
    renewing: renewing.get(row.id) ?? 0,
  };
}

async function presentOne(ctx: Context, id: number): Promise<AdminPlan> {
  const row = await findPlan(ctx.db, id);
  if (!row) throw faults.notFound("找不到该套餐");
  return presentAdmin(row, await countsOf(ctx));
}

async function presentShop(ctx: Context, userId: number, language: Language): Promise<PlanShop> {
  const nowSec = ctx.clock.seconds();
  const sold = (await listPlans(ctx.db)).filter(({ enabled }) => enabled === 1);
  const periods = await listPeriods(ctx.db, userId, SHOWN);
  const renewals = await listRunningRenewals(ctx.db, userId);
  return {
    plans: sold.map(present),
    methods: await methodsOf(ctx, language),
    periods: periods.map((row) => presentPeriod(row, nowSec)),
    upgrades: upgradesOf(periods, sold, nowSec),
    downgrades: await downgradesOf(ctx, periods, sold),
    renewals: await Promise.all(renewals.map((row) => presentRenewal(ctx, row))),
  };
}

function presentPeriod(row: PlanPeriodRow, nowSec: number): PlanPeriod {
  const { name, overflow, lent_group } = termsOf(row.terms);
  const { id, plan_id, order_no, starts_at, quota, spent, held } = row;
  return {
    id,
    plan_id,
    name,
    order_no,
    state: stateOf(row, nowSec),
    starts_at,
    ends_at: endOf(row),
    quota,
    used: spent + held,
    windows: windowStates(row, nowSec).map(({ resetsAt, ...window }) => ({ ...window, resets_at: resetsAt })),
    overflow,
    lent_group,
  };
}

/** When it ends, or has ended: one that was stopped before it began has no length. */
function endOf({ starts_at, ends_at, ended_at }: PlanPeriodRow): number {
  return ended_at === 0 ? ends_at : Math.min(ends_at, Math.max(starts_at, ended_at));
}

function stateOf({ starts_at, ends_at, ended_at }: PlanPeriodRow, nowSec: number): PlanPeriod["state"] {
  if (ended_at !== 0) return "stopped";
  if (nowSec < starts_at) return "coming";
  return nowSec < ends_at ? "running" : "over";
}

/** To plans that the user does not have. */
function upgradesOf(
  periods: readonly PlanPeriodRow[],
  plans: readonly PlanRow[],
  nowSec: number,
): PlanUpgrade[] {
  const has = new Set(
    periods.filter((row) => row.ended_at === 0 && row.ends_at > nowSec).map(({ plan_id }) => plan_id),
  );
  return periods.flatMap((period) =>
    plans.flatMap(({ id, terms }) => {
      const quote = has.has(id) ? undefined : upgradeQuote(period, termsOf(terms), nowSec);
      if (!quote) return [];
      return [{ period_id: period.id, plan_id: id, price_minor: quote.priceMinor, quota: quote.quota }];
    }),
  );
}
