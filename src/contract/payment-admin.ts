// Payments as administrators see them: merchant accounts, all orders with their history, what waits for a person, refunds, acts by hand
// (requirements Y34–Y41).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { CURRENCIES, minorOf } from "./money.ts";
import { Order, OrderParams } from "./payment.ts";
import { paymentProviderNames } from "./payment-provider.ts";
import { PlanRenewal } from "./plan.ts";
import { IdParams, InBlocks, ListBeside, ListQuery, MadeBetween, Nothing, query, rowsOf } from "./wire.ts";

/** Why a genuine payment waits for a person, in words. */
export const PAYMENT_DOUBTS: Readonly<Record<string, string>> = {
  amount: "实付金额与订单不符",
  currency: "币种与订单不符",
  user_gone: "用户已注销",
  too_large: "到账后额度会超出上限",
  plan_gone: "要升级的套餐已经结束或已升级",
  plan_limit: "该套餐已达到每人购买次数的上限",
  renewal_over: "自动续费结束之后才付的款",
  paid_twice: "同一订单付款两次",
  trade_used: "同一笔付款对应两个订单",
  unknown_order: "找不到对应的订单",
  wrong_merchant: "通知属于另一个商户",
  not_listed: "支付平台的账单里没有这笔付款",
  return_early: "付款到账之前就有退款或拒付",
  other_payment: "退的是该订单的另一笔付款",
  return_failed: "已登记为完成的退款后来在支付平台失败，款项没有到付款人手中",
  dispute_won: "拒付已撤销，付款尚未入账",
  return_unsure: "支付平台那边有退款，但没有说清金额，请到平台核实",
  awaits_second: "补单等待另一位超级管理员批准",
  not_confirmed: "支付平台的账单里有这笔付款，但查询结果与它不符",
};

const Text = z.string().trim().max(8_000, "最多 8,000 个字符");
const Reason = z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符");
/** Money as decimal text. */
const Money = z.string().refine((text) => (minorOf(text) ?? 0) > 0, "金额须为大于 0、最多两位小数的数字");

export const InstanceDraft = z.object({
  name: z.string().trim().min(1, "请输入名称").max(40, "名称最多 40 个字符"),
  is_enabled: z.boolean(),
  sort: z.int().min(0).max(1_000).default(0),
  methods: z.array(z.string().max(32)).min(1, "请至少选择一种支付方式").max(10),
  /** Hundredths of a per cent. */
  fee_bp: z.int().min(0).max(2_000, "手续费最多 20%").default(0),
  /** What the platform keeps of each payment, hundredths of a per cent; for margins alone. */
  cost_bp: z.int().min(0).max(2_000, "平台扣费最多 20%").default(0),
  /** Yuan for one unit of the currency. */
  rate: z
    .string()
    .regex(/^(?!0+(\.0*)?$)\d{1,6}(\.\d{1,6})?$/, "汇率须为大于 0 的数字")
    .default("1"),
  /** By the keys of the provider's fields; a secret that is "" stays as it is. */
  fields: z.record(z.string(), Text),
});
export type InstanceDraft = z.output<typeof InstanceDraft>;

export const NewInstance = InstanceDraft.extend({
  provider: z.enum(paymentProviderNames),
  merchant_id: z.string().trim().min(1, "请输入商户号").max(64, "商户号最多 64 个字符"),
  currency: z.enum(CURRENCIES).default("CNY"),
});
export type NewInstance = z.output<typeof NewInstance>;

export const Instance = z.object({
  id: z.int(),
  provider: z.enum(paymentProviderNames),
  name: z.string(),
  merchant_id: z.string(),
  currency: z.string(),
  is_enabled: z.boolean(),
  /** It has all it needs; without, its callbacks are answered with 404. */
  is_complete: z.boolean(),
  sort: z.int(),
  methods: z.array(z.string()),
  fee_bp: z.int(),
  cost_bp: z.int(),
  rate: z.string(),
  /** Without the secrets. */
  fields: z.record(z.string(), z.string()),
  secrets_set: z.array(z.string()),
  /** "" = the server has no address: providers could not reach it, and no user can order (`ServerAddress`). */
  notify_url: z.string(),
  /** Answers in a row that said nothing. */
  unclear: z.int(),
  /** Notices that did not verify and were refused, and when the last came; 0 = none did. */
  refused_notices: z.int().default(0),
  refused_at: z.int().default(0),
  /** Says by how much the system clock is away from the provider's, while it is more than five minutes; "" = it is right, or not known. */
  clock_fault: z.string().default(""),
});
export type Instance = z.output<typeof Instance>;

/** What a test of an account found; `incomplete` = it lacks a key, so that the provider was not asked; `refused` = the provider does not take it. */
export const InstanceProbe = z.object({
  verdict: z.enum(["accepted", "refused", "unclear", "incomplete"]),
  /** A word for what went wrong; "" = nothing. */
  problem: z.string(),
});
export type InstanceProbe = z.output<typeof InstanceProbe>;

export const AdminOrder = Order.extend({
  user_id: z.int(),
  instance_id: z.int(),
  trade_no: z.string(),
  /** Why a person has to look; "" = no need. */
  review: z.string(),
  credited_quota: z.int(),
  disputed_minor: z.int(),
});
export type AdminOrder = z.output<typeof AdminOrder>;

export const PaymentEvent = z.object({
  id: z.int(),
  instance_id: z.int(),
  order_no: z.string(),
  kind: z.string(),
  verdict: z.string(),
  is_open: z.boolean(),
  /** A payment without an order, that can be credited to a user. */
  is_orphan: z.boolean(),
  /** Who vouched for a payment (补单) that waits for another super administrator; 0 = nothing of the kind waits. */
  asked_by: z.int(),
  /** JSON text. */
  facts: z.string(),
  created_at: z.int(),
});
export type PaymentEvent = z.output<typeof PaymentEvent>;

export const Refund = z.object({
  id: z.int(),
  refund_no: z.string(),
  source: z.string(),
  amount_minor: z.int(),
  quota: z.int(),
  state: z.string(),
  reason: z.string(),
  created_at: z.int(),
});
export type Refund = z.output<typeof Refund>;

export const paymentAdminApi = {
  instances: endpoint({
    method: "GET",
    path: "/api/payment/instance",
    level: "admin",
    permission: "money.read",
    summary: "支付渠道（不含密钥）",
    data: rowsOf(Instance),
  }),
  createInstance: endpoint({
    method: "POST",
    path: "/api/payment/instance",
    level: "root",
    permission: "money.write",
    stepUp: "guarded",
    summary: "新建支付渠道；平台、商户号与币种之后不能修改",
    body: NewInstance,
    data: Instance,
  }),
  updateInstance: endpoint({
    method: "PUT",
    path: "/api/payment/instance/:id",
    level: "root",
    permission: "money.write",
    stepUp: "guarded",
    summary: "修改支付渠道；密钥留空表示不变",
    params: IdParams,
    body: InstanceDraft,
    data: Instance,
  }),
  probeInstance: endpoint({
    method: "POST",
    path: "/api/payment/instance/:id/probe",
    level: "root",
    permission: "money.write",
    summary: "测试支付渠道：向平台查询一个不存在的订单，看地址与密钥是否可用",
    params: IdParams,
    body: z.object({}).nullish(),
    data: InstanceProbe,
  }),
  list: endpoint({
    method: "GET",
    path: "/api/payment/manage",
    level: "admin",
    permission: "money.read",
    summary:
      "全部订单，可按状态、用户、支付渠道与创建时间筛选；review 只列出待处理的；export 时成批返回，用于导出",
    query: ListQuery.extend({
      keyword: query.text,
      status: query.text,
      user_id: query.count,
      instance_id: query.count,
      review: query.flag,
      ...MadeBetween,
      ...InBlocks,
    }),
    data: rowsOf(AdminOrder),
    beside: ListBeside,
  }),
  detail: endpoint({
    method: "GET",
    path: "/api/payment/manage/:no",
    level: "admin",
    permission: "money.read",
    summary: "一个订单的经过与退款",
    params: OrderParams,
    data: z.object({
      order: AdminOrder,
      events: z.array(PaymentEvent),
      refunds: z.array(Refund),
      /** Of the plan that is renewed by the provider since this order, or by which it was made; null = none. */
      renewal: PlanRenewal.extend({ provider_id: z.string() }).nullable().default(null),
    }),
  }),
  orphans: endpoint({
    method: "GET",
    path: "/api/payment/event",
    level: "admin",
    permission: "money.read",
    summary: "待处理的支付通知，旧的在前",
    query: z.object({ p: query.page, size: query.size }),
    data: rowsOf(PaymentEvent),
    beside: ListBeside,
  }),
  settleEvent: endpoint({
    method: "POST",
    path: "/api/payment/event/:id/settle",
    level: "admin",
    permission: "money.adjust",
    summary: "标记一条待处理的支付通知为已处理",
    params: IdParams,
    body: z.object({ reason: Reason }),
    data: Nothing,
  }),
  creditEvent: endpoint({
    method: "POST",
    path: "/api/payment/event/:id/credit",
    level: "admin",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "把一笔找不到订单的付款入账给一个用户：按充值套餐换算额度，只入账一次",
    params: IdParams,
    body: z.object({ user_id: z.int().min(1, "请输入用户 ID"), reason: Reason }),
    data: AdminOrder,
  }),
  ask: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/ask",
    level: "admin",
    permission: "money.adjust",
    summary: "查单入账：向支付平台查询并按结果处理",
    params: OrderParams,
    body: z.object({}).nullish(),
    data: AdminOrder,
  }),
  close: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/close",
    level: "admin",
    permission: "money.adjust",
    summary: "关闭未付款的订单：先向支付平台查询，在平台关闭后再查询一次；已付款的入账而不关闭",
    params: OrderParams,
    body: z.object({ reason: Reason }),
    data: AdminOrder,
  }),
  decide: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/decide",
    level: "admin",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "处理待处理的订单：按实付入账、按订单入账，或标记为已处理",
    params: OrderParams,
    body: z.object({ as: z.enum(["paid", "ordered", "settled"]), reason: Reason }),
    data: AdminOrder,
  }),
  manual: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/manual",
    level: "root",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "人工补单：凭平台交易号、实收金额与原因入账；超过限额的等待另一位超级管理员批准",
    params: OrderParams,
    body: z.object({
      trade_no: z
        .string()
        .trim()
        .regex(/^[\w-]{4,64}$/, "平台交易号须为 4 到 64 位字母、数字、下划线或连字符"),
      amount: Money,
      reason: Reason,
    }),
    data: AdminOrder,
  }),
  judgeManual: endpoint({
    method: "POST",
    path: "/api/payment/event/:id/judge",
    level: "root",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "批准或拒绝另一位超级管理员的补单；批准即入账",
    params: IdParams,
    body: z.object({ is_approved: z.boolean(), reason: Reason }),
    data: AdminOrder,
  }),
  refund: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/refund",
    level: "admin",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "退款：先收回额度再向平台退款；amount 留空表示退余额尚够的部分",
    params: OrderParams,
    body: z.object({ amount: Money.nullable(), reason: Reason }),
    data: z.object({ order: AdminOrder, refunds: z.array(Refund) }),
  }),
  settleRefund: endpoint({
    method: "POST",
    path: "/api/payment/manage/:no/refund/settle",
    level: "root",
    permission: "money.adjust",
    stepUp: "guarded",
    summary: "登记结果不明的退款：已在平台核实为已退或未退",
    params: OrderParams,
    body: z.object({ refund_no: z.string().max(64), is_done: z.boolean(), reason: Reason }),
    data: z.object({ order: AdminOrder, refunds: z.array(Refund) }),
  }),
};
