// Plans for tests of the books: terms, and periods that were bought and paid for.
import type { PlanSale, PlanTerms } from "#contract/plan-terms.ts";
import type { Ledger } from "#server/money/ledger.ts";
import type { Db } from "#server/store/db.ts";
import type { NewOrder, OrderRow } from "#server/store/orders.ts";
import type { PlanPeriodRow } from "#server/store/plans.ts";
import { orderChange, proofOf, seedInstance, seedOrder } from "./order-rows.ts";

/** A month of 1,000 quota for 30 yuan, after which the wallet pays. */
export function terms(change: Partial<PlanTerms> = {}): PlanTerms {
  return {
    name: "基础版",
    unit: "month",
    count: 1,
    quota: 1_000,
    price_minor: 3_000,
    windows: [],
    models: [],
    groups: [],
    lent_group: "",
    overflow: true,
    ...change,
  };
}

export interface Bought {
  readonly userId: number;
  readonly planId?: number;
  readonly versionId?: number;
  readonly terms?: PlanTerms;
  /** How often one user may buy it. */
  readonly most?: number;
  /** The running period of the plan ends for it. */
  readonly beginsNow?: true;
  /** What else its order says. */
  readonly order?: Partial<NewOrder>;
  /** Of an upgrade: the period, and what is added. */
  readonly upgrade?: { readonly period: PlanPeriodRow; readonly quota: number; readonly priceMinor: number };
}

/** An order of a plan that waits for its payment. */
export async function orderPlan(db: Db, bought: Bought): Promise<OrderRow> {
  const { userId, planId = 1, versionId = planId, terms: promised = terms(), upgrade } = bought;
  const sale: PlanSale = {
    plan_id: planId,
    version_id: versionId,
    upgrade_of: upgrade?.period.id ?? 0,
    upgrade_from: upgrade?.period.version_id ?? 0,
    quota: upgrade?.quota ?? promised.quota,
    ...(bought.beginsNow && { begins_now: true }),
    ...(bought.most !== undefined && { most: bought.most }),
    terms: promised,
  };
  return seedOrder(db, {
    user_id: userId,
    instance_id: await seedInstance(db),
    quota: promised.quota,
    amount_minor: upgrade?.priceMinor ?? promised.price_minor,
    plan_sale: JSON.stringify(sale),
    ...bought.order,
  });
}

/** Buys a plan and pays for it. Returns the order; `periodOf` finds what it opened. */
export async function buyPlan(db: Db, ledger: Ledger, bought: Bought): Promise<OrderRow> {
  const order = await orderPlan(db, bought);
  const { outcome } = await ledger.changeOrder(orderChange(order, proofOf(order)));
  if (outcome !== "credited") throw new Error(`the plan was not credited but ${outcome}`);
  return order;
}

/** The period that an order opened. Throws: when there is none. */
export function periodOf(db: Db, { order_no }: Pick<OrderRow, "order_no">): Promise<PlanPeriodRow> {
  return db.selectFrom("plan_periods").selectAll().where("order_no", "=", order_no).executeTakeFirstOrThrow();
}
