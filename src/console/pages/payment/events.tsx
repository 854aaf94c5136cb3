// Notices that fit no order: genuine, and for a person to look at; and payments vouched for that wait for another super administrator.
import { CheckOutlined, WalletOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ClippedText } from "#console/ui/cell.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { type PaymentEvent, paymentAdminApi } from "#contract/payment-admin.ts";
import { OrphanDialog } from "./orphan-dialog.tsx";
import { useSecond } from "./second-dialog.tsx";
import { factsText, verdictText } from "./words.ts";
import "./payment.css";

const columns: readonly Column<PaymentEvent>[] = [
  {
    key: "verdict",
    title: "情况",
    isFixed: true,
    isInHead: true,
    width: 200,
    render: (row) => verdictText(row.verdict),
  },
  {
    key: "order_no",
    title: "订单号",
    width: 250,
    render: (row) => (row.order_no === "" ? "—" : <code>{row.order_no}</code>),
  },
  {
    key: "facts",
    title: "内容",
    width: 320,
    isGrowing: true,
    render: (row) => <ClippedText text={factsText(row.facts)} />,
  },
  { key: "created_at", title: "时间", width: 172, shows: "time" },
];

/** Notices that did not verify are not kept; that they came may mean that a stranger tries, or that a key does not fit. */
function RefusedNotices() {
  const { data } = useQuery({ ...query(paymentAdminApi.instances, {}), meta: { silent: true } });
  const tried = data?.filter(({ refused_notices }) => refused_notices > 0) ?? [];
  return tried.length === 0 ? null : (
    <div className="tg-payment-refused">
      <Callout tone="info">
        {tried.map(({ id, name, refused_notices, refused_at }) => (
          <div key={id}>
            {`支付渠道“${name}”已拒绝 ${formatCount(refused_notices)} 条未通过验证的通知，没有入账；最近一次在 ${formatTime(refused_at)}。`}
          </div>
        ))}
      </Callout>
    </div>
  );
}

export function Events() {
  const settle = useCall(paymentAdminApi.settleEvent, {
    invalidates: [paymentAdminApi.orphans],
    onSuccess: () => toast.success(),
  });
  const [credited, credit] = useState<PaymentEvent>();
  const second = useSecond();
  const actions = (row: PaymentEvent): RowAction[] =>
    row.asked_by === 0 ? noticeActions(row) : second.actionsOf(row);
  const noticeActions = (row: PaymentEvent): RowAction[] => [
    ...(row.is_orphan
      ? [
          {
            key: "credit",
            permission: "money.adjust",
            label: "入账给用户",
            icon: <WalletOutlined aria-hidden="true" />,
            onClick: () => credit(row),
          } as const,
        ]
      : []),
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
    <>
      <RefusedNotices />
      <ResourceTable<PaymentEvent>
        name="payment-event"
        label="待处理通知列表"
        load={({ p, size }) => query(paymentAdminApi.orphans, { query: { p, size } })}
        columns={columns}
        actions={actions}
        actionsWidth={200}
        cardTitle={(row) => verdictText(row.verdict)}
        cardFacts={["order_no", "facts", "created_at"]}
        empty={{ text: "没有待处理的通知。" }}
      />
      {credited === undefined ? null : <OrphanDialog event={credited} onClose={() => credit(undefined)} />}
      {second.dialog}
    </>
  );
}
