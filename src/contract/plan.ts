// Subscription plans (套餐): what is sold, what a user has bought and what is left of it, and the plans as administrators keep them
// (requirements Y44–Y52).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { minorOf } from "./money.ts";
import { NewOrder, Order, PayMethod } from "./payment.ts";
import { PLAN_UNITS, PLAN_WINDOWS } from "./plan-terms.ts";
import { IdParams, Quota, rowsOf } from "./wire.ts";

const PlanQuota = z.int().min(1, "额度须大于 0").max(Number.MAX_SAFE_INTEGER, "额度过大");
const Names = z.array(z.string().trim().min(1).max(200)).max(200, "最多 200 个");

export const PlanDraft = z.object({
  name: z.string().trim().min(1, "请输入名称").max(40, "名称最多 40 个字符"),
  /** For the buyer; plain text. */
  about: z.string().trim().max(500, "说明最多 500 个字符").default(""),
  sort: z.int().min(0).max(1_000).default(0),
  is_enabled: z.boolean(),
  /** How often one user may buy it; 0 = as often as he likes. */
  purchase_limit: z.int().min(0).max(1_000).default(0),
  /** Yuan as decimal text. */
  price: z.string().refine((text) => (minorOf(text) ?? 0) > 0, "价格须为大于 0、最多两位小数的数字"),
  unit: z.enum(PLAN_UNITS),
  count: z.int().min(1, "周期至少为 1").max(366, "周期过长"),
  quota: PlanQuota,
  windows: z
    .array(z.object({ kind: z.enum(PLAN_WINDOWS), quota: PlanQuota }))
    .max(PLAN_WINDOWS.length)
    .refine((list) => new Set(list.map(({ kind }) => kind)).size === list.length, "同一种时段只能有一个上限")
    .default([]),
  /** Empty = all. */
  models: Names.default([]),
  groups: Names.default([]),
  /** "" = the user's own. */
  lent_group: z.string().trim().max(64).default(""),
  overflow: z.boolean(),
});
export type PlanDraft = z.output<typeof PlanDraft>;

export const Plan = PlanDraft.extend({
  id: z.int(),
  version_id: z.int(),
  price_minor: z.int(),
});
export type Plan = z.output<typeof Plan>;

export const AdminPlan = Plan.extend({ created_at: z.int(), subscribers: z.int() });
export type AdminPlan = z.output<typeof AdminPlan>;

export const PlanPeriod = z.object({
  id: z.int(),
  plan_id: z.int(),
  name: z.string(),
  order_no: z.string(),
  /** `coming` begins when the one before it ends; `stopped` was refunded or disputed. */
  state: z.enum(["running", "coming", "over", "stopped"]),
  starts_at: z.int(),
  ends_at: z.int(),
  quota: Quota,
  /** Charged, and set aside by calls that run. */
  used: Quota,
  windows: z.array(
    z.object({
      kind: z.enum(PLAN_WINDOWS),
      quota: Quota,
      used: Quota,
      /** Seconds; 0 = nothing was used in it yet. */
      resets_at: z.int(),
    }),
  ),
  overflow: z.boolean(),
  lent_group: z.string(),
});
export type PlanPeriod = z.output<typeof PlanPeriod>;

/** What changing a running period to another plan costs now, and brings. */
export const PlanUpgrade = z.object({
  period_id: z.int(),
  plan_id: z.int(),
  price_minor: z.int(),
  quota: Quota,
});
export type PlanUpgrade = z.output<typeof PlanUpgrade>;

export const planApi = {
  shop: endpoint({
    method: "GET",
    path: "/api/plan/shop",
    level: "user",
    summary: "在售的套餐、可用的支付方式、我的套餐及余量，以及升级的价格",
    data: z.object({
      plans: rowsOf(Plan),
      methods: rowsOf(PayMethod),
      periods: rowsOf(PlanPeriod),
      upgrades: rowsOf(PlanUpgrade),
    }),
  }),
  order: endpoint({
    method: "POST",
    path: "/api/plan/order",
    level: "user",
    summary: "创建套餐订单：新购、续费（接在当前周期之后）或升级（upgrade_of）",
    body: NewOrder.pick({ instance_id: true, method: true }).extend({
      plan_id: z.int().min(1),
      version_id: z.int().min(1),
      /** A running period; 0 = a new one. */
      upgrade_of: z.int().min(0).default(0),
    }),
    data: Order,
  }),
  list: endpoint({
    method: "GET",
    path: "/api/plan/",
    level: "admin",
    permission: "money.read",
    summary: "全部套餐与其进行中的订阅数",
    data: rowsOf(AdminPlan),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/plan/",
    level: "root",
    permission: "money.write",
    stepUp: "guarded",
    summary: "新建套餐",
    body: PlanDraft,
    data: AdminPlan,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/plan/:id",
    level: "root",
    permission: "money.write",
    stepUp: "guarded",
    summary: "修改套餐：成为新版本，已购买的周期不变",
    params: IdParams,
    body: PlanDraft,
    data: AdminPlan,
  }),
};
