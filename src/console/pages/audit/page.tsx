// The audit log (审计): who did what, when and from where, what it was before and after, and whether the log is as it was written.

import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { call, query } from "#console/base/call.ts";
import { type CsvColumn, fetchBlocks, MAX_BLOCK_ROWS } from "#console/base/export.ts";
import { faultText } from "#console/base/faults.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { ACT_COLUMNS, AuditDetails, actionChoices } from "#console/ui/audit-details.tsx";
import { Callout } from "#console/ui/callout.tsx";
import { ExportButton } from "#console/ui/export-button.tsx";
import { emptyOf, type FilterField, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { type AuditEntry, auditApi } from "#contract/audit.ts";
import { auditActionText } from "#contract/audit-actions.ts";

const FIELDS: readonly FilterField[] = [
  {
    kind: "choice",
    name: "action",
    label: "选择操作",
    chip: "操作",
    options: actionChoices(),
    width: 168,
    isSearchable: true,
  },
  { kind: "range" },
  { kind: "text", name: "username", label: "操作者", chip: "操作者" },
  { kind: "text", name: "target", label: "对象", chip: "对象" },
];

const columns: readonly Column<AuditEntry>[] = [
  ACT_COLUMNS.time,
  ACT_COLUMNS.actor,
  ACT_COLUMNS.action,
  ACT_COLUMNS.target,
  ACT_COLUMNS.detail,
  { key: "address", title: "来源地址", shows: "text", width: 128 },
  { key: "request_id", title: "请求 ID", shows: "text", width: 150, isHiddenAtFirst: true },
];

const FILE: readonly CsvColumn<AuditEntry>[] = [
  ["编号", (row) => row.id],
  ["时间", (row) => formatTime(row.created_at)],
  ["操作者 ID", (row) => row.actor_id],
  ["操作者", (row) => row.actor_name],
  ["操作", (row) => auditActionText(row.action)],
  ["操作代码", (row) => row.action],
  ["对象", (row) => row.target],
  ["内容", (row) => row.detail],
  ["来源地址", (row) => row.address],
  ["请求 ID", (row) => row.request_id],
  ["校验值", (row) => row.hash],
];

/** Whether the log is as it was written: checked when the page opens, and again when asked. */
function useChain() {
  return useQuery({
    ...query(auditApi.list, { query: { size: 1, verify: true } }),
    queryKey: ["audit chain"],
    staleTime: Number.POSITIVE_INFINITY,
    meta: { silent: true },
  });
}

function Chain({ data, error }: Pick<ReturnType<typeof useChain>, "data" | "error">) {
  if (error !== null) return <Callout tone="warn">未能校验审计链：{faultText(error)}</Callout>;
  if (data === undefined) return <Callout tone="info">正在校验审计链…</Callout>;
  const { checked = 0, broken_id = 0 } = data.chain ?? {};
  if (broken_id === 0)
    return <Callout tone="info">审计链完整：{formatCount(checked)} 条记录与写入时一致。</Callout>;
  return (
    <Callout tone="bad">
      第 {broken_id} 条记录与写入时不符：它或它之后的记录被修改、删除或插入过。请对照数据库备份核查。
    </Callout>
  );
}

export function AuditPage() {
  const filters = useAddressFilters(FIELDS);
  const { values, change, filter } = filters;
  const [opened, setOpened] = useState<AuditEntry>();
  const chain = useChain();
  const exportButton = (
    <ExportButton<AuditEntry>
      name="审计记录"
      columns={FILE}
      most={MAX_BLOCK_ROWS}
      read={({ signal, onProgress }) =>
        fetchBlocks(
          (before) => call(auditApi.list, { query: { ...filter, export: true, before } }, signal),
          onProgress,
        )
      }
    />
  );
  return (
    <Page
      title="审计"
      lead="登录、管理操作、被查看的密钥与被拒的越权，逐条相连，事后改动会被发现。"
      extra={
        <>
          <Button loading={chain.isFetching} onClick={() => void chain.refetch()}>
            重新校验
          </Button>
          {exportButton}
        </>
      }
    >
      <Chain data={chain.data} error={chain.error} />
      <ResourceTable<AuditEntry>
        name="audit"
        label="审计记录列表"
        filters={<ListFilters label="审计筛选" fields={FIELDS} values={values} onChange={change} />}
        load={({ p, size }) => query(auditApi.list, { query: { ...filter, p, size } })}
        columns={columns}
        cardTitle={(row) => auditActionText(row.action)}
        cardFacts={["created_at", "actor_name", "target", "detail"]}
        onOpen={setOpened}
        empty={emptyOf(filters, { text: "还没有记录。" })}
      />
      <AuditDetails entry={opened} onClose={() => setOpened(undefined)} />
    </Page>
  );
}
