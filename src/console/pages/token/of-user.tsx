// The tokens of another user, for administrators: seen without their keys, made, and limited.
import { ApartmentOutlined, ControlOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import { query } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink } from "#console/ui/row-actions.tsx";
import type { Column } from "#console/ui/row-view.ts";
import type { Token } from "#contract/token.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { userTokenApi } from "#contract/user-token.ts";
import { Expiry, Key, RemainingQuota, State } from "./cells.tsx";
import { TokenForm } from "./form.tsx";

const columns: readonly Column<Token>[] = [
  { key: "name", title: "名称", shows: "text", isFixed: true, isSortable: true, isInHead: true, width: 160 },
  { key: "status", title: "状态", cell: State, isSortable: true, isInHead: true, width: 92 },
  { key: "key", title: "密钥", cell: Key, width: 160 },
  { key: "tags", title: "标签", shows: "text", none: "无", width: 120 },
  { key: "used_quota", title: "已用额度", shows: "quota", isSortable: true, isNumber: true, width: 100 },
  {
    key: "remain_quota",
    title: "剩余额度",
    cell: RemainingQuota,
    isSortable: true,
    isNumber: true,
    width: 118,
  },
  { key: "accessed_time", title: "最近使用", shows: "time", isSortable: true, width: 164 },
  { key: "expired_time", title: "过期时间", cell: Expiry, isSortable: true, width: 164 },
];

function useUserId(): number {
  return Number(useParams()["user"]);
}

export function UserTokensPage() {
  const id = useUserId();
  const toForm = useToForm();
  const navigate = useNavigate();
  const user = useQuery({ ...query(userAdminApi.get, { params: { id } }), meta: { silent: true } });
  const add = <AddLink to={`/user/token/${id}/add`} text="为该用户添加令牌" permission="user.write" />;
  return (
    <Page
      title={user.data === undefined ? "用户的令牌" : `${user.data.username} 的令牌`}
      isComing={user.isPending}
      lead="看不到密钥；密钥只在创建时显示一次给创建者，用户可在自己的令牌页面复制或轮换。"
      extra={add}
    >
      <ResourceTable<Token>
        name="user-token"
        label="用户的令牌列表"
        load={({ keyword: _none, ...page }) => query(userTokenApi.list, { params: { id }, query: page })}
        columns={columns}
        actions={(token) => [
          {
            key: "limit",
            label: "限额",
            icon: <ControlOutlined aria-hidden="true" />,
            onClick: () => toForm(`/user/token/${id}/limit/${token.id}`),
          },
          {
            key: "route",
            label: "路由解释",
            icon: <ApartmentOutlined aria-hidden="true" />,
            permission: "channel.read",
            onClick: () => void navigate(`/channel/route?token_id=${token.id}`),
          },
        ]}
        actionsWidth={wide(146, 186)}
        cardTitle={(token) => <ClippedText text={token.name} none="无" />}
        cardState={(token) => <State row={token} />}
        cardFacts={["key", "used_quota", "remain_quota", "expired_time"]}
        empty={{ text: "该用户还没有令牌。", action: add }}
      />
    </Page>
  );
}

export function UserTokenFormPage() {
  return (
    <Page title="为用户添加令牌" lead="用户会收到通知，令牌归该用户所有，费用由该用户承担。" width="form">
      <TokenForm token={undefined} ownerId={useUserId()} />
    </Page>
  );
}
