// Teams (团队): people who share a wallet. What a role may do stands with each call (`right`), by the table in team-words.ts.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Limit } from "./limit.ts";
import { LogEntry, LogStat, SelfLogFilter } from "./log.ts";
import { isOneLine, isSeen } from "./name.ts";
import { teamAuditApi } from "./team-audit.ts";
import { teamBoostApi } from "./team-boost.ts";
import { TeamLimits as Limits, teamProjectApi } from "./team-project.ts";
import { GivenTeamRole as GivenRole, TeamRoleName as Role } from "./team-role.ts";
import { UsageQuery, UsageReport } from "./usage.ts";
import { IdParams, ListBeside, ListQuery, Nothing, Quota, query, rowsOf, SearchQuery } from "./wire.ts";

const TeamName = z
  .string()
  .trim()
  .min(1, "请输入团队名称")
  .max(30, "团队名称最多 30 个字符")
  .refine((text) => isSeen(text) && isOneLine(text), "团队名称不能有不可见的字符");

const Amount = Quota.min(1, "额度须大于 0").max(Number.MAX_SAFE_INTEGER, "额度过大");

export const Team = z.object({
  id: z.int(),
  name: z.string(),
  /** The actor's; "" = an administrator who is no member. */
  role: z.union([Role, z.literal("")]),
  group: z.string(),
  /** As of users: 1 = enabled, 2 = stopped by an administrator. */
  status: z.int(),
  created_at: z.int(),
  /** Seconds; 0 = it is open. */
  closed_at: z.int().default(0),
  members: z.int(),
  /** What is in the wallet; null = the role does not see it. */
  quota: Quota.nullable().default(null),
  used_quota: Quota.nullable().default(null),
  request_count: z.int().nullable().default(null),
  /** The team is offered to the actor, or by its owner to another member. */
  heir_id: z.int().default(0),
  /** Of administrators' lists. */
  owner_id: z.int().default(0),
  owner_name: z.string().default(""),
});
export type Team = z.output<typeof Team>;

export const TeamMember = z.object({
  user_id: z.int(),
  username: z.string(),
  display_name: z.string(),
  role: Role,
  joined_at: z.int(),
  /** The account is enabled. */
  is_enabled: z.boolean(),
  /** What his calls of the last so many days came to; null = the role does not see it. */
  spent: Quota.nullable().default(null),
  requests: z.int().nullable().default(null),
  /** What he may use of the wallet, with what is used of it; of others who sets caps, or sees what they cost. */
  limits: z.array(Limit),
});
export type TeamMember = z.output<typeof TeamMember>;

export const TeamInvitation = z.object({
  id: z.int(),
  role: Role,
  max_uses: z.int(),
  used: z.int(),
  created_at: z.int(),
  expires_at: z.int(),
  /** In the answer of its making only: the end of the link. */
  code: z.string().default(""),
});
export type TeamInvitation = z.output<typeof TeamInvitation>;

const Person = z.object({ user_id: z.int().min(1) });
const Code = z.object({ code: z.string().trim().min(1).max(100) });

const TeamLogFilter = SelfLogFilter.extend({ user_id: query.count, project_id: query.count });

/** How calls went is counted by person, whichever account pays. */
export const TeamUsage = UsageReport.omit({ outcomes: true }).extend({
  /** By member, who spent most first; former members too. */
  members: z.array(z.object({ user_id: z.int(), username: z.string(), quota: Quota, requests: z.int() })),
  /** By project, closed ones too; calls of tokens without one are in none. */
  projects: z.array(z.object({ project_id: z.int(), name: z.string(), quota: Quota, requests: z.int() })),
});
export type TeamUsage = z.output<typeof TeamUsage>;

export const teamApi = {
  list: endpoint({
    method: "GET",
    path: "/api/team/",
    level: "user",
    summary: "我的团队",
    data: rowsOf(Team),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/team/",
    level: "user",
    summary: "创建团队，创建者为所有者；团队属于其分组",
    body: z.object({ name: TeamName }),
    data: Team,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/team/:id",
    level: "user",
    right: "see",
    summary: "一个团队",
    params: IdParams,
    data: Team,
  }),
  rename: endpoint({
    method: "PUT",
    path: "/api/team/:id",
    level: "user",
    right: "own",
    summary: "修改团队名称",
    params: IdParams,
    body: z.object({ name: TeamName }),
    data: Team,
  }),
  close: endpoint({
    method: "DELETE",
    path: "/api/team/:id",
    level: "user",
    right: "own",
    stepUp: "guarded",
    summary: "解散团队：令牌立即失效，钱包余额转回所有者；name 须与团队名称一致",
    params: IdParams,
    query: z.object({ name: query.text }),
    data: Nothing,
  }),
  limits: endpoint({
    method: "GET",
    path: "/api/team/:id/limit",
    level: "user",
    right: "see",
    summary: "团队整体的限额，含已用量与重置时间",
    params: IdParams,
    data: rowsOf(Limit),
  }),
  setLimits: endpoint({
    method: "PUT",
    path: "/api/team/:id/limit",
    level: "user",
    right: "own",
    summary: "设置团队整体的全部限额；带 id 的保留并继续计数，未列出的删除",
    params: IdParams,
    body: Limits,
    data: rowsOf(Limit),
  }),
  members: endpoint({
    method: "GET",
    path: "/api/team/:id/member",
    level: "user",
    right: "see",
    summary: "成员，含最近 days 天的消费与上限",
    params: IdParams,
    query: UsageQuery,
    data: rowsOf(TeamMember),
  }),
  setRole: endpoint({
    method: "PUT",
    path: "/api/team/:id/member",
    level: "user",
    right: "people",
    summary: "修改成员的角色；只能针对低于自己的成员与角色",
    params: IdParams,
    body: Person.extend({ role: GivenRole }),
    data: Nothing,
  }),
  setCaps: endpoint({
    method: "PUT",
    path: "/api/team/:id/member/limit",
    level: "user",
    right: "people",
    summary: "设置一个成员的全部上限；带 id 的保留并继续计数，未列出的删除",
    params: IdParams,
    body: Person.extend(Limits.shape),
    data: rowsOf(Limit),
  }),
  removeMember: endpoint({
    method: "DELETE",
    path: "/api/team/:id/member",
    level: "user",
    right: "see",
    summary: "移除低于自己的成员，或自己退出；其令牌交给 heir_id（所有者或管理者），否则失效",
    params: IdParams,
    query: z.object({ user_id: query.count, heir_id: query.count }),
    data: Nothing,
  }),
  ...teamProjectApi,
  ...teamBoostApi,
  ...teamAuditApi,
  invitations: endpoint({
    method: "GET",
    path: "/api/team/:id/invitation",
    level: "user",
    right: "people",
    summary: "仍可使用的邀请",
    params: IdParams,
    data: rowsOf(TeamInvitation),
  }),
  invite: endpoint({
    method: "POST",
    path: "/api/team/:id/invitation",
    level: "user",
    right: "people",
    summary: "创建邀请；code 只在本次返回",
    params: IdParams,
    body: z.object({
      role: GivenRole,
      max_uses: z.int().min(1, "须为 1 到 100").max(100, "须为 1 到 100").default(1),
      days: z.int().min(1, "须为 1 到 30 天").max(30, "须为 1 到 30 天").default(7),
    }),
    data: TeamInvitation,
  }),
  revoke: endpoint({
    method: "DELETE",
    path: "/api/team/:id/invitation",
    level: "user",
    right: "people",
    summary: "撤回邀请",
    params: IdParams,
    query: z.object({ invitation_id: query.count }),
    data: Nothing,
  }),
  look: endpoint({
    method: "POST",
    path: "/api/team/invitation/look",
    level: "user",
    limit: "critical",
    summary: "查看邀请：团队、角色、邀请人与到期时间",
    body: Code,
    data: z.object({ team_name: z.string(), role: Role, inviter: z.string(), expires_at: z.int() }),
  }),
  accept: endpoint({
    method: "POST",
    path: "/api/team/invitation/accept",
    level: "user",
    limit: "critical",
    summary: "接受邀请，加入团队",
    body: Code,
    data: Team,
  }),
  deposit: endpoint({
    method: "POST",
    path: "/api/team/:id/deposit",
    level: "user",
    right: "deposit",
    summary: "从自己的余额转入团队钱包",
    params: IdParams,
    body: z.object({ amount: Amount }),
    data: Team,
  }),
  topUp: endpoint({
    method: "POST",
    path: "/api/team/:id/topup",
    level: "user",
    right: "deposit",
    summary: "使用兑换码为团队钱包充值；data 为到账的额度",
    params: IdParams,
    body: z.object({ key: z.string().trim().min(1, "请输入兑换码").max(128, "兑换码无效") }),
    data: Quota,
  }),
  withdraw: endpoint({
    method: "POST",
    path: "/api/team/:id/withdraw",
    level: "user",
    right: "withdraw",
    stepUp: "guarded",
    summary: "从团队钱包转出到自己的余额",
    params: IdParams,
    body: z.object({ amount: Amount }),
    data: Team,
  }),
  offer: endpoint({
    method: "POST",
    path: "/api/team/:id/offer",
    level: "user",
    right: "own",
    stepUp: "guarded",
    summary: "向一名成员提出转让所有权；user_id 为 0 时撤回",
    params: IdParams,
    body: z.object({ user_id: z.int().min(0) }),
    data: Nothing,
  }),
  takeOver: endpoint({
    method: "POST",
    path: "/api/team/:id/take_over",
    level: "user",
    right: "see",
    stepUp: "guarded",
    summary: "接受所有权；原所有者成为管理者",
    params: IdParams,
    data: Team,
  }),
  logs: endpoint({
    method: "GET",
    path: "/api/team/:id/log",
    level: "user",
    right: "see",
    summary: "团队的日志，可按成员与项目筛选；只能看自己的角色只见自己的调用",
    params: IdParams,
    query: ListQuery.extend(TeamLogFilter.shape),
    data: rowsOf(LogEntry.extend({ member_id: z.int(), member_name: z.string() })),
    beside: ListBeside,
  }),
  logStat: endpoint({
    method: "GET",
    path: "/api/team/:id/log/stat",
    level: "user",
    right: "see",
    summary: "按条件统计团队的消费；只能看自己的角色只见自己的",
    params: IdParams,
    query: TeamLogFilter,
    data: LogStat,
  }),
  usage: endpoint({
    method: "GET",
    path: "/api/team/:id/usage",
    level: "user",
    right: "calls",
    summary: "团队最近 days 天的消费：按天与模型、按成员、按项目",
    params: IdParams,
    query: UsageQuery,
    data: TeamUsage,
  }),
};

export const teamAdminApi = {
  all: endpoint({
    method: "GET",
    path: "/api/team/all",
    level: "admin",
    permission: "team.read",
    summary: "所有团队，新的在前；可按 ID 或名称前缀搜索",
    query: SearchQuery,
    data: rowsOf(Team),
    beside: ListBeside,
  }),
  make: endpoint({
    method: "POST",
    path: "/api/team/all",
    level: "admin",
    permission: "team.write",
    summary: "为一个用户创建团队，可同时加入成员",
    body: z.object({
      name: TeamName,
      owner: z.string().trim().min(1, "请输入所有者的用户名"),
      members: z
        .array(z.object({ username: z.string().trim().min(1), role: GivenRole }))
        .max(100, "一次最多 100 名成员")
        .default([]),
    }),
    data: Team,
  }),
  manage: endpoint({
    method: "PUT",
    path: "/api/team/all",
    level: "admin",
    permission: "team.write",
    summary: "修改团队的分组或状态（1 启用，2 停用）",
    body: z.object({
      id: z.int().min(1),
      group: z.string().trim().max(64).optional(),
      status: z.union([z.literal(1), z.literal(2)]).optional(),
    }),
    data: Team,
  }),
  adjust: endpoint({
    method: "POST",
    path: "/api/team/adjust",
    level: "admin",
    permission: "team.wallet.adjust",
    summary: "增加或减少团队钱包的额度",
    body: z.object({
      id: z.int().min(1),
      amount: Quota.min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER),
      reason: z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符"),
    }),
    data: Team,
  }),
};
