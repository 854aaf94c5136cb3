// The partner plan (推广计划): gift codes, friends, commission in yuan; and topping up, where all of it happens (requirements W17).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { ListBeside, Nothing, Quota, query, rowsOf } from "./wire.ts";
import { microOf } from "./yuan.ts";

/** Yuan as decimal text, exact to a millionth, at most 999,999,999.999999. */
export const Yuan = z
  .string()
  .trim()
  .refine((text) => microOf(text) !== undefined, "金额须为不小于 0 的数字，最多 6 位小数");

const Remark = z.string().trim().max(200, "备注最多 200 个字符");

export const TopUp = z.object({
  key: z.string().trim().min(1, "请输入兑换码").max(128, "兑换码无效"),
  /** Another user's invitation code; "" = none. */
  gift_code: z.string().trim().max(64, "礼品码无效").nullish(),
});
export type TopUp = z.output<typeof TopUp>;

export const AdminTopUp = z.object({
  user_id: z.int().min(1),
  quota: Quota.min(1, "额度须大于 0").max(Number.MAX_SAFE_INTEGER),
  remark: Remark.default(""),
});
export type AdminTopUp = z.output<typeof AdminTopUp>;

export const Withdrawal = z.object({
  user_id: z.int().min(1),
  /** Yuan that were paid out. */
  amount: Yuan,
  remark: Remark.default(""),
});
export type Withdrawal = z.output<typeof Withdrawal>;

export const Friend = z.object({
  /** Seconds; 0 = unknown. */
  invited_time: z.int(),
  username: z.string(),
});

export const PartnerPlan = z.object({
  aff_code: z.string(),
  gift_code: z.string(),
  /** Yuan as decimal text; "0" = none. */
  invite_balance: z.string(),
});

/** 1-based; everything below 1 means the first page (requirements W20.2). */
const friendsPage = query.count;

export const partnerApi = {
  topUp: endpoint({
    method: "POST",
    path: "/api/user/topup",
    level: "user",
    summary: "使用兑换码充值，可附礼品码；data 为到账的总额度",
    body: TopUp,
    data: Quota,
    beside: z.object({
      /** The part of `data` that the gift code brought. */
      bonus: Quota.default(0),
    }),
  }),
  adminTopUp: endpoint({
    method: "POST",
    path: "/api/topup",
    level: "admin",
    permission: "money.topup",
    stepUp: "guarded",
    summary: "为用户充值，写入充值日志；带 Idempotency-Key 的重复请求只执行一次",
    body: AdminTopUp,
    data: Nothing,
  }),
  withdraw: endpoint({
    method: "POST",
    path: "/api/user/withdrawal",
    level: "admin",
    permission: "money.withdraw",
    stepUp: "guarded",
    summary: "登记已支付的提现（不少于最低提现金额），data 为剩余的返现余额",
    body: Withdrawal,
    data: z.string(),
  }),
  friends: endpoint({
    method: "GET",
    path: "/api/user/friends",
    level: "user",
    summary: "我邀请的用户，新的在前；page 从 1 开始",
    query: z.object({ page: friendsPage, size: query.size }),
    data: rowsOf(Friend),
    beside: ListBeside,
  }),
  info: endpoint({
    method: "GET",
    path: "/api/user/partner_plan_info",
    level: "user",
    summary: "我的邀请码、礼品码与返现余额",
    data: PartnerPlan,
  }),
};
