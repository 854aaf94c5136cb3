// The service accounts: which machines may call the management API, for what, until when.
import { StopOutlined } from "@ant-design/icons";
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { isPermission, PERMISSIONS } from "#contract/permission.ts";
import { type ServiceAccount, serviceAccountApi } from "#contract/service-account.ts";

function isOver({ expires_at }: ServiceAccount): boolean {
  return expires_at * 1000 <= Date.now();
}

function State({ row }: CellProps<ServiceAccount>) {
  if (row.revoked_at > 0) return <StatusTag tone="idle" label="已停用" />;
  return isOver(row) ? <StatusTag tone="idle" label="已过期" /> : <StatusTag tone="good" label="可使用" />;
}

function wordsOf({ permissions }: ServiceAccount): string {
  return permissions.map((name) => (isPermission(name) ? PERMISSIONS[name] : name)).join("、");
}

const columns: readonly Column<ServiceAccount>[] = [
  { key: "name", title: "名称", isFixed: true, isInHead: true, width: 160, shows: "text" },
  { key: "revoked_at", title: "状态", isInHead: true, width: 100, cell: State },
  { key: "creator", title: "创建者", shows: "text", width: 120 },
  {
    key: "permissions",
    title: "权限",
    width: 240,
    isGrowing: true,
    render: (row) => <ClippedText text={wordsOf(row)} />,
  },
  { key: "expires_at", title: "有效至", shows: "time", width: 172 },
  { key: "last_used_at", title: "最近使用", shows: "time", none: "从未", width: 172 },
  { key: "last_address", title: "来源地址", shows: "text", none: "—", width: 140 },
  { key: "subnet", title: "IP 限制", shows: "text", none: "不限", width: 150 },
];

const add = <AddLink to="/service-account/add" text="添加新的服务账户" permission="service.write" />;

export function ServiceAccountsPage() {
  const revoke = useCall(serviceAccountApi.revoke, {
    invalidates: [serviceAccountApi.list],
    onSuccess: () => toast.success("服务账户已停用！"),
  });
  const actions = (row: ServiceAccount): RowAction[] => [
    {
      key: "revoke",
      label: "停用",
      icon: <StopOutlined aria-hidden="true" />,
      isDanger: true,
      isDisabled: row.revoked_at > 0 || isOver(row),
      permission: "service.write",
      confirmText: "确认停用",
      question: `停用“${row.name}”后，用它的程序立即无法调用管理接口，且不能恢复。`,
      onClick: () => revoke.mutate({ params: { id: row.id } }),
    },
  ];
  return (
    <Page
      title="服务账户"
      lead="供脚本与程序调用管理接口的令牌：权限逐项指定，且不超过创建者当时的权限；创建者被降级或停用，它也随之失效。"
      extra={add}
    >
      <ResourceTable<ServiceAccount>
        name="service-account"
        label="服务账户列表"
        load={() => rowsOf(query(serviceAccountApi.list, {}))}
        columns={columns}
        actions={actions}
        actionsWidth={90}
        cardTitle={(row) => row.name}
        cardState={(row) => <State row={row} />}
        cardFacts={["creator", "last_used_at", "expires_at", "permissions"]}
        empty={{ text: "还没有服务账户。为每个程序创建一个，只给它需要的权限。", action: add }}
      />
    </Page>
  );
}
