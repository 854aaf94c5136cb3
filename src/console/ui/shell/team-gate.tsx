// A page of a team is for its members whose role may see what is on it; rights are the server's all the same.
import { LockOutlined } from "@ant-design/icons";
import type { ReactNode } from "react";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { mayIn, useTeam, useTeams } from "#console/ui/team-context.ts";
import type { PageRow } from "./nav.ts";

export function TeamGate({ page, children }: { readonly page: PageRow; readonly children: ReactNode }) {
  const id = useTeam();
  const teams = useTeams();
  if (id === 0 || page.ofTeam === undefined) return children;
  if (teams === undefined) return <span aria-busy="true" hidden />;
  const team = teams.find((one) => one.id === id);
  if (team !== undefined && mayIn(team, page.ofTeam.right)) return children;
  return (
    <div className="tg-card tg-refusal" role="alert">
      <LockOutlined aria-hidden="true" />
      <h1>{team === undefined ? "找不到该团队" : "您的角色看不到这一页"}</h1>
      <p>
        {team === undefined
          ? "它不存在、已经解散，或者您不是它的成员。"
          : `您在团队“${team.name}”中的角色不包括这一页。如有需要，请联系团队的所有者或管理者。`}
      </p>
      <LinkButton to={team === undefined ? "/team" : `/team/${id}`} kind="primary">
        {team === undefined ? "我的团队" : "返回团队"}
      </LinkButton>
    </div>
  );
}
