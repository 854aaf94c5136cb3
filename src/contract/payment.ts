// Buying quota online: plans, orders as their user sees them. What administrators see is in payment-admin.ts (requirements Y02–Y22).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { TopUpPlan } from "./topup-plans.ts";
import { ListBeside, Quota, query, rowsOf } from "./wire.ts";

/** A way to pay that is open now. */
export const PayMethod = z.object({
  instance_id: z.int(),
  method: z.string(),
  label: z.string(),
  currency: z.string(),
  /** Hundredths of a per cent that are added. */
  fee_bp: z.int(),
  /** Units of the currency for 1 yuan's worth, as yuan per unit; "1" for CNY. */
  rate: z.string(),
  /** Plans that are paid for by it can be renewed by the provider. */
  renews: z.boolean().default(false),
});
export type PayMethod = z.output<typeof PayMethod>;

export const OrderParams = z.object({
  no: z.string().regex(/^TG[0-9A-Z]{24}$/, "订单号有误"),
});

export const Order = z.object({
  id: z.int(),
  order_no: z.string(),
  method: z.string(),
  label: z.string(),
  /** The name of the plan that is bought; "" = quota for the wallet. */
  plan: z.string().default(""),
  quota: Quota,
  currency: z.string(),
  amount_minor: z.int(),
  fee_minor: z.int(),
  status: z.enum(["created", "pending", "paid", "credited", "closed"]),
  /** Waits for an administrator. */
  is_in_review: z.boolean(),
  refunded_minor: z.int(),
  paid_minor: z.int(),
  created_at: z.int(),
  expires_at: z.int(),
  credited_at: z.int(),
  /** The team whose wallet it is for; 0 = the own account. */
  team_id: z.int().default(0),
  /** Text of a QR code; "" = none. */
  qr: z.string(),
  /** Where the payer goes on; "" = nowhere. */
  url: z.string(),
});
export type Order = z.output<typeof Order>;

export const NewOrder = z.object({
  dollars: z.int().min(1),
  instance_id: z.int().min(1),
  method: z.string().max(32),
  /** Another user's gift code; "" = none. */
  gift_code: z.string().trim().max(64, "礼品码无效").default(""),
  /** The team whose wallet gets it; 0 = the own account. */
  team_id: z.int().min(0).default(0),
});
export type NewOrder = z.output<typeof NewOrder>;

export const paymentApi = {
  shop: endpoint({
    method: "GET",
    path: "/api/payment/shop",
    level: "user",
    summary: "在售的充值套餐与可用的支付方式，以及未还的欠额",
    data: z.object({ plans: z.array(TopUpPlan), methods: z.array(PayMethod), debt: Quota }),
  }),
  orders: endpoint({
    method: "GET",
    path: "/api/payment/order",
    level: "user",
    summary: "我的充值订单，新的在前；带 team_id 时为该团队的",
    query: z.object({ p: query.page, size: query.size, team_id: query.count }),
    data: rowsOf(Order),
    beside: ListBeside,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/payment/order",
    level: "user",
    summary: "创建充值订单；同一套餐有未付订单时返回该订单。team_id 为团队时额度到其钱包",
    body: NewOrder,
    data: Order,
  }),
  order: endpoint({
    method: "GET",
    path: "/api/payment/order/:no",
    level: "user",
    summary: "一个充值订单；未付时向支付平台查询（每 5 秒至多一次）",
    params: OrderParams,
    data: Order,
  }),
  cancel: endpoint({
    method: "POST",
    path: "/api/payment/order/:no/cancel",
    level: "user",
    summary: "取消未付的充值订单；已付款的照常到账",
    params: OrderParams,
    body: z.object({}).nullish(),
    data: Order,
  }),
};
