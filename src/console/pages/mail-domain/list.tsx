// The domains of mail that lead into a group and a team.
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction } from "#console/ui/row-actions.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { type MailDomainRow, mailDomainApi } from "#contract/mail-domain.ts";
import { DOMAIN_ROLES } from "./words.ts";

function teamOf({ team_id, team_name, team_role }: MailDomainRow): string {
  if (team_id === 0) return "";
  return team_name === "" ? `#${team_id}（已解散）` : `${team_name}（${DOMAIN_ROLES[team_role]}）`;
}

const columns: readonly Column<MailDomainRow>[] = [
  { key: "domain", title: "域名", isFixed: true, isInHead: true, width: 220, isGrowing: true, shows: "text" },
  { key: "group", title: "分组", width: 140, shows: "text", none: "不改变" },
  { key: "team_name", title: "团队", width: 220, render: (row) => teamOf(row) || "—" },
  { key: "created_at", title: "创建时间", width: 172, shows: "time" },
];

const ADD = <AddLink to="/mail-domain/add" text="添加邮箱域名" />;

export function MailDomainsPage() {
  const toForm = useToForm();
  const remove = useCall(mailDomainApi.remove, {
    invalidates: [mailDomainApi.list],
    onSuccess: () => toast.success(),
  });
  const actions = (row: MailDomainRow): RowAction[] => [
    editAction(() => toForm(`/mail-domain/edit/${row.id}`)),
    deleteAction(
      () => remove.mutate({ params: { id: row.id } }),
      `删除 ${row.domain}？已经加入的人不受影响。`,
    ),
  ];
  return (
    <Page
      title="邮箱域名"
      lead="验证了这些域名的邮箱，就加入对应的分组与团队：用验证码注册或绑定邮箱时，或由可以代表该域名的登录服务首次登录时。"
      extra={ADD}
    >
      <ResourceTable<MailDomainRow>
        name="mail-domain"
        label="邮箱域名列表"
        load={() => rowsOf(query(mailDomainApi.list, {}))}
        columns={columns}
        actions={actions}
        actionsWidth={150}
        cardTitle={(row) => row.domain}
        cardFacts={["group", "team_name", "created_at"]}
        empty={{ text: "还没有邮箱域名。", action: ADD }}
      />
    </Page>
  );
}
