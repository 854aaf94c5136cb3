// API tokens (令牌) of the actor. The key goes without its `sk-` prefix (requirements W3.7).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import {
  IdParams,
  ListBeside,
  ListQuery,
  lenient,
  Nothing,
  Quota,
  query,
  rowsOf,
  SearchQuery,
} from "./wire.ts";

export const TokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const;

/** Seconds since 1970, or -1 for never. */
const ExpiredTime = z.int().min(-1, "过期时间格式错误");

export const Token = z.object({
  id: z.int(),
  user_id: z.int(),
  /** 48 characters, without `sk-`; "" while opening it cannot be written down (docs/decisions/016). */
  key: z.string(),
  status: z.int(),
  name: z.string(),
  created_time: z.int(),
  accessed_time: z.int(),
  expired_time: ExpiredTime,
  remain_quota: Quota,
  unlimited_quota: z.boolean(),
  used_quota: Quota,
  /** Models this token may call, comma-separated; "" = all of the group. Never null here: One API's console crashes on it. */
  models: lenient(z.string(), ""),
  /** CIDRs the caller's address must be in, comma-separated; "" = any. */
  subnet: z.string().default(""),
});
export type Token = z.output<typeof Token>;

export const TokenDraft = z.object({
  name: z.string().trim().min(1, "请输入令牌名称").max(30, "令牌名称须为 1 到 30 个字符"),
  remain_quota: Quota.min(0, "额度不能小于 0").max(Number.MAX_SAFE_INTEGER).default(500_000),
  expired_time: ExpiredTime.default(-1),
  unlimited_quota: z.boolean().default(false),
  models: z.string().max(20_000).nullish(),
  subnet: z.string().max(1_000).optional(),
});
export type TokenDraft = z.output<typeof TokenDraft>;

/** Several tokens of the same settings, named `name-1` and so on. */
export const TokenBatch = TokenDraft.extend({
  count: z.int().min(1, "数量须为 1 到 100").max(100, "数量须为 1 到 100"),
}).refine(({ name, count }) => `${name}-${count}`.length <= 30, {
  error: "名称加上编号后最多 30 个字符",
  path: ["name"],
});
export type TokenBatch = z.output<typeof TokenBatch>;

/** A full update carries the draft's fields that change; with `status_only` just `status` counts (requirements B7). */
export const TokenUpdate = z.object({
  id: z.int().min(1),
  status: z.int().min(0).max(4).optional(),
  name: TokenDraft.shape.name.optional(),
  remain_quota: Quota.min(0, "额度不能小于 0").max(Number.MAX_SAFE_INTEGER).optional(),
  /** The amount that the form was opened with; the same as `remain_quota` = the balance stays, whatever was spent meanwhile. */
  original_remain_quota: Quota.optional(),
  expired_time: ExpiredTime.optional(),
  unlimited_quota: z.boolean().optional(),
  models: z.string().max(20_000).nullish(),
  subnet: z.string().max(1_000).optional(),
});
export type TokenUpdate = z.output<typeof TokenUpdate>;

export const tokenApi = {
  list: endpoint({
    method: "GET",
    path: "/api/token/",
    level: "user",
    summary: "我的令牌",
    query: ListQuery,
    data: rowsOf(Token),
    beside: ListBeside,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/token/search",
    level: "user",
    summary: "按名称前缀搜索我的令牌",
    query: SearchQuery,
    data: rowsOf(Token),
    beside: ListBeside,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/token/:id",
    level: "user",
    summary: "一个令牌",
    params: IdParams,
    data: Token,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/token/",
    level: "user",
    summary: "创建令牌，返回含完整密钥的令牌",
    body: TokenDraft,
    /** null of servers of the family before 2024-03-24. */
    data: Token.nullable(),
  }),
  createMany: endpoint({
    method: "POST",
    path: "/api/token/batch",
    level: "user",
    summary: "一次创建多个设置相同的令牌，返回含完整密钥的令牌",
    body: TokenBatch,
    data: rowsOf(Token),
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/token/",
    level: "user",
    summary: "修改令牌；status_only 时只改状态",
    query: z.object({ status_only: query.text }),
    body: TokenUpdate,
    data: Token,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/token/:id",
    level: "user",
    summary: "删除令牌",
    params: IdParams,
    data: Nothing,
  }),
};
