// Limits (限额) of tokens, users, groups and models: how often, how much, how dear; and what is used of them.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import {
  isWindowKind,
  LIMIT_KINDS,
  LIMIT_MODES,
  LIMIT_SUBJECTS,
  LIMIT_WINDOWS,
  OWNED_SUBJECTS,
} from "./limit-words.ts";
import { IdParams, ListBeside, ListQuery, Nothing, Quota, query, rowsOf } from "./wire.ts";

/** Half of what counts exactly: an amount and its boost together still do. */
const MOST = 4_000_000_000_000_000;

const Amount = Quota.min(0, "限额不能小于 0").max(MOST, "限额过大");

/** What is limited, without whose it is. */
const shape = {
  /** A model, a beginning with `*` behind, or "" for all. */
  model_pattern: z
    .string()
    .trim()
    .max(200, "模型名最多 200 个字符")
    .regex(/^[^*]*\*?$/, "模型名里的 * 只能在末尾")
    .default(""),
  kind: z.enum(LIMIT_KINDS),
  amount: Amount,
  time_window: z.enum(LIMIT_WINDOWS).default("total"),
  /** Day of the month on which months begin. */
  anchor: z.int().min(1, "须为 1 到 31").max(31, "须为 1 到 31").default(1),
  mode: z.enum(LIMIT_MODES).default("hard"),
};

function isModeOf({
  kind,
  mode,
}: {
  kind: (typeof LIMIT_KINDS)[number];
  mode: (typeof LIMIT_MODES)[number];
}): boolean {
  if (mode === "clamp") return kind === "cost";
  return mode === "hard" || isWindowKind(kind);
}
const MODE_FAULT = { error: "这种限额没有这个方式", path: ["mode"] };

/** A limit of a token; `id` = it is there already and goes on counting. */
export const LimitDraft = z.object({ id: z.int().min(1).optional(), ...shape }).refine(isModeOf, MODE_FAULT);
export type LimitDraft = z.output<typeof LimitDraft>;

/** All limits of a token. */
export const TokenLimits = z.object({ limits: z.array(LimitDraft).max(20, "最多 20 条限额") });

const subjects = {
  subject: z.enum(LIMIT_SUBJECTS).exclude(OWNED_SUBJECTS),
  /** Of `user`; 0 = the user of this name. */
  subject_id: z.int().min(0).default(0),
  /** Of `group` and `member`: the group's name; of `user` without an id the user's. */
  subject_name: z.string().trim().max(100).default(""),
};

export const SubjectLimitDraft = z.object({ ...subjects, ...shape }).refine(isModeOf, MODE_FAULT);
export type SubjectLimitDraft = z.output<typeof SubjectLimitDraft>;

/** Whose a limit is does not change. */
export const LimitUpdate = z.object({ ...shape, id: z.int().min(1) }).refine(isModeOf, MODE_FAULT);
export type LimitUpdate = z.output<typeof LimitUpdate>;

/** So much more until a moment; 0 = end it now. */
export const LimitBoost = z.object({
  amount: Amount,
  /** Seconds. */
  until: z.int().min(0),
  reason: z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符"),
});
export type LimitBoost = z.output<typeof LimitBoost>;

/** The same for one of the limits of a token, a member, a project or a team. */
export const OwnedBoost = LimitBoost.extend({ limit_id: z.int().min(1) });
export type OwnedBoost = z.output<typeof OwnedBoost>;

export const Limit = z.object({
  id: z.int(),
  ...shape,
  subject: z.enum(LIMIT_SUBJECTS),
  subject_id: z.int(),
  subject_name: z.string(),
  /** What its subject is called: the token, the user; "" = by `subject_name`. */
  subject_label: z.string().default(""),
  boost_amount: Quota,
  /** Seconds; 0 = not raised. */
  boost_until: z.int(),
  boost_reason: z.string(),
  /**
   * Of limits by window: used by now, what running calls have set aside included; null = each member has a count of his own, or it is not
   * told: to a user what a group, or everybody, uses, to a member of a team what others there do where his role does not see it.
   */
  used: Quota.nullable().default(null),
  /** Of `used`: what running calls have set aside. */
  reserved: Quota.default(0),
  /** Seconds; 0 = nothing is counted yet, or the window never ends. */
  resets_at: z.int(),
  /** Zone of its calendar (BudgetTimeZone), e.g. Asia/Shanghai. */
  time_zone: z.string().default(""),
  /** Too small for what one call sets aside at least (PreConsumedQuota): most calls are refused. */
  is_small: z.boolean().default(false),
});
export type Limit = z.output<typeof Limit>;

const LimitQuery = ListQuery.omit({ order: true, desc: true });

export const limitApi = {
  list: endpoint({
    method: "GET",
    path: "/api/limit/",
    level: "admin",
    permission: "limit.read",
    summary: "用户、分组与模型的限额，分页；subject=user 且 subject_id 时只列该用户的，id 时只列该条",
    query: LimitQuery.extend({ subject: query.text, subject_id: query.text, id: query.count }),
    data: rowsOf(Limit),
    beside: ListBeside,
  }),
  self: endpoint({
    method: "GET",
    path: "/api/limit/self",
    level: "user",
    summary: "对我生效的限额，含已用量与重置时间，分页；分组与全站的已用量不显示",
    query: LimitQuery,
    data: rowsOf(Limit),
    beside: ListBeside,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/limit/",
    level: "admin",
    permission: "limit.write",
    summary: "设置限额",
    body: SubjectLimitDraft,
    data: Limit,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/limit/",
    level: "admin",
    permission: "limit.write",
    summary: "修改限额；改变统计方式时从零开始计数",
    body: LimitUpdate,
    data: Limit,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/limit/:id",
    level: "admin",
    permission: "limit.write",
    summary: "删除限额",
    params: IdParams,
    data: Nothing,
  }),
  boost: endpoint({
    method: "PUT",
    path: "/api/limit/:id/boost",
    level: "admin",
    permission: "limit.write",
    summary: "临时提高限额，到期自动恢复；amount 为 0 时立即结束",
    params: IdParams,
    body: LimitBoost,
    data: Limit,
  }),
  ofToken: endpoint({
    method: "GET",
    path: "/api/token/:id/limit",
    level: "user",
    summary: "我的一个令牌的限额",
    params: IdParams,
    data: rowsOf(Limit),
  }),
  setOfToken: endpoint({
    method: "PUT",
    path: "/api/token/:id/limit",
    level: "user",
    summary: "设置我的一个令牌的全部限额；带 id 的保留并继续计数，未列出的删除",
    params: IdParams,
    body: TokenLimits,
    data: rowsOf(Limit),
  }),
  boostOfToken: endpoint({
    method: "PUT",
    path: "/api/token/:id/limit/boost",
    level: "user",
    summary: "临时提高我的一个令牌的一条限额，到期自动恢复；amount 为 0 时立即结束",
    params: IdParams,
    body: OwnedBoost,
    data: rowsOf(Limit),
  }),
};
