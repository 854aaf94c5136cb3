// All redemption codes: copy, enable and disable, edit, delete.
import { Button } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { changesRow, removesRow } from "#console/base/rows.ts";
import { useMay } from "#console/base/session.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { emptyOf, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { blocksOf, listOf, ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction, toggleAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import type { SearchDraft } from "#console/ui/table-toolbar.tsx";
import { type Redemption, RedemptionStatus, redemptionApi } from "#contract/redemption.ts";
import { CodeBulk, LISTS } from "./bulk.tsx";
import { CODE_FILE, CODE_FILTERS, CODE_STATES } from "./filters.ts";

const TONES: Readonly<Record<number, Tone>> = {
  [RedemptionStatus.unused]: "good",
  [RedemptionStatus.used]: "info",
};

function State({ row: { status, used_user_id } }: CellProps<Redemption>) {
  const hint = used_user_id === 0 ? "" : `由用户 #${used_user_id} 兑换`;
  return <StatusTag label={CODE_STATES[status] ?? "未知状态"} tone={TONES[status] ?? "idle"} hint={hint} />;
}

function Name({ row }: CellProps<Redemption>) {
  return <ClippedText text={row.name} none="无" />;
}

const columns: readonly Column<Redemption>[] = [
  { key: "id", title: "ID", shows: "number", isSortable: true, isNumber: true, width: 72 },
  { key: "name", title: "名称", cell: Name, isFixed: true, isSortable: true, isInHead: true, width: 180 },
  { key: "status", title: "状态", cell: State, isSortable: true, isInHead: true, width: 110 },
  { key: "quota", title: "额度", shows: "quota", isSortable: true, isNumber: true, width: 110 },
  { key: "created_time", title: "创建时间", shows: "time", isSortable: true, width: 172 },
  { key: "redeemed_time", title: "兑换时间", shows: "time", none: "尚未兑换", isSortable: true, width: 172 },
];

function useRedemptionActions() {
  const toForm = useToForm();
  const update = useCall(redemptionApi.update, changesRow(LISTS, ["status"]));
  const remove = useCall(redemptionApi.remove, removesRow(LISTS));
  return ({ id, name, status }: Redemption): RowAction[] => {
    const isUnused = status === RedemptionStatus.unused;
    const body = { id, status: isUnused ? RedemptionStatus.disabled : RedemptionStatus.unused };
    return [
      {
        ...toggleAction(isUnused, () => update.mutate({ query: { status_only: "true" }, body })),
        isDisabled: status === RedemptionStatus.used,
        permission: "redemption.write",
      },
      { ...editAction(() => toForm(`/redemption/edit/${id}`)), permission: "redemption.write" },
      {
        ...deleteAction(() => remove.mutate({ params: { id } }), `删除兑换码“${name}”？此操作无法撤销。`),
        permission: "redemption.delete",
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

const add = <AddLink to="/redemption/add" text="添加新的兑换码" permission="redemption.write" />;

export function RedemptionListPage() {
  const actions = useRedemptionActions();
  const filters = useAddressFilters(CODE_FILTERS);
  const [refused, setRefused] = useState<SearchDraft>();
  const lead = (row: Redemption) => <CopyCode redemption={row} onRefused={(text) => setRefused({ text })} />;
  const mayWrite = useMay("redemption.write");
  const mayDelete = useMay("redemption.delete");
  const bulk = (codes: readonly Redemption[], onDone: (left: readonly Redemption[]) => void) => (
    <CodeBulk codes={codes} onDone={onDone} />
  );
  return (
    <Page title="管理兑换码" lead="兑换码由管理员成批生成，用户在充值页面兑换成额度。" extra={add}>
      <ResourceTable<Redemption>
        name="redemption"
        label="兑换码列表"
        searchHint="搜索兑换码的 ID 和名称"
        searchDraft={refused}
        filters={
          <ListFilters label="兑换码筛选" fields={CODE_FILTERS} {...filters} onChange={filters.change} />
        }
        load={listOf(redemptionApi, filters.filter)}
        file={{ name: "兑换码", columns: CODE_FILE, block: blocksOf(redemptionApi, filters.filter) }}
        columns={columns}
        actions={actions}
        {...(mayWrite || mayDelete ? { bulk } : {})}
        actionsWidth={216}
        {...(useMay("redemption.reveal") ? { lead } : {})}
        cardTitle={(row) => <Name row={row} />}
        cardState={(row) => <State row={row} />}
        cardFacts={["id", "quota", "created_time", "redeemed_time"]}
        empty={emptyOf(filters, { text: "还没有兑换码。生成一批，发给需要充值的用户。", action: add })}
      />
    </Page>
  );
}
