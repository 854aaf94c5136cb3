// What was earned: revenue, cost and margin of calls by model, channel, group, user, token and day, and what caches saved. Money is in
// billionths of a dollar.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { UsageQuery } from "./usage.ts";
import { ListBeside, ListQuery, query, rowsOf } from "./wire.ts";

export const MARGIN_BY = ["model", "channel", "group", "user", "token", "day"] as const;
export type MarginBy = (typeof MARGIN_BY)[number];

const sums = {
  requests: z.int(),
  /**
   * Of the calls whose cost is known: what their quota was bought for, what they cost, their share of what payment platforms kept (less what
   * payers paid as fee; below 0 = payers paid more) and of commission, and what is left (requirements X13).
   */
  revenue: z.int(),
  cost: z.int(),
  fees: z.int(),
  commission: z.int(),
  margin: z.int(),
  /** What users paid for the others. */
  uncosted: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  /** What input from caches would have cost users more. */
  saved: z.int(),
};

export const MarginSums = z.object(sums);
export type MarginSums = z.output<typeof MarginSums>;

export const MarginRow = z.object({
  /** Its place in the list. */
  id: z.int(),
  /** Model, group, token or user name, a channel's name, or the start of a day in seconds. */
  name: z.string(),
  /** Of a channel or user; 0 = the row has a name alone. */
  subject_id: z.int(),
  ...sums,
});
export type MarginRow = z.output<typeof MarginRow>;

export const MARGIN_ORDERS = [
  "requests",
  "revenue",
  "cost",
  "fees",
  "commission",
  "margin",
  "uncosted",
  "cached_tokens",
  "saved",
] as const;

export const marginApi = {
  list: endpoint({
    method: "GET",
    path: "/api/margin",
    level: "admin",
    permission: "money.read",
    summary:
      "毛利与缓存：按 by（model、channel、group、user、token、day）汇总的收入、成本、支付手续费、返现、毛利与缓存节省，sums 为各行之和：收入按用户付款、兑换码售价与套餐周期的实价在结算时记下，赠送的额度为 0，来历不明的（如导入的余额）按平均实收；毛利 = 收入 − 成本 − 手续费 − 返现。单位十亿分之一美元",
    query: ListQuery.extend({ ...UsageQuery.shape, by: query.text, keyword: query.text }),
    data: rowsOf(MarginRow),
    beside: ListBeside.extend({ sums: MarginSums }),
  }),
};
