// Notices that fit no order: genuine, and for a person to look at.
import { CheckOutlined } from "@ant-design/icons";
import { query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { type PaymentEvent, paymentAdminApi } from "#contract/payment-admin.ts";
import { factsText, verdictText } from "./words.ts";

const columns: readonly Column<PaymentEvent>[] = [
  {
    key: "verdict",
    title: "情况",
    isFixed: true,
    isInHead: true,
    width: 200,
    render: (row) => verdictText(row.verdict),
  },
  { key: "order_no", title: "订单号", width: 250, render: (row) => <code>{row.order_no}</code> },
  {
    key: "facts",
    title: "内容",
    width: 320,
    isGrowing: true,
    render: (row) => <ClippedText text={factsText(row.facts)} />,
  },
  { key: "created_at", title: "时间", width: 172, shows: "time" },
];

export function Events() {
  const settle = useCall(paymentAdminApi.settleEvent, {
    invalidates: [paymentAdminApi.orphans],
    onSuccess: () => toast.success(),
  });
  const actions = (row: PaymentEvent): RowAction[] => [
    {
      key: "settle",
      permission: "money.adjust",
      label: "已处理",
      icon: <CheckOutlined aria-hidden="true" />,
      question: "确认已核实并处理这条通知？",
      confirmText: "已处理",
      onClick: () => settle.mutate({ params: { id: row.id }, body: { reason: "已核实" } }),
    },
  ];
  return (
    <ResourceTable<PaymentEvent>
      name="payment-event"
      label="待处理通知列表"
      load={({ p, size }) => query(paymentAdminApi.orphans, { query: { p, size } })}
      columns={columns}
      actions={actions}
      actionsWidth={100}
      cardTitle={(row) => verdictText(row.verdict)}
      cardFacts={["order_no", "facts", "created_at"]}
      empty={{ text: "没有待处理的通知。" }}
    />
  );
}
