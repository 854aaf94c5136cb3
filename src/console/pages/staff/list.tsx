// The sets of permissions that administrators can have.
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, copyAction, deleteAction, editAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { isPermission, PERMISSIONS } from "#contract/permission.ts";
import { type StaffSet, staffApi } from "#contract/staff.ts";

function Kind({ row }: CellProps<StaffSet>) {
  return row.is_built_in ? <StatusTag tone="info" label="内置" /> : <StatusTag tone="idle" label="自建" />;
}

function wordsOf({ permissions }: StaffSet): string {
  return permissions.map((name) => (isPermission(name) ? PERMISSIONS[name] : name)).join("、");
}

const columns: readonly Column<StaffSet>[] = [
  { key: "name", title: "名称", isFixed: true, isInHead: true, width: 140, shows: "text" },
  { key: "is_built_in", title: "来源", isInHead: true, width: 90, cell: Kind },
  { key: "members", title: "管理员", isNumber: true, width: 90, shows: "number" },
  {
    key: "permissions",
    title: "权限",
    width: 460,
    isGrowing: true,
    render: (row) => <ClippedText text={wordsOf(row)} />,
  },
  { key: "updated_at", title: "修改时间", width: 172, shows: "time", none: "—" },
];

const ADD = <AddLink to="/staff/add" text="添加新的权限集" />;

export function StaffSetsPage() {
  const toForm = useToForm();
  const remove = useCall(staffApi.remove, { invalidates: [staffApi.list], onSuccess: () => toast.success() });
  const actions = (row: StaffSet): RowAction[] => [
    { ...editAction(() => toForm(`/staff/edit/${row.id}`)), isDisabled: row.is_built_in },
    copyAction(() => toForm(`/staff/add?from=${row.id}`)),
    {
      ...deleteAction(() => remove.mutate({ params: { id: row.id } }), `删除权限集“${row.name}”？`),
      isDisabled: row.is_built_in || row.members > 0,
    },
  ];
  return (
    <Page
      lead="限定管理员可以看什么、做什么；在用户的编辑页指定。没有权限集的管理员不受限，超级管理员始终不受限。"
      extra={ADD}
    >
      <ResourceTable<StaffSet>
        name="staff"
        label="权限集列表"
        load={() => rowsOf(query(staffApi.list, {}))}
        columns={columns}
        actions={actions}
        actionsWidth={220}
        cardTitle={(row) => row.name}
        cardState={(row) => <Kind row={row} />}
        cardFacts={["members", "updated_at", "permissions"]}
        empty={{ text: "还没有权限集。", action: ADD }}
      />
    </Page>
  );
}
