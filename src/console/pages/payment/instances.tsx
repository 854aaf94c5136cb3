// The merchant accounts.
import { query } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, editAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { type Instance, paymentAdminApi } from "#contract/payment-admin.ts";
import { paymentProvider } from "#contract/payment-provider.ts";
import { NoAddress } from "./no-address.tsx";
import "./payment.css";

/** Answers in a row that said nothing, from which the account is shown as troubled. */
const TROUBLED = 5;

function State({ row }: CellProps<Instance>) {
  if (!row.is_complete) return <StatusTag tone="bad" label="不可用" hint="缺少密钥或密钥无法使用" />;
  if (!row.is_enabled) return <StatusTag tone="idle" label="已停用" />;
  if (row.clock_fault !== "") return <StatusTag tone="bad" label="时间不符" hint={row.clock_fault} />;
  if (row.unclear >= TROUBLED)
    return <StatusTag tone="warn" label="异常" hint={`连续 ${row.unclear} 次没有明确的应答`} />;
  return <StatusTag tone="good" label="已启用" />;
}

function methodsText({ provider, methods }: Instance): string {
  const known = paymentProvider(provider).methods;
  return methods.map((method) => known[method] ?? method).join("、");
}

const columns: readonly Column<Instance>[] = [
  { key: "name", title: "名称", isFixed: true, isInHead: true, width: 160, shows: "text" },
  { key: "provider", title: "平台", width: 120, render: (row) => paymentProvider(row.provider).label },
  { key: "is_enabled", title: "状态", isInHead: true, width: 110, cell: State },
  { key: "merchant_id", title: "商户号", width: 170, shows: "text" },
  { key: "currency", title: "币种", width: 80, render: (row) => row.currency },
  { key: "methods", title: "支付方式", width: 200, isGrowing: true, render: methodsText },
];

export function Instances() {
  const toForm = useToForm();
  const isSuper = isRoot(useUser());
  const table = (
    <ResourceTable<Instance>
      name="payment-instance"
      label="支付渠道列表"
      load={() => rowsOf(query(paymentAdminApi.instances, {}))}
      columns={columns}
      actions={(row) => (isSuper ? [editAction(() => toForm(`/payment/edit/${row.id}`))] : [])}
      actionsWidth={90}
      cardTitle={(row) => row.name}
      cardState={(row) => <State row={row} />}
      cardFacts={["provider", "merchant_id", "methods"]}
      empty={{
        text: "还没有支付渠道。添加后，用户就能在充值页面在线支付。",
        ...(isSuper ? { action: <AddLink to="/payment/add" text="添加支付渠道" /> } : {}),
      }}
    />
  );
  return (
    <div className="tg-payment-list">
      <NoAddress />
      {table}
    </div>
  );
}
