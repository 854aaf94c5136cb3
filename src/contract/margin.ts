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
  /** Of the calls whose cost is known: what users paid for them, what they cost, and the difference. */
  revenue: z.int(),
  cost: z.int(),
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
  "margin",
  "uncosted",
  "cached_tokens",
  "saved",
] as const;

/** What is left of the margin of all calls of a span (requirements X13). */
export const MarginNet = z.object({
  /** What payment platforms kept, less what users paid as fee; below 0 = users paid more. */
  fees: z.int(),
  commission: z.int(),
  /** Calls that plans paid count at their face above; what plans bring for them is so much more or, below 0, less. */
  plans: z.int(),
  margin: z.int(),
});
export type MarginNet = z.output<typeof MarginNet>;

export const marginApi = {
  list: endpoint({
    method: "GET",
    path: "/api/margin",
    level: "admin",
    permission: "money.read",
    summary:
      "毛利与缓存：按 by（model、channel、group、user、token、day）汇总的收入、成本、毛利与缓存节省；net 为全部调用再计入套餐、支付手续费与返现后的毛利。单位十亿分之一美元",
    query: ListQuery.extend({ ...UsageQuery.shape, by: query.text, keyword: query.text }),
    data: rowsOf(MarginRow),
    beside: ListBeside.extend({ sums: MarginSums, net: MarginNet }),
  }),
};
