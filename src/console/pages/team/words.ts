// Teams in words. Pure.
import type { Limit } from "#contract/limit.ts";
import { LIMIT_WINDOW_LABELS } from "#contract/limit-words.ts";
import { formatQuota, type QuotaDisplay } from "#contract/quota.ts";
import type { Team } from "#contract/team.ts";
import { mayInTeam, type TeamRight, type TeamRole } from "#contract/team-words.ts";

export const ROLE_LABELS: Readonly<Record<TeamRole, string>> = {
  owner: "所有者",
  manager: "管理者",
  finance: "财务",
  member: "成员",
  viewer: "只读",
};

/** What each role may do, for the owner or manager who gives it and the user who is invited. */
export const ROLE_HINTS: Readonly<Record<TeamRole, string>> = {
  owner: "全部权限",
  manager: "管理成员、上限与令牌",
  finance: "查看费用，向钱包转入",
  member: "创建并使用自己的令牌",
  viewer: "只能查看",
};

/** The roles that one of this role may give. */
export function givenBy(role: Team["role"]): readonly TeamRole[] {
  if (role === "owner") return ["manager", "finance", "member", "viewer"];
  return role === "manager" ? ["finance", "member", "viewer"] : [];
}

export function may(team: Pick<Team, "role">, right: TeamRight): boolean {
  return team.role !== "" && mayInTeam(team.role, right);
}

/** A cap with what is used of it, as 每日 $0.02 / $1.00. */
export function capText({ time_window, kind, amount, used }: Limit, display: QuotaDisplay): string {
  const text = (value: number) => (kind === "quota" ? formatQuota(value, display) : String(value));
  return `${LIMIT_WINDOW_LABELS[time_window]} ${used === null ? "" : `${text(used)} / `}${text(amount)}`;
}
