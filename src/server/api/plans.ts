// Handlers: subscription plans. Users buy them by orders, as the payments room makes them; a change is a new version, sold from then on.
import { minorOf, minorText } from "#contract/money.ts";
import type { AdminPlan, Plan, PlanDraft, PlanPeriod, PlanUpgrade, planApi } from "#contract/plan.ts";
import type { PlanTerms } from "#contract/plan-terms.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import { upgradeQuote, windowStates } from "#server/money/plan-quote.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { createOrder } from "#server/payments/orders.ts";
import { planGoods } from "#server/payments/plans.ts";
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

/** Periods that a user sees of himself. */
const SHOWN = 20;

export const plan: Handlers<{ plan: typeof planApi }>["plan"] = {
  async shop(ctx, { actor }) {
    const nowSec = ctx.clock.seconds();
    const sold = (await listPlans(ctx.db)).filter(({ enabled }) => enabled === 1);
    const periods = await listPeriods(ctx.db, actor.id, SHOWN);
    return {
      plans: sold.map(present),
      methods: await methodsOf(ctx),
      periods: periods.map((row) => presentPeriod(row, nowSec)),
      upgrades: upgradesOf(periods, sold, nowSec),
    };
  },

  async order(ctx, { actor, body, address }) {
    await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
    const goods = await planGoods(ctx, { ...body, userId: actor.id });
    const order = await createOrder(ctx, { ...body, userId: actor.id, address }, goods);
    return presentOrder(order, await labelsOf(ctx));
  },

  async list(ctx) {
    const counts = await countSubscribers(ctx.db, ctx.clock.seconds());
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

function presentAdmin(row: PlanRow, counts: ReadonlyMap<number, number>): AdminPlan {
  return { ...present(row), created_at: row.created_at, subscribers: counts.get(row.id) ?? 0 };
}

async function presentOne(ctx: Context, id: number): Promise<AdminPlan> {
  const row = await findPlan(ctx.db, id);
  if (!row) throw faults.notFound("找不到该套餐");
  return presentAdmin(row, await countSubscribers(ctx.db, ctx.clock.seconds()));
}

function presentPeriod(row: PlanPeriodRow, nowSec: number): PlanPeriod {
  const { name, overflow, lent_group } = termsOf(row.terms);
  const { id, plan_id, order_no, starts_at, ends_at, quota, spent, held } = row;
  return {
    id,
    plan_id,
    name,
    order_no,
    state: stateOf(row, nowSec),
    starts_at,
    ends_at,
    quota,
    used: spent + held,
    windows: windowStates(row, nowSec).map(({ resetsAt, ...window }) => ({ ...window, resets_at: resetsAt })),
    overflow,
    lent_group,
  };
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
