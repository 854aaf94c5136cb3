// Payouts (提现) of commission: what an inviter asks for, and what administrators paid or refused (requirements Y54). Amounts are yuan as text.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { isOneLine } from "./name.ts";
import { Yuan } from "./partner.ts";
import { IdParams, ListBeside, ListQuery, Nothing, query, rowsOf } from "./wire.ts";

export const PAYOUT_WAYS = ["alipay", "usdt-trc20", "usdt-erc20"] as const;
export type PayoutWay = (typeof PAYOUT_WAYS)[number];

/** `paying` = an administrator has begun to note the payment; it ends as `paid` or goes back. */
export const PAYOUT_STATES = ["requested", "paying", "paid", "rejected", "cancelled"] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];

const Line = z.string().trim().refine(isOneLine, "不能换行");

/** What an account of each way looks like. */
const ACCOUNTS: Readonly<Record<PayoutWay, readonly [RegExp, string]>> = {
  alipay: [/^(1\d{10}|[^\s@=+,;"']{1,64}@[\w-]+(\.[\w-]+)+)$/, "支付宝账号须为手机号或邮箱"],
  "usdt-trc20": [/^T[1-9A-HJ-NP-Za-km-z]{33}$/, "TRC20 地址须以 T 开头，共 34 位"],
  "usdt-erc20": [/^0x[0-9a-fA-F]{40}$/, "ERC20 地址须以 0x 开头，共 42 位"],
};

/** Why an account does not fit its way; undefined = it does. Pure. */
export function accountFault(way: PayoutWay, account: string): string | undefined {
  const [form, fault] = ACCOUNTS[way];
  return form.test(account) ? undefined : fault;
}

export const PayoutDraft = z
  .object({
    amount: Yuan,
    way: z.enum(PAYOUT_WAYS),
    account: Line.pipe(z.string().min(1, "请填写收款账号").max(120, "收款账号过长")),
    name: Line.pipe(z.string().min(1, "请填写收款人姓名").max(40, "姓名最多 40 个字符")),
  })
  .superRefine(({ way, account }, context) => {
    const message = accountFault(way, account);
    if (message !== undefined) context.addIssue({ code: "custom", path: ["account"], message });
  });
export type PayoutDraft = z.output<typeof PayoutDraft>;

export const Payout = z.object({
  id: z.int(),
  user_id: z.int(),
  username: z.string(),
  amount: z.string(),
  /** What its user owes of commission at this moment. */
  owed: z.string().default("0"),
  way: z.enum(PAYOUT_WAYS),
  /** Masked but in the export; "" = the account was deleted. */
  account: z.string(),
  name: z.string(),
  state: z.enum(PAYOUT_STATES),
  /** Why it was refused, or what proves that it was paid. */
  note: z.string(),
  created_at: z.int(),
  /** Seconds; 0 = not decided. */
  decided_at: z.int(),
});
export type Payout = z.output<typeof Payout>;

export const PayoutDesk = z.object({
  /** What the plan owes in all. */
  balance: z.string(),
  /** Part of `balance` that is too new to be paid out. */
  held: z.string(),
  /** Commission that refunds took back beyond the balance: the next commission fills it first. */
  owed: z.string().default("0"),
  /** What may be asked for now. */
  available: z.string(),
  /** What has to be asked for at least. */
  least: z.string(),
  /** How long commission of online payments is held, days. */
  hold_days: z.int(),
  /** The newest. */
  rows: rowsOf(Payout),
});
export type PayoutDesk = z.output<typeof PayoutDesk>;

const Note = z.string().trim().min(1, "请填写说明").max(200, "说明最多 200 个字符");

export const payoutApi = {
  desk: endpoint({
    method: "GET",
    path: "/api/payout/",
    level: "user",
    summary: "我的返现余额、冻结与可提现金额，以及最近的提现申请",
    data: PayoutDesk,
  }),
  ask: endpoint({
    method: "POST",
    path: "/api/payout/",
    level: "user",
    stepUp: "guarded",
    summary: "申请提现：不少于最低提现金额，不超过可提现金额，同时只能有一笔未处理",
    body: PayoutDraft,
    data: Payout,
  }),
  cancel: endpoint({
    method: "POST",
    path: "/api/payout/:id/cancel",
    level: "user",
    summary: "撤回未处理的提现申请",
    params: IdParams,
    data: Nothing,
  }),
  list: endpoint({
    method: "GET",
    path: "/api/payout_queue/",
    level: "admin",
    permission: "money.read",
    summary: "所有提现申请，新的在前；open=true 只列未处理的，先申请的在前",
    query: ListQuery.extend({ open: query.flag }),
    data: rowsOf(Payout),
    beside: ListBeside,
  }),
  export: endpoint({
    method: "POST",
    path: "/api/payout_queue/export",
    level: "admin",
    permission: "money.withdraw",
    stepUp: "guarded",
    summary: "导出未处理的提现申请，含完整的收款账号，写入操作审计；最多 1,000 笔",
    data: rowsOf(Payout),
  }),
  pay: endpoint({
    method: "POST",
    path: "/api/payout_queue/:id/pay",
    level: "admin",
    permission: "money.withdraw",
    stepUp: "guarded",
    summary: "登记已支付：从返现余额中扣除一次，note 为流水号等凭据；data 为剩余的返现余额",
    params: IdParams,
    body: z.object({ note: Note }),
    data: z.string(),
  }),
  reject: endpoint({
    method: "POST",
    path: "/api/payout_queue/:id/reject",
    level: "admin",
    permission: "money.withdraw",
    summary: "驳回提现申请，note 为原因，用户可见",
    params: IdParams,
    body: z.object({ note: Note }),
    data: Nothing,
  }),
};
