// One team: its wallet, members, cost, calls and invitations, as far as the role reaches.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Tabs } from "antd";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { selfQuery, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { useTab } from "#console/ui/table-state.ts";
import { ErrorState } from "#console/ui/table-states.tsx";
import { mayIn, pathIn } from "#console/ui/team-context.ts";
import { TypedConfirm } from "#console/ui/typed-confirm.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { type Team, teamApi } from "#contract/team.ts";
import { TeamActs } from "./acts.tsx";
import { InviteDialog, MoveDialog, RenameDialog } from "./dialogs.tsx";
import { Invitations } from "./invitations.tsx";
import { Members } from "./members.tsx";
import { Projects } from "./projects.tsx";
import { TeamCapDialog, TeamCapFact } from "./team-cap.tsx";
import { ROLE_LABELS } from "./words.ts";
import "./team.css";

type Dialog = "deposit" | "withdraw" | "invite" | "cap" | "rename" | "close";

function Head({ team, onAsk }: { readonly team: Team; readonly onAsk: (dialog: Dialog) => void }) {
  return (
    <section className="tg-card tg-team-head" aria-label="钱包">
      <dl>
        {team.quota === null ? null : (
          <div>
            <dt>钱包余额</dt>
            <dd>
              <QuotaText quota={team.quota} />
            </dd>
          </div>
        )}
        {team.used_quota === null ? null : (
          <div>
            <dt>累计消费</dt>
            <dd>
              <QuotaText quota={team.used_quota} />
            </dd>
          </div>
        )}
        <div>
          <dt>我的角色</dt>
          <dd>{team.role === "" ? "—" : ROLE_LABELS[team.role]}</dd>
        </div>
        <div>
          <dt>成员数</dt>
          <dd>{team.members}</dd>
        </div>
        <div>
          <dt>分组</dt>
          <dd>{team.group}</dd>
        </div>
        <TeamCapFact team={team} />
      </dl>
      <div className="tg-team-buttons">
        {mayIn(team, "token") ? <LinkButton to={pathIn(team.id, "/token")}>团队令牌</LinkButton> : null}
        {mayIn(team, "calls") ? <LinkButton to={pathIn(team.id, "/dashboard")}>总览</LinkButton> : null}
        {team.role === "" ? null : <LinkButton to={pathIn(team.id, "/log")}>明细</LinkButton>}
        {mayIn(team, "deposit") ? <LinkButton to={pathIn(team.id, "/topup")}>充值</LinkButton> : null}
        {mayIn(team, "deposit") ? <Button onClick={() => onAsk("deposit")}>转入</Button> : null}
        {mayIn(team, "withdraw") ? <Button onClick={() => onAsk("withdraw")}>转出</Button> : null}
        {mayIn(team, "people") ? (
          <Button type="primary" onClick={() => onAsk("invite")}>
            邀请成员
          </Button>
        ) : null}
        {mayIn(team, "own") ? <Button onClick={() => onAsk("cap")}>上限</Button> : null}
        {mayIn(team, "own") ? <Button onClick={() => onAsk("rename")}>改名</Button> : null}
        {mayIn(team, "own") ? (
          <Button danger type="text" onClick={() => onAsk("close")}>
            解散团队
          </Button>
        ) : team.role === "" ? null : (
          <Leave team={team} />
        )}
      </div>
    </section>
  );
}

/** Who is offered the team takes it here. */
function Offer({ team }: { readonly team: Team }) {
  const takeOver = useCall(teamApi.takeOver, {
    invalidates: [teamApi.get, teamApi.list, teamApi.members],
    onSuccess: () => toast.success("您已成为所有者"),
  });
  return (
    <Callout tone="info">
      所有者要把这个团队转让给您。
      <Button
        type="link"
        loading={takeOver.isPending}
        onClick={() => takeOver.mutate({ params: { id: team.id } })}
      >
        接受
      </Button>
    </Callout>
  );
}

function CloseDialog({ team, onClose }: { readonly team: Team; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const close = useCall(teamApi.close, {
    invalidates: [teamApi.list],
    onSuccess: () => {
      toast.success("团队已解散");
      void client.invalidateQueries({ queryKey: selfQuery.queryKey });
      void navigate("/team");
    },
  });
  return (
    <TypedConfirm
      title="解散团队"
      expected={team.name}
      confirmText="确认解散"
      isBusy={close.isPending}
      onConfirm={() => close.mutate({ params: { id: team.id }, query: { name: team.name } })}
      onClose={onClose}
    >
      所有团队令牌立即失效，钱包余额转回您的账户，进行中的调用结算后的余额随后转回。此操作不可撤销。
    </TypedConfirm>
  );
}

function Leave({ team }: { readonly team: Team }) {
  const user = useUser();
  const navigate = useNavigate();
  const leave = useCall(teamApi.removeMember, {
    invalidates: [teamApi.list],
    onSuccess: () => {
      toast.success("已退出团队");
      void navigate("/team");
    },
  });
  return (
    <ConfirmButton
      danger
      question="退出团队？您的团队令牌立即失效。"
      confirmText="确认退出"
      onConfirm={() =>
        user === undefined
          ? undefined
          : leave.mutate({ params: { id: team.id }, query: { user_id: user.id, heir_id: 0 } })
      }
    >
      退出团队
    </ConfirmButton>
  );
}

function tabsOf(team: Team) {
  return [
    { key: "member", label: "团队成员", children: <Members team={team} /> },
    { key: "project", label: "项目", children: <Projects team={team} /> },
    ...(mayIn(team, "people")
      ? [{ key: "invitation", label: "邀请", children: <Invitations team={team} /> }]
      : []),
    ...(mayIn(team, "acts") ? [{ key: "act", label: "操作记录", children: <TeamActs team={team} /> }] : []),
  ];
}

function Shown({ team }: { readonly team: Team }) {
  const user = useUser();
  const [tab, openTab] = useTab("member");
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  const tabs = tabsOf(team);
  return (
    <>
      {team.status === 1 ? null : <Callout tone="warn">该团队已被管理员停用，令牌暂时不能使用。</Callout>}
      {team.heir_id !== 0 && team.heir_id === user?.id ? <Offer team={team} /> : null}
      <Head team={team} onAsk={setDialog} />
      <Tabs
        activeKey={tabs.some(({ key }) => key === tab) ? tab : "member"}
        items={tabs}
        destroyOnHidden
        onChange={openTab}
      />
      {dialog === "deposit" || dialog === "withdraw" ? (
        <MoveDialog team={team} way={dialog} onClose={close} />
      ) : null}
      {dialog === "invite" ? <InviteDialog team={team} onClose={close} /> : null}
      {dialog === "cap" ? <TeamCapDialog team={team} onClose={close} /> : null}
      {dialog === "rename" ? <RenameDialog team={team} onClose={close} /> : null}
      {dialog === "close" ? <CloseDialog team={team} onClose={close} /> : null}
    </>
  );
}

export function TeamPage() {
  const id = Number(useParams()["id"]);
  const found = useQuery({ ...query(teamApi.get, { params: { id } }), meta: { silent: true } });
  return (
    <Page title={found.data?.name ?? "团队"} lead="成员的团队令牌从钱包付费，个人余额不受影响。">
      {found.isError ? <ErrorState error={found.error} onRetry={() => void found.refetch()} /> : null}
      {found.data === undefined ? null : <Shown key={id} team={found.data} />}
    </Page>
  );
}
