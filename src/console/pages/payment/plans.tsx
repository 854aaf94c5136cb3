// The plans that are for sale or were, as administrators keep them.
import { query } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { lengthText } from "#console/ui/plan-words.ts";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, editAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { type AdminPlan, planApi } from "#contract/plan.ts";
import { PLAN_WINDOW_LABELS } from "#contract/plan-terms.ts";
import { formatQuota } from "#contract/quota.ts";

function State({ row }: CellProps<AdminPlan>) {
  return row.is_enabled ? (
    <StatusTag tone="good" label="在售" />
  ) : (
    <StatusTag tone="idle" label="已下架" hint="已购买的周期照常使用" />
  );
}

function Windows({ row }: CellProps<AdminPlan>) {
  const display = useQuotaDisplay();
  if (row.windows.length === 0) return <span className="tg-muted">无</span>;
  return row.windows
    .map(({ kind, quota }) => `${PLAN_WINDOW_LABELS[kind]} ${formatQuota(quota, display)}`)
    .join("，");
}

function modelsText({ models }: AdminPlan): string {
  return models.length === 0 ? "所有模型" : models.join("、");
}

const columns: readonly Column<AdminPlan>[] = [
  { key: "name", title: "名称", shows: "text", isFixed: true, isInHead: true, width: 160 },
  { key: "is_enabled", title: "状态", cell: State, isInHead: true, width: 100 },
  {
    key: "price",
    title: "价格",
    width: 150,
    render: (plan) => `¥${plan.price} / ${lengthText(plan)}`,
  },
  { key: "quota", title: "每周期额度", shows: "quota", isNumber: true, width: 120 },
  { key: "windows", title: "时段上限", cell: Windows, width: 200, isGrowing: true },
  { key: "models", title: "模型", width: 160, render: modelsText },
  { key: "subscribers", title: "进行中", shows: "number", isNumber: true, width: 90 },
  { key: "renewing", title: "自动续费", shows: "number", isNumber: true, width: 90 },
];

export function PlansPage() {
  const toForm = useToForm();
  const isSuper = isRoot(useUser());
  const add = isSuper ? <AddLink to="/plan/add" text="添加新的套餐" /> : null;
  return (
    <Page
      title="管理套餐"
      lead="用户按周期购买的额度。修改会成为新版本，已购买的周期不变；套餐先于余额支付调用。"
      extra={add}
    >
      <ResourceTable<AdminPlan>
        name="plan"
        label="套餐列表"
        load={() => rowsOf(query(planApi.list, {}))}
        columns={columns}
        actions={(row) => (isSuper ? [editAction(() => toForm(`/plan/edit/${row.id}`))] : [])}
        actionsWidth={90}
        cardTitle={(row) => row.name}
        cardState={(row) => <State row={row} />}
        cardFacts={["price", "quota", "windows", "models", "subscribers", "renewing"]}
        empty={{
          text: "还没有套餐。添加后，用户就能在订阅页面购买。",
          ...(add === null ? {} : { action: add }),
        }}
      />
    </Page>
  );
}
