// Statements (账单): what an account had, got and spent in a month, as the ledger says (requirements Y59). Of a user, or of a team's wallet.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { InvoiceProfile } from "./invoice.ts";
import { MONTH } from "./month.ts";
import { IdParams, Quota, rowsOf } from "./wire.ts";

const Month = z.string().regex(MONTH, "月份有误，应如 2026-10");

/** The entries of one kind: `consume` is what the wallet paid for calls. */
export const StatementSum = z.object({ kind: z.string(), entries: z.int(), quota: Quota });

/** What was counted of calls, as their providers or our own count said. */
export const StatementCounts = z.object({
  prompt_tokens: z.int(),
  /** Part of `prompt_tokens`. */
  cached_tokens: z.int().default(0),
  completion_tokens: z.int(),
});
export type StatementCounts = z.output<typeof StatementCounts>;

/** The calls of one token for one model. */
export const StatementUsage = z.object({
  /** 0 = without a token. */
  token_id: z.int(),
  token_name: z.string(),
  /** Comma-separated. */
  tags: z.string(),
  model_name: z.string(),
  calls: z.int(),
  /** What the wallet paid. */
  quota: Quota,
  /** What plans paid. */
  plan_quota: Quota,
  /** Price that could not be collected. */
  shortfall: Quota,
  /**
   * Of all these calls; absent = not known of each of them, as where some were booked before tokens were summed by token. In a month that
   * runs, of those too that came while it was read.
   */
  tokens: StatementCounts.optional(),
});
export type StatementUsage = z.output<typeof StatementUsage>;

/** By model, of calls that were imported too. */
export const StatementTokens = StatementCounts.extend({ model_name: z.string() });

/** Money by merchant account; `refunded_minor` has what disputes took. */
export const StatementMoney = z.object({
  instance_id: z.int(),
  name: z.string(),
  currency: z.string(),
  paid_minor: z.int(),
  refunded_minor: z.int(),
});

export const StatementHead = z.object({
  /** `ST-yyyymm-` and the account of the ledger; "" = the month is not closed yet. */
  number: z.string(),
  month: z.string(),
  opening: Quota,
  /** opening + all `sums`. */
  closing: Quota,
  /** What was added in all. */
  income: Quota,
  /** What the wallet paid for calls. */
  spent: Quota,
  /** How its money is shown, as it was when the month was closed: quota units per dollar, and whether in dollars at all. */
  quota_per_unit: z.number(),
  in_currency: z.boolean(),
});
export type StatementHead = z.output<typeof StatementHead>;

export const Statement = StatementHead.extend({
  /** The user or team. */
  account_id: z.int(),
  account_name: z.string(),
  /** The name of the installation. Names of a closed month, this one too, are those that it was closed with. */
  issuer: z.string(),
  is_team: z.boolean(),
  /** Seconds; the month is from the first on and before the second. */
  starts_at: z.int(),
  ends_at: z.int(),
  sums: z.array(StatementSum),
  usage: z.array(StatementUsage),
  tokens: z.array(StatementTokens),
  payments: z.array(StatementMoney),
  /** What refunds and disputes could not take, and later credits pay first, at the end of the month. */
  debt: Quota.default(0),
  /**
   * Whom invoices of the account are made out to (发票抬头); null = it had set nothing, or the reader's role in the team does not handle its
   * money. Without the bank account for an administrator who views as the user.
   */
  buyer: InvoiceProfile.nullable().default(null),
  /** Entries of the ledger: those of the account after the first and up to the second. */
  from_row: z.int(),
  to_row: z.int(),
  /** The end of the audit trail when the month was closed; "" = it is not. */
  trail_hash: z.string(),
  created_at: z.int(),
});
export type Statement = z.output<typeof Statement>;

export const StatementList = z.object({
  /** Closed months, newest first. */
  rows: rowsOf(StatementHead),
  /** The month that is not closed yet; "" = nothing has been booked. */
  open_month: z.string(),
  /** The newer months are still being closed. */
  is_pending: z.boolean(),
});
export type StatementList = z.output<typeof StatementList>;

/** A month on paper. */
export const StatementFile = z.object({
  /** With its ending. */
  name: z.string(),
  /** The PDF in base64: the same month of the same account, once closed, is the same bytes for the same reader. */
  content: z.base64(),
});
export type StatementFile = z.output<typeof StatementFile>;

const MonthParams = z.object({ month: Month });
const AccountMonth = IdParams.extend(MonthParams.shape);

export const statementApi = {
  list: endpoint({
    method: "GET",
    path: "/api/statement/",
    level: "user",
    summary: "我的月度账单：已结账的月份，新的在前；按北京时间分月，次月 1 日 01:00 结账",
    data: StatementList,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/statement/:month",
    level: "user",
    summary: "我的一个月的账单：期初 + 各类合计 = 期末，均来自账本；本月为至今的合计，number 为空",
    params: MonthParams,
    data: Statement,
  }),
  listOfTeam: endpoint({
    method: "GET",
    path: "/api/team/:id/statement",
    level: "user",
    right: "wallet",
    summary: "团队钱包的月度账单，规则同上",
    params: IdParams,
    data: StatementList,
  }),
  getOfTeam: endpoint({
    method: "GET",
    path: "/api/team/:id/statement/:month",
    level: "user",
    right: "wallet",
    summary: "团队钱包一个月的账单，规则同上",
    params: AccountMonth,
    data: Statement,
  }),
  file: endpoint({
    method: "GET",
    path: "/api/statement/:month/pdf",
    level: "user",
    summary: "我的一个月的账单，PDF 文件，语言随请求：与账单的数据相同",
    params: MonthParams,
    data: StatementFile,
  }),
  fileOfTeam: endpoint({
    method: "GET",
    path: "/api/team/:id/statement/:month/pdf",
    level: "user",
    right: "wallet",
    summary: "团队钱包一个月的账单，PDF 文件",
    params: AccountMonth,
    data: StatementFile,
  }),
  listOfUser: endpoint({
    method: "GET",
    path: "/api/user/:id/statement",
    level: "admin",
    permission: "money.read",
    summary: "下级用户的月度账单，记入审计",
    params: IdParams,
    data: StatementList,
  }),
  getOfUser: endpoint({
    method: "GET",
    path: "/api/user/:id/statement/:month",
    level: "admin",
    permission: "money.read",
    summary: "下级用户一个月的账单，记入审计",
    params: AccountMonth,
    data: Statement,
  }),
  fileOfUser: endpoint({
    method: "GET",
    path: "/api/user/:id/statement/:month/pdf",
    level: "admin",
    permission: "money.read",
    summary: "下级用户一个月的账单，PDF 文件，记入审计",
    params: AccountMonth,
    data: StatementFile,
  }),
};
