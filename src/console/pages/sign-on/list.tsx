// The login providers that the super administrator set up.
import { query } from "#console/base/call.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, editAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { type LoginProvider, loginProviderApi } from "#contract/login-provider.ts";
import { KIND_NAMES } from "./words.ts";

function State({ row }: CellProps<LoginProvider>) {
  if (row.redirect_url === "") return <StatusTag tone="bad" label="不可用" hint="请先设置服务器地址" />;
  return row.is_enabled ? <StatusTag tone="good" label="已启用" /> : <StatusTag tone="idle" label="已停用" />;
}

const columns: readonly Column<LoginProvider>[] = [
  { key: "name", title: "名称", isFixed: true, isInHead: true, width: 160, shows: "text" },
  { key: "kind", title: "协议", width: 150, render: (row) => KIND_NAMES[row.kind] },
  { key: "is_enabled", title: "状态", isInHead: true, width: 110, cell: State },
  { key: "slug", title: "标识", width: 140, shows: "text" },
  {
    key: "issuer",
    title: "地址",
    width: 260,
    isGrowing: true,
    render: (row) => row.issuer || row.authorize_url || row.client_id,
  },
  { key: "identities", title: "已绑定账号", width: 120, render: (row) => String(row.identities) },
];

const ADD = "/login-provider/add";

export function LoginProvidersPage() {
  const toForm = useToForm();
  return (
    <Page
      lead="用单位自己的身份平台登录：Keycloak、Entra ID、Okta、Authentik 等，或飞书、钉钉、企业微信。登录页会出现对应的按钮。"
      extra={
        <>
          <LinkButton to="/mail-domain">邮箱域名</LinkButton>
          <AddLink to={ADD} text="添加登录服务" />
        </>
      }
    >
      <ResourceTable<LoginProvider>
        name="login-provider"
        label="登录服务列表"
        load={() => rowsOf(query(loginProviderApi.list, {}))}
        columns={columns}
        actions={(row) => [editAction(() => toForm(`/login-provider/edit/${row.id}`))]}
        actionsWidth={90}
        cardTitle={(row) => row.name}
        cardState={(row) => <State row={row} />}
        cardFacts={["kind", "slug", "issuer", "identities"]}
        empty={{
          text: "还没有登录服务。添加后，用户就能用单位的账号登录。",
          action: <AddLink to={ADD} text="添加登录服务" />,
        }}
      />
    </Page>
  );
}
