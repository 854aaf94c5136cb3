// All redemption codes: copy, enable and disable, edit, delete.
import { DeleteOutlined, EditOutlined, PlusOutlined, PoweroffOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { toast } from "#console/base/toast.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { QuotaText } from "#console/ui/quota-text.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import type { SearchDraft } from "#console/ui/table-toolbar.tsx";
import { TimeText } from "#console/ui/time-text.tsx";
import { type Redemption, RedemptionStatus, redemptionApi } from "#contract/redemption.ts";

const LISTS = [redemptionApi.list, redemptionApi.search] as const;

const STATUS: Readonly<Record<number, { readonly label: string; readonly tone: Tone }>> = {
  [RedemptionStatus.unused]: { label: "未使用", tone: "good" },
  [RedemptionStatus.disabled]: { label: "已禁用", tone: "idle" },
  [RedemptionStatus.used]: { label: "已使用", tone: "info" },
};

function State({ redemption }: { readonly redemption: Redemption }) {
  const { status, used_user_id } = redemption;
  const hint = used_user_id === 0 ? "" : `由用户 #${used_user_id} 兑换`;
  return <StatusTag {...(STATUS[status] ?? { label: "未知状态", tone: "idle" })} hint={hint} />;
}

function Name({ name }: { readonly name: string }) {
  if (name === "") return <span className="tg-muted">无</span>;
  return (
    <span className="tg-clip" title={name}>
      {name}
    </span>
  );
}

const columns: readonly Column<Redemption>[] = [
  { key: "id", title: "ID", isSortable: true, isNumber: true, width: 72, render: (row) => row.id },
  {
    key: "name",
    title: "名称",
    isFixed: true,
    isSortable: true,
    isInHead: true,
    width: 180,
    render: (row) => <Name name={row.name} />,
  },
  {
    key: "status",
    title: "状态",
    isSortable: true,
    isInHead: true,
    width: 110,
    render: (row) => <State redemption={row} />,
  },
  {
    key: "quota",
    title: "额度",
    isSortable: true,
    isNumber: true,
    width: 110,
    render: (row) => <QuotaText quota={row.quota} />,
  },
  {
    key: "created_time",
    title: "创建时间",
    isSortable: true,
    width: 172,
    render: (row) => <TimeText seconds={row.created_time} />,
  },
  {
    key: "redeemed_time",
    title: "兑换时间",
    isSortable: true,
    width: 172,
    render: (row) => <TimeText seconds={row.redeemed_time} none="尚未兑换" />,
  },
];

function useRedemptionActions() {
  const toForm = useToForm();
  const update = useCall(redemptionApi.update, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { body }) =>
      patchRow(client, LISTS, { id: body.id, ...(body.status === undefined ? {} : { status: body.status }) }),
  });
  const remove = useCall(redemptionApi.remove, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { params }) => hideRow(client, LISTS, params.id),
  });
  return (row: Redemption): RowAction[] => {
    const isUnused = row.status === RedemptionStatus.unused;
    const status = isUnused ? RedemptionStatus.disabled : RedemptionStatus.unused;
    return [
      {
        key: "toggle",
        label: isUnused ? "禁用" : "启用",
        icon: <PoweroffOutlined aria-hidden="true" />,
        isDisabled: row.status === RedemptionStatus.used,
        onClick: () => update.mutate({ query: { status_only: "true" }, body: { id: row.id, status } }),
      },
      {
        key: "edit",
        label: "编辑",
        icon: <EditOutlined aria-hidden="true" />,
        onClick: () => toForm(`/redemption/edit/${row.id}`),
      },
      {
        key: "delete",
        label: "删除",
        icon: <DeleteOutlined aria-hidden="true" />,
        isDanger: true,
        question: `删除兑换码“${row.name}”？此操作无法撤销。`,
        confirmText: "确认删除",
        onClick: () => remove.mutate({ params: { id: row.id } }),
      },
    ];
  };
}

interface CopyCodeProps {
  readonly redemption: Redemption;
  /** Gets the code when the clipboard refused it. */
  readonly onRefused: (text: string) => void;
}

function CopyCode({ redemption, onRefused }: CopyCodeProps) {
  const copy = async () => {
    if (!(await copyText(redemption.key))) onRefused(redemption.key);
  };
  return (
    <Button
      size="small"
      disabled={redemption.key === ""}
      aria-label={`复制兑换码 ${redemption.name} #${redemption.id}`}
      onClick={() => void copy()}
    >
      复制
    </Button>
  );
}

function AddRedemption() {
  return (
    <LinkButton to="/redemption/add" kind="primary" icon={<PlusOutlined aria-hidden="true" />}>
      添加新的兑换码
    </LinkButton>
  );
}

export function RedemptionListPage() {
  const actions = useRedemptionActions();
  const [refused, setRefused] = useState<SearchDraft>();
  return (
    <Page
      title="管理兑换码"
      lead="兑换码由管理员成批生成，用户在充值页面兑换成额度。"
      extra={<AddRedemption />}
    >
      <ResourceTable<Redemption>
        name="redemption"
        label="兑换码列表"
        searchHint="搜索兑换码的 ID 和名称"
        searchDraft={refused}
        load={({ keyword, ...page }) =>
          keyword === ""
            ? query(redemptionApi.list, { query: page })
            : query(redemptionApi.search, { query: { ...page, keyword } })
        }
        columns={columns}
        actions={actions}
        actionsWidth={216}
        lead={(row) => <CopyCode redemption={row} onRefused={(text) => setRefused({ text })} />}
        cardTitle={(row) => <Name name={row.name} />}
        cardState={(row) => <State redemption={row} />}
        cardFacts={["id", "quota", "created_time", "redeemed_time"]}
        empty={{ text: "还没有兑换码。生成一批，发给需要充值的用户。", action: <AddRedemption /> }}
      />
    </Page>
  );
}
