// Where an invitation leads: what it offers, and the button to accept. Its code is behind the hash, which no server logs.
import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useLocation, useNavigate } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { teamApi } from "#contract/team.ts";
import { mayInTeam } from "#contract/team-words.ts";
import { ROLE_HINTS, ROLE_LABELS } from "./words.ts";

export function JoinTeamPage() {
  const code = useLocation().hash.slice(1);
  const navigate = useNavigate();
  const found = useQuery({
    ...query(teamApi.look, { body: { code } }),
    enabled: code !== "",
    retry: false,
    gcTime: 0,
    meta: { silent: true },
  });
  const accept = useCall(teamApi.accept, {
    invalidates: [teamApi.list],
    onSuccess: ({ id, name }) => {
      toast.success(`已加入团队“${name}”`);
      void navigate(`/team/${id}`, { replace: true });
    },
  });
  const body = () => {
    if (found.isError || code === "")
      return (
        <ErrorState error={found.error ?? new Error("链接不完整")} onRetry={() => void found.refetch()} />
      );
    if (found.data === undefined) return <section className="tg-card tg-section" aria-busy="true" />;
    const { team_name, role, inviter, expires_at } = found.data;
    return (
      <Section title={team_name}>
        <p>
          {inviter} 邀请您以“{ROLE_LABELS[role]}”（{ROLE_HINTS[role]}）的身份加入。邀请有效至{" "}
          {formatTime(expires_at)}。
        </p>
        {mayInTeam(role, "token") ? (
          <p>加入后，您在该团队中创建的令牌由团队的钱包付费，您个人的余额不受影响。</p>
        ) : null}
        <Button type="primary" loading={accept.isPending} onClick={() => accept.mutate({ body: { code } })}>
          加入团队
        </Button>
      </Section>
    );
  };
  return (
    <Page title="加入团队" width="form">
      {body()}
    </Page>
  );
}
