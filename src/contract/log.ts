// The usage log (使用日志): what customers see of calls and of changes to their balance.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { ListBeside, ListQuery, lenient, Quota, query, rowsOf } from "./wire.ts";

/** 1 to 5 are the family's; 6 is ours: a call that failed for its caller and cost nothing (docs/decisions/033). */
export const LogType = { all: 0, topup: 1, consume: 2, manage: 3, system: 4, test: 5, error: 6 } as const;

/** What clearing takes: calls and channel tests; top-ups and what administrators did stay (requirements W3.9). */
export const CLEARED_LOG_TYPES: readonly number[] = [LogType.consume, LogType.test, LogType.error];

/** A failed attempt: a channel that was called and did not answer, whether or not a later one did. */
export const FailedChannel = z.object({
  channel: z.int(),
  channel_name: z.string(),
  /** `upstream_` and a status, or one of our codes. */
  error: z.string(),
  /** The upstream's own words, without secrets and without those of the request; "" = none. */
  said: z.string().default(""),
});
export type FailedChannel = z.output<typeof FailedChannel>;

export const LogEntry = z.object({
  id: z.int(),
  user_id: z.int(),
  created_at: z.int(),
  type: z.int(),
  content: z.string(),
  username: z.string(),
  token_name: z.string(),
  model_name: z.string(),
  quota: Quota,
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  /** Channel id; 0 for non-admins and for entries without a channel. */
  channel: z.int(),
  /** Our additions. */
  channel_name: z.string().default(""),
  request_id: z.string().default(""),
  /** Milliseconds from the request's arrival to its end. */
  elapsed_time: z.int().default(0),
  /** Milliseconds to the first byte of the answer; 0 = unknown. */
  first_byte_time: z.int().default(0),
  is_stream: z.boolean().default(false),
  cached_tokens: z.int().default(0),
  /** The token counts are our estimate because the upstream gave none. */
  estimated: z.boolean().default(false),
  /** What it cost the operator and what was paid for it, in billionths of a dollar; -1 = not known, or not for this reader. */
  cost: z.int().default(-1),
  revenue: z.int().default(-1),
  /** Its share of what payment platforms kept and of commission, in the same unit. */
  fees: z.int().default(0),
  commission: z.int().default(0),
  /** The project of a team that the call is of; 0 and "" = none. */
  project_id: z.int().default(0),
  project_name: z.string().default(""),
  /** The failed attempts in their order; empty for non-admins. */
  trail: z.array(FailedChannel).default([]),
});
export type LogEntry = z.output<typeof LogEntry>;

/** Filters of the actor's own log; empty text and 0 mean "not filtered" (requirements W3.9). */
export const SelfLogFilter = z.object({
  type: query.count,
  token_name: query.text,
  /** A tag of tokens: the entries of all that have it now, by the names they have now. */
  tag: query.text,
  model_name: query.text,
  start_timestamp: query.count,
  end_timestamp: query.count,
});

/** Administrators filter by user, channel and a team's project too. */
export const LogFilter = SelfLogFilter.extend({
  username: query.text,
  channel: query.count,
  project: query.count,
});
export type LogFilter = z.output<typeof LogFilter>;

/** Sums over consumption entries whatever `type` says (requirements W3.9). */
export const LogStat = z.object({
  quota: Quota,
  /** Prompt + completion tokens (requirements W20.4). Other servers of the family do not count them. */
  token: lenient(z.int().optional(), undefined),
  /** Calls. Our addition. */
  request: lenient(z.int().optional(), undefined),
});
export type LogStat = z.output<typeof LogStat>;

export const logApi = {
  list: endpoint({
    method: "GET",
    path: "/api/log/",
    level: "admin",
    permission: "log.read",
    summary:
      "所有用户的日志，新的在前；最多翻到第 50,000 条，total 也至多如此，更早的以 end_timestamp 限定。导出时固定 end_timestamp，否则新日志使各页错位",
    query: ListQuery.extend(LogFilter.shape),
    data: rowsOf(LogEntry),
    beside: ListBeside,
  }),
  listSelf: endpoint({
    method: "GET",
    path: "/api/log/self/",
    level: "user",
    summary: "我的日志，规则同上",
    query: ListQuery.extend(SelfLogFilter.shape),
    data: rowsOf(LogEntry),
    beside: ListBeside,
  }),
  stat: endpoint({
    method: "GET",
    path: "/api/log/stat",
    level: "admin",
    permission: "log.read",
    summary: "按条件统计消费",
    query: LogFilter,
    data: LogStat,
  }),
  statSelf: endpoint({
    method: "GET",
    path: "/api/log/self/stat",
    level: "user",
    summary: "按条件统计我的消费",
    query: SelfLogFilter,
    data: LogStat,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/log/search",
    level: "admin",
    permission: "log.read",
    summary: "按类型或内容开头搜索日志，最多返回最近的 100 条",
    query: z.object({ keyword: query.text }),
    data: rowsOf(LogEntry),
    beside: ListBeside,
  }),
  searchSelf: endpoint({
    method: "GET",
    path: "/api/log/self/search",
    level: "user",
    summary: "按类型或内容开头搜索我的日志，最多返回最近的 100 条",
    query: z.object({ keyword: query.text }),
    data: rowsOf(LogEntry),
    beside: ListBeside,
  }),
  clear: endpoint({
    method: "DELETE",
    path: "/api/log/",
    level: "admin",
    permission: "log.delete",
    summary: "清理早于 target_timestamp（秒）的消费、测试与错误日志；data 为清理的条数",
    query: z.object({ target_timestamp: query.count }),
    data: z.int(),
  }),
  history: endpoint({
    method: "GET",
    path: "/api/log/self/history",
    level: "user",
    summary: "我的历史消费总额与请求次数",
    data: z.object({ usage: Quota, request: z.int() }),
  }),
};
