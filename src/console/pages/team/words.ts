// Teams in words. Pure.
import { allowedNow, amountText } from "#console/ui/limit-words.ts";
import type { Limit } from "#contract/limit.ts";
import { LIMIT_WINDOW_LABELS } from "#contract/limit-words.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Team } from "#contract/team.ts";
import type { TeamRole } from "#contract/team-words.ts";

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

/** A cap with what is used of it, as 每日 $0.02 / $1.00. Seconds. */
export function capText(limit: Limit, display: QuotaDisplay, nowSec: number): string {
  const { time_window, kind, used } = limit;
  const text = (value: number) => amountText(kind, value, display);
  const allowed = text(allowedNow(limit, nowSec));
  return `${LIMIT_WINDOW_LABELS[time_window]} ${used === null ? "" : `${text(used)} / `}${allowed}`;
}
