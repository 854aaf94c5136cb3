// The links into a team that can still be used; one can be taken back.
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { type Team, type TeamInvitation, teamApi } from "#contract/team.ts";
import { ROLE_LABELS } from "./words.ts";

const columns: readonly Column<TeamInvitation>[] = [
  { key: "id", title: "ID", shows: "number", isNumber: true, width: 72 },
  { key: "role", title: "角色", isInHead: true, width: 120, render: ({ role }) => ROLE_LABELS[role] },
  { key: "used", title: "已用次数", width: 110, render: ({ used, max_uses }) => `${used} / ${max_uses}` },
  { key: "created_at", title: "创建时间", shows: "time", width: 172 },
  { key: "expires_at", title: "有效至", shows: "time", width: 172, isGrowing: true },
];

export function Invitations({ team }: { readonly team: Team }) {
  const revoke = useCall(teamApi.revoke, {
    invalidates: [teamApi.invitations],
    onSuccess: () => toast.success("邀请已撤回！"),
  });
  return (
    <ResourceTable<TeamInvitation>
      name="team-invitation"
      label="邀请列表"
      load={() => rowsOf(query(teamApi.invitations, { params: { id: team.id } }))}
      columns={columns}
      actions={({ id }) => [
        {
          key: "revoke",
          label: "撤回",
          isDanger: true,
          confirmText: "确认撤回",
          question: "撤回后链接立即失效，已经加入的成员不受影响。",
          onClick: () => revoke.mutate({ params: { id: team.id }, query: { invitation_id: id } }),
        },
      ]}
      actionsWidth={90}
      cardTitle={({ id, role }) => `#${id} ${ROLE_LABELS[role]}`}
      cardFacts={["used", "created_at", "expires_at"]}
      empty={{ text: "没有可用的邀请。点击“邀请成员”生成链接。" }}
    />
  );
}
