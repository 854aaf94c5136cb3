// My tokens: copy, enable and disable, edit, delete.
import {
  DeleteOutlined,
  EditOutlined,
  FileSearchOutlined,
  PlusOutlined,
  PoweroffOutlined,
} from "@ant-design/icons";
import { useState } from "react";
import { useNavigate } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { maskKey } from "#console/base/format.ts";
import { ownLogPath } from "#console/base/log-path.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { AddressBar } from "#console/ui/address-bar.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { QuotaText } from "#console/ui/quota-text.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import type { SearchDraft } from "#console/ui/table-toolbar.tsx";
import { TimeText } from "#console/ui/time-text.tsx";
import { type Token, TokenStatus, tokenApi } from "#contract/token.ts";
import { Expiry, RemainingQuota } from "./cells.tsx";
import { CopyKey } from "./copy-key.tsx";

const LISTS = [tokenApi.list, tokenApi.search] as const;

const STATUS: Readonly<Record<number, { readonly label: string; readonly tone: Tone }>> = {
  [TokenStatus.enabled]: { label: "已启用", tone: "good" },
  [TokenStatus.disabled]: { label: "已禁用", tone: "idle" },
  [TokenStatus.expired]: { label: "已过期", tone: "bad" },
  [TokenStatus.exhausted]: { label: "已耗尽", tone: "bad" },
};

function State({ token }: { readonly token: Token }) {
  return <StatusTag {...(STATUS[token.status] ?? { label: "未知状态", tone: "idle" })} />;
}

function TokenName({ token }: { readonly token: Token }) {
  return token.name === "" ? (
    <span className="tg-muted">无</span>
  ) : (
    <span className="tg-clip tg-name">{token.name}</span>
  );
}

const columns: readonly Column<Token>[] = [
  {
    key: "name",
    title: "名称",
    isFixed: true,
    isSortable: true,
    isInHead: true,
    width: 140,
    render: (token) => <TokenName token={token} />,
  },
  {
    key: "status",
    title: "状态",
    isSortable: true,
    isInHead: true,
    width: 92,
    render: (token) => <State token={token} />,
  },
  {
    key: "key",
    title: "密钥",
    width: 146,
    render: (token) =>
      token.key === "" ? "暂时无法读取" : <code className="tg-code">{maskKey(token.key)}</code>,
  },
  {
    key: "used_quota",
    title: "已用额度",
    isSortable: true,
    isNumber: true,
    width: 96,
    render: (token) => <QuotaText quota={token.used_quota} />,
  },
  {
    key: "remain_quota",
    title: "剩余额度",
    isSortable: true,
    isNumber: true,
    width: 118,
    render: (token) => <RemainingQuota token={token} />,
  },
  {
    key: "created_time",
    title: "创建时间",
    isSortable: true,
    width: 152,
    render: (token) => <TimeText seconds={token.created_time} />,
  },
  {
    key: "accessed_time",
    isHiddenAtFirst: true,
    title: "最近使用",
    isSortable: true,
    width: 164,
    render: (token) => <TimeText seconds={token.accessed_time} />,
  },
  {
    key: "expired_time",
    title: "过期时间",
    isSortable: true,
    width: 152,
    render: (token) => <Expiry token={token} />,
  },
];

function useTokenActions() {
  const toForm = useToForm();
  const navigate = useNavigate();
  const user = useUser();
  const update = useCall(tokenApi.update, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { body }) =>
      patchRow(client, LISTS, { id: body.id, ...(body.status === undefined ? {} : { status: body.status }) }),
  });
  const remove = useCall(tokenApi.remove, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { params }) => hideRow(client, LISTS, params.id),
  });
  return (token: Token): RowAction[] => {
    const isEnabled = token.status === TokenStatus.enabled;
    const status = isEnabled ? TokenStatus.disabled : TokenStatus.enabled;
    return [
      {
        key: "toggle",
        label: isEnabled ? "禁用" : "启用",
        icon: <PoweroffOutlined aria-hidden="true" />,
        onClick: () => update.mutate({ query: { status_only: "true" }, body: { id: token.id, status } }),
      },
      {
        key: "edit",
        label: "编辑",
        icon: <EditOutlined aria-hidden="true" />,
        onClick: () => toForm(`/token/edit/${token.id}`),
      },
      {
        key: "log",
        label: "日志",
        icon: <FileSearchOutlined aria-hidden="true" />,
        // Entries are found by the name.
        isDisabled: token.name === "",
        onClick: () => void navigate(ownLogPath(user, { token_name: token.name })),
      },
      {
        key: "delete",
        label: "删除",
        icon: <DeleteOutlined aria-hidden="true" />,
        isDanger: true,
        question: `删除令牌“${token.name}”？使用它的客户端会立即失效。`,
        confirmText: "确认删除",
        onClick: () => remove.mutate({ params: { id: token.id } }),
      },
    ];
  };
}

function AddToken() {
  return (
    <LinkButton to="/token/add" kind="primary" icon={<PlusOutlined aria-hidden="true" />}>
      添加新的令牌
    </LinkButton>
  );
}

export function TokenListPage() {
  const actions = useTokenActions();
  const [refused, setRefused] = useState<SearchDraft>();
  return (
    <Page title="我的令牌" lead="令牌是调用接口用的密钥，可以分别限定额度、期限与模型。" extra={<AddToken />}>
      <AddressBar />
      <ResourceTable<Token>
        name="token"
        label="令牌列表"
        searchHint="搜索令牌的名称"
        searchDraft={refused}
        load={({ keyword, ...page }) =>
          keyword === ""
            ? query(tokenApi.list, { query: page })
            : query(tokenApi.search, { query: { ...page, keyword } })
        }
        columns={columns}
        actions={actions}
        actionsWidth={278}
        lead={(token) => <CopyKey token={token} onRefused={(text) => setRefused({ text })} />}
        cardTitle={(token) => <TokenName token={token} />}
        cardState={(token) => <State token={token} />}
        cardFacts={["used_quota", "remain_quota", "created_time", "expired_time"]}
        empty={{ text: "还没有令牌。添加一个，就可以开始调用接口。", action: <AddToken /> }}
      />
    </Page>
  );
}
