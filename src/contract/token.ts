// API tokens (令牌) of the actor. The key goes without its `sk-` prefix (requirements W3.7).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { GroupName, GroupOrder, UsableGroup } from "./group.ts";
import { isOneLine } from "./name.ts";
import {
  IdParams,
  InBlocks,
  ListBeside,
  ListQuery,
  lenient,
  MadeBetween,
  Nothing,
  Quota,
  query,
  rowsOf,
  SearchQuery,
} from "./wire.ts";

/** What is typed before the keys of everybody can never be shown again. */
export const FORGET_WORDS = "删除密钥原文";

export const TokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const;

/** Comma-separated, each once. */
const Tags = z
  .string()
  .max(1_000, "最多 20 个标签")
  .refine(isOneLine, "标签不能含有换行或控制字符")
  .overwrite((text) => tagsOf(text).join(","))
  .refine((text) => tagsOf(text).length <= 20, "最多 20 个标签")
  .refine((text) => tagsOf(text).every((tag) => tag.length <= 40), "每个标签最多 40 个字符");

/** The tags of a list as it is typed; commas of Chinese keyboards count. */
export function tagsOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split(/[,，]/)
        .map((tag) => tag.trim())
        .filter((tag) => tag !== ""),
    ),
  ];
}

const METADATA_CHARS = 4_096;

/** Notes of the owner: names and texts, flat. */
const Metadata = z
  .record(
    z.string().regex(/^(?!__)[^\s=]{1,40}$/, "备注的名称须为 1 到 40 个字符，不含空格与等号"),
    z.string().max(1_000, "每条备注最多 1,000 个字符"),
    // Of a name that does not do, zod says no more than that some key is wrong.
    { error: (issue) => (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) },
  )
  .refine((notes) => JSON.stringify(notes).length <= METADATA_CHARS, "备注合计最多 4,096 个字符");

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
  /** Nothing opens the key any more: `key` is "" but in the answer that made it. */
  shown_once: z.boolean().default(false),
  /** The begin and the end of the key, e.g. `abcd…wxyz`; "" = it was not noted. */
  key_hint: z.string().default(""),
  /** The groups it tries, in this order; [] = that of its user, or of the team that pays. */
  groups: z.array(z.string()).default([]),
  /** The first of them, as other servers of the family have one; "" = the user's. */
  group: z.string().default(""),
  /** Comma-separated. */
  tags: z.string().default(""),
  metadata: z.record(z.string(), z.string()).default({}),
  /** An administrator made it for its owner. */
  is_granted: z.boolean().default(false),
  /** Until when the key before the last rotation works. Seconds; 0 = it does not. */
  old_key_until: z.int().default(0),
  /** When that key was last used since the rotation, within a minute. Seconds; 0 = not yet. */
  old_key_used: z.int().default(0),
  /** The team that pays for its calls; 0 = its user does. Our addition, as is the name of who holds it, "" where it is one's own. */
  team_id: z.int().default(0),
  holder: z.string().default(""),
  /** The project of that team it belongs to; 0 = none. */
  project_id: z.int().default(0),
});
export type Token = z.output<typeof Token>;

/** What no entry of a list may be: it would be meant as a pattern and be none (requirements L12). */
const NO_PATTERN = /^!*$|^!!|\*./;

/** Names, beginnings with `*` behind (`gpt-4o*`), and `!` before what is left out; separated by commas. */
const ModelList = z
  .string()
  .max(20_000)
  .refine((text) => !text.split(",").some((part) => part.trim() !== "" && NO_PATTERN.test(part.trim())), {
    error: "模型范围中的 * 只能在末尾，! 后须有模型名",
  });

/** `group` is the family's field for one; where `groups` is there it counts alone. */
const GroupChoice = {
  groups: GroupOrder.optional(),
  group: z.union([z.literal(""), GroupName]).optional(),
};

/** The groups that a draft or update chooses; undefined = it says nothing of them. */
export function chosenGroups({
  groups,
  group,
}: {
  readonly groups?: string[] | undefined;
  readonly group?: string | undefined;
}): string[] | undefined {
  if (groups !== undefined || group === undefined) return groups;
  return group === "" ? [] : [group];
}

export const TokenDraft = z.object({
  name: z.string().trim().min(1, "请输入令牌名称").max(30, "令牌名称须为 1 到 30 个字符"),
  remain_quota: Quota.min(0, "额度不能小于 0").max(Number.MAX_SAFE_INTEGER).default(500_000),
  expired_time: ExpiredTime.default(-1),
  unlimited_quota: z.boolean().default(false),
  models: ModelList.nullish(),
  subnet: z.string().max(1_000).optional(),
  ...GroupChoice,
  tags: Tags.optional(),
  metadata: Metadata.optional(),
  /** The key is in this answer and never again; always so where TokenShownOnceEnabled is on. */
  shown_once: z.boolean().optional(),
  /** The team that is to pay; absent or 0 = the account of the actor. */
  team_id: z.int().min(0).optional(),
  /** The project of that team it is for; 0 = none. */
  project_id: z.int().min(0).optional(),
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
  models: ModelList.nullish(),
  subnet: z.string().max(1_000).optional(),
  ...GroupChoice,
  tags: Tags.optional(),
  metadata: Metadata.optional(),
  project_id: z.int().min(0).optional(),
  /** true = what opens the key is deleted, for ever; false changes nothing. */
  shown_once: z.boolean().optional(),
});
export type TokenUpdate = z.output<typeof TokenUpdate>;

/** Which tokens are listed: one tag, a status as it is shown, and of which team; "" and 0 = all, and one's own. */
const OfTokens = {
  tag: query.text,
  status: query.count,
  ...MadeBetween,
  team_id: query.count,
  ...InBlocks,
};

const DAY_SEC = 86_400;

/** How long the key before goes on working. Seconds; 0 = it ends at once. */
export const TokenRotation = z.object({
  overlap: z
    .int()
    .min(0, "重叠时间须为 0 到 30 天")
    .max(30 * DAY_SEC, "重叠时间须为 0 到 30 天")
    .default(DAY_SEC),
});

export const tokenApi = {
  groups: endpoint({
    method: "GET",
    path: "/api/user/self/groups",
    level: "user",
    summary: "我可以为令牌选择的分组及其倍率；带 team_id 时为该团队的令牌",
    query: z.object({ team_id: query.count }),
    data: z.record(z.string(), UsableGroup),
  }),
  list: endpoint({
    method: "GET",
    path: "/api/token/",
    level: "user",
    summary:
      "我的令牌；tag 时只列有该标签的，带 team_id 时为该团队的令牌，不含他人的密钥；export 时成批返回且不含密钥，用于导出",
    query: ListQuery.extend(OfTokens),
    data: rowsOf(Token),
    beside: ListBeside,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/token/search",
    level: "user",
    summary: "按名称前缀搜索我的或团队的令牌",
    query: SearchQuery.extend(OfTokens),
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
  rotate: endpoint({
    method: "POST",
    path: "/api/token/:id/rotate",
    level: "user",
    summary: "轮换密钥，返回含新密钥的令牌；旧密钥在 overlap 秒内仍可使用",
    params: IdParams,
    body: TokenRotation,
    data: Token,
  }),
  forgetAll: endpoint({
    method: "POST",
    path: "/api/token/forget",
    level: "root",
    permission: "user.write",
    stepUp: "guarded",
    summary: "删除所有令牌的密钥原文：此后只能轮换，不能查看；返回个数",
    body: z.object({ confirm: z.literal(FORGET_WORDS, "请输入确认的文字") }),
    data: z.int(),
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
