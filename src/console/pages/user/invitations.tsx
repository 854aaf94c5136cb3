// The invitations to the server: who may still come by which link, and taking one back.
import { StopOutlined } from "@ant-design/icons";
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { type Invitation, invitationApi } from "#contract/invitation.ts";

function isOver({ expires_at }: Invitation): boolean {
  return expires_at * 1000 <= Date.now();
}

function State({ row }: CellProps<Invitation>) {
  if (row.revoked_at > 0) return <StatusTag tone="idle" label="已撤回" />;
  if (row.used >= row.max_uses) return <StatusTag tone="info" label="已用完" />;
  return isOver(row) ? <StatusTag tone="idle" label="已过期" /> : <StatusTag tone="good" label="可使用" />;
}

function nameOf({ id, email }: Invitation): string {
  return email === "" ? `邀请 #${id}` : email;
}

const columns: readonly Column<Invitation>[] = [
  { key: "id", title: "ID", shows: "number", isNumber: true, width: 72 },
  {
    key: "email",
    title: "受邀邮箱",
    shows: "text",
    none: "不限",
    isInHead: true,
    width: 220,
    isGrowing: true,
  },
  { key: "revoked_at", title: "状态", isInHead: true, width: 110, cell: State },
  { key: "used", title: "已用次数", width: 110, render: ({ used, max_uses }) => `${used} / ${max_uses}` },
  { key: "group", title: "分组", shows: "text", width: 120 },
  { key: "quota", title: "赠送额度", shows: "quota", isNumber: true, width: 120 },
  { key: "created_at", title: "创建时间", shows: "time", width: 172 },
  { key: "expires_at", title: "有效至", shows: "time", width: 172 },
];

const add = <AddLink to="/user/invitation/add" text="添加新的邀请" />;

export function InvitationsPage() {
  const revoke = useCall(invitationApi.revoke, {
    invalidates: [invitationApi.list],
    onSuccess: () => toast.success("邀请已撤回！"),
  });
  const actions = (row: Invitation): RowAction[] => [
    {
      key: "revoke",
      label: "撤回",
      icon: <StopOutlined aria-hidden="true" />,
      isDanger: true,
      isDisabled: row.revoked_at > 0 || row.used >= row.max_uses || isOver(row),
      confirmText: "确认撤回",
      question: "撤回后链接立即失效，已经注册的账户不受影响。",
      onClick: () => revoke.mutate({ params: { id: row.id } }),
    },
  ];
  return (
    <Page
      title="邀请"
      lead="收到链接的人可以注册账户，在“仅限受邀注册”时也可以。链接只在创建时显示一次。"
      extra={add}
    >
      <ResourceTable<Invitation>
        name="invitation"
        label="邀请列表"
        load={() => rowsOf(query(invitationApi.list, {}))}
        columns={columns}
        actions={actions}
        actionsWidth={90}
        cardTitle={nameOf}
        cardState={(row) => <State row={row} />}
        cardFacts={["used", "group", "quota", "expires_at"]}
        empty={{ text: "还没有邀请。创建一个链接，发给需要账户的人。", action: add }}
      />
    </Page>
  );
}
