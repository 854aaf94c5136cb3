// The projects of a team (项目): what its tokens are for, what each may spend, and what it costs (requirements O09).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Limit, LimitDraft } from "./limit.ts";
import { isOneLine, isSeen } from "./name.ts";
import { UsageQuery } from "./usage.ts";
import { IdParams, Nothing, Quota, query, rowsOf } from "./wire.ts";

/** All limits of a team, or of something in it. */
export const TeamLimits = z.object({ limits: z.array(LimitDraft).max(20, "最多 20 条限额") });

const ProjectName = z
  .string()
  .trim()
  .min(1, "请输入项目名称")
  .max(30, "项目名称最多 30 个字符")
  .refine((text) => isSeen(text) && isOneLine(text), "项目名称不能有不可见的字符");

export const TeamProject = z.object({
  id: z.int(),
  name: z.string(),
  created_at: z.int(),
  /** Living tokens that belong to it. */
  tokens: z.int(),
  /** What its calls of the last so many days came to; null = the role does not see it. */
  spent: Quota.nullable().default(null),
  requests: z.int().nullable().default(null),
  limits: z.array(Limit),
});
export type TeamProject = z.output<typeof TeamProject>;

const Project = z.object({ project_id: z.int().min(1) });

export const teamProjectApi = {
  projects: endpoint({
    method: "GET",
    path: "/api/team/:id/project",
    level: "user",
    right: "see",
    summary: "团队的项目，含最近 days 天的消费与上限",
    params: IdParams,
    query: UsageQuery,
    data: rowsOf(TeamProject),
  }),
  makeProject: endpoint({
    method: "POST",
    path: "/api/team/:id/project",
    level: "user",
    right: "projects",
    summary: "创建项目；令牌以 project_id 归入",
    params: IdParams,
    body: z.object({ name: ProjectName }),
    data: TeamProject,
  }),
  renameProject: endpoint({
    method: "PUT",
    path: "/api/team/:id/project",
    level: "user",
    right: "projects",
    summary: "修改项目名称",
    params: IdParams,
    body: Project.extend({ name: ProjectName }),
    data: Nothing,
  }),
  closeProject: endpoint({
    method: "DELETE",
    path: "/api/team/:id/project",
    level: "user",
    right: "projects",
    summary: "删除没有令牌的项目；已有的费用仍在报表中",
    params: IdParams,
    query: z.object({ project_id: query.count }),
    data: Nothing,
  }),
  setProjectLimits: endpoint({
    method: "PUT",
    path: "/api/team/:id/project/limit",
    level: "user",
    right: "projects",
    summary: "设置一个项目的全部上限；带 id 的保留并继续计数，未列出的删除",
    params: IdParams,
    body: Project.extend(TeamLimits.shape),
    data: rowsOf(Limit),
  }),
};
