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

/** `renewing` of the subscribers are renewed by a provider. */
export const AdminPlan = Plan.extend({
  created_at: z.int(),
  subscribers: z.int(),
  renewing: z.int().default(0),
});
export type AdminPlan = z.output<typeof AdminPlan>;

export const PlanPeriod = z.object({
  id: z.int(),
  plan_id: z.int(),
  name: z.string(),
  order_no: z.string(),
  /** `coming` begins when the one before it ends; `stopped` was refunded, disputed, or ended by its buyer. */
  state: z.enum(["running", "coming", "over", "stopped"]),
  starts_at: z.int(),
  /** Of one that was stopped, when it was. */
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

/** A plan of the user's that a provider renews by itself (requirements Z21). */
export const PlanRenewal = z.object({
  id: z.int(),
  /** The order that began it, and that of its last period. */
  order_no: z.string(),
  last_order_no: z.string(),
  /** The plan that is paid for next. */
  plan_id: z.int(),
  name: z.string(),
  /** `failed`: the last payment was refused, and the provider tries again. */
  state: z.enum(["active", "failed", "ended"]),
  /** 0 = it was cancelled: nothing is charged any more. */
  renews: z.boolean(),
  /** Whether the provider has confirmed the last change of this. */
  is_told: z.boolean(),
  currency: z.string(),
  amount_minor: z.int(),
  /** When it is charged next, or ends. Unit: seconds. */
  next_at: z.int(),
});
export type PlanRenewal = z.output<typeof PlanRenewal>;

/** A cheaper plan that a period may change to when it ends; `is_chosen` = it was chosen (requirements Z22). */
export const PlanDowngrade = z.object({
  period_id: z.int(),
  plan_id: z.int(),
  version_id: z.int(),
  name: z.string(),
  price_minor: z.int(),
  is_chosen: z.boolean(),
});
export type PlanDowngrade = z.output<typeof PlanDowngrade>;

export const PlanShop = z.object({
  plans: rowsOf(Plan),
  methods: rowsOf(PayMethod),
  periods: rowsOf(PlanPeriod),
  upgrades: rowsOf(PlanUpgrade),
  downgrades: rowsOf(PlanDowngrade),
  renewals: rowsOf(PlanRenewal),
});
export type PlanShop = z.output<typeof PlanShop>;

export const planApi = {
  shop: endpoint({
    method: "GET",
    path: "/api/plan/shop",
    level: "user",
    summary: "在售的套餐、可用的支付方式、我的套餐及余量、升级与到期降级的价格，以及自动续费",
    data: PlanShop,
  }),
  order: endpoint({
    method: "POST",
    path: "/api/plan/order",
    level: "user",
    summary:
      "创建套餐订单：新购、续费（接在当前周期之后；begins_now 为付款后立即开始，当前周期提前结束）或升级（upgrade_of）；renews 为由支付平台自动续费",
    body: NewOrder.pick({ instance_id: true, method: true }).extend({
      plan_id: z.int().min(1),
      version_id: z.int().min(1),
      /** A running period; 0 = a new one. */
      upgrade_of: z.int().min(0).default(0),
      /** The running period of the plan ends when this is paid for, rather than going on to its end. */
      begins_now: z.boolean().default(false),
      renews: z.boolean().default(false),
    }),
    data: Order,
  }),
  renew: endpoint({
    method: "POST",
    path: "/api/plan/renewal/:id",
    level: "user",
    summary: "取消或恢复我的一项自动续费；取消后当前周期照常用到期",
    params: IdParams,
    body: z.object({ renews: z.boolean() }),
    data: PlanShop,
  }),
  card: endpoint({
    method: "POST",
    path: "/api/plan/renewal/:id/card",
    level: "user",
    summary: "更换我的一项自动续费的银行卡：返回支付平台的页面地址，几分钟内有效",
    params: IdParams,
    body: z.object({}).nullish(),
    data: z.object({ url: z.string() }),
  }),
  change: endpoint({
    method: "POST",
    path: "/api/plan/period/:id/change",
    level: "user",
    summary: "选择我的一个周期到期后改用的较低套餐；plan_id 为 0 时撤回",
    params: IdParams,
    body: z.object({ plan_id: z.int().min(0), version_id: z.int().min(0).default(0) }),
    data: PlanShop,
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
