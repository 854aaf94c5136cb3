// Alerts for the super administrator: where they go, what was sent, and what lasts.

import { ReloadOutlined } from "@ant-design/icons";
import { Tabs } from "antd";
import { query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { removesRow } from "#console/base/rows.ts";
import { toast } from "#console/base/toast.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { useTab } from "#console/ui/table-state.ts";
import {
  type AlertCondition,
  type AlertDelivery,
  type AlertTarget,
  alertApi,
  alertKinds,
} from "#contract/alert.ts";
import { ALERT_LEVEL_LABELS } from "#contract/alert-events.ts";
import { useSendTest } from "./send-test.ts";
import { deliveryState, eventsText, eventText, LEVEL_TONES, targetState } from "./words.ts";

function TargetState({ row }: CellProps<AlertTarget>) {
  return <StatusTag {...targetState(row)} />;
}

const targetColumns: readonly Column<AlertTarget>[] = [
  { key: "name", title: "名称", isFixed: true, isInHead: true, width: 150, shows: "text" },
  { key: "kind", title: "类型", width: 130, render: (row) => alertKinds[row.kind].label },
  { key: "is_enabled", title: "状态", isInHead: true, width: 120, cell: TargetState },
  {
    key: "events",
    title: "事件",
    width: 260,
    isGrowing: true,
    render: (row) => <ClippedText text={eventsText(row)} />,
  },
  { key: "last_sent_at", title: "最近一次发送", width: 172, shows: "time", none: "从未" },
];

const LISTS = [alertApi.list, alertApi.deliveries] as const;

function Targets() {
  const toForm = useToForm();
  const remove = useCall(alertApi.remove, removesRow([alertApi.list]));
  const test = useSendTest();
  const actions = (row: AlertTarget): RowAction[] => [
    editAction(() => toForm(`/alert/edit/${row.id}`)),
    { key: "test", label: "测试", onClick: () => test.send(row.id) },
    deleteAction(() => remove.mutate({ params: { id: row.id } }), `删除通知对象“${row.name}”及其发送记录？`),
  ];
  return (
    <ResourceTable<AlertTarget>
      name="alert-target"
      label="通知对象列表"
      load={() => rowsOf(query(alertApi.list, {}))}
      columns={targetColumns}
      actions={actions}
      actionsWidth={160}
      cardTitle={(row) => row.name}
      cardState={(row) => <TargetState row={row} />}
      cardFacts={["kind", "events", "last_sent_at"]}
      empty={{
        text: "还没有通知对象。添加一个群机器人、邮箱或 Webhook，出问题时就会收到消息。",
        action: <AddLink to="/alert/add" text="添加通知对象" />,
      }}
    />
  );
}

function DeliveryState({ row }: CellProps<AlertDelivery>) {
  return <StatusTag {...deliveryState(row)} />;
}

function Level({ row }: CellProps<AlertDelivery>) {
  return <StatusTag tone={LEVEL_TONES[row.level]} label={ALERT_LEVEL_LABELS[row.level]} />;
}

const deliveryColumns: readonly Column<AlertDelivery>[] = [
  { key: "created_at", title: "时间", width: 172, shows: "time" },
  { key: "target_name", title: "对象", width: 130, shows: "text" },
  { key: "level", title: "级别", width: 100, cell: Level },
  {
    key: "title",
    title: "消息",
    isInHead: true,
    width: 260,
    isGrowing: true,
    render: (row) => <ClippedText text={row.title} />,
  },
  { key: "state", title: "状态", isInHead: true, width: 110, cell: DeliveryState },
  { key: "problem", title: "失败原因", width: 220, shows: "text", none: "—" },
];

function Deliveries() {
  const retry = useCall(alertApi.retry, {
    invalidates: LISTS,
    onSuccess: () => toast.success("已重新排队发送！"),
  });
  const actions = (row: AlertDelivery): RowAction[] => [
    {
      key: "retry",
      label: "重新发送",
      icon: <ReloadOutlined aria-hidden="true" />,
      isDisabled: row.state !== "failed",
      onClick: () => retry.mutate({ params: { id: row.id }, body: {} }),
    },
  ];
  return (
    <ResourceTable<AlertDelivery>
      name="alert-delivery"
      label="发送记录"
      load={({ p, size }) => query(alertApi.deliveries, { query: { p, size, target: 0 } })}
      columns={deliveryColumns}
      actions={actions}
      actionsWidth={120}
      cardTitle={(row) => row.title}
      cardState={(row) => <DeliveryState row={row} />}
      cardFacts={["created_at", "target_name", "level", "problem"]}
      empty={{ text: "最近 30 天没有发送过消息。" }}
    />
  );
}

type ConditionRow = AlertCondition & { readonly id: number };

const conditionColumns: readonly Column<ConditionRow>[] = [
  { key: "title", title: "问题", isFixed: true, isInHead: true, width: 300, isGrowing: true, shows: "text" },
  { key: "event", title: "事件类型", width: wide(180, 208), render: (row) => eventText(row.event) },
  { key: "since", title: "开始时间", width: 172, shows: "time" },
];

function Conditions() {
  return (
    <ResourceTable<ConditionRow>
      name="alert-condition"
      label="未恢复的问题"
      load={() => {
        const { queryKey, queryFn } = query(alertApi.conditions, {});
        return rowsOf({
          queryKey,
          queryFn: async (context) =>
            (await queryFn(context)).map((row, index) => ({ ...row, id: index + 1 })),
        });
      }}
      columns={conditionColumns}
      cardTitle={(row) => row.title}
      cardFacts={["event", "since"]}
      empty={{ text: "目前没有未恢复的问题。" }}
    />
  );
}

const TABS = [
  { key: "targets", label: "通知对象", children: <Targets /> },
  { key: "deliveries", label: "发送记录", children: <Deliveries /> },
  { key: "conditions", label: "未恢复的问题", children: <Conditions /> },
];

export function AlertPage() {
  const [tab, openTab] = useTab("targets");
  return (
    <Page
      title="通知"
      lead="渠道停用与恢复、余额不足、账实不符等情况发到群机器人、邮箱或 Webhook。失败的会重试，太多时合并成一条。"
      extra={<AddLink to="/alert/add" text="添加通知对象" />}
    >
      <Tabs
        activeKey={TABS.some(({ key }) => key === tab) ? tab : "targets"}
        items={TABS}
        destroyOnHidden
        onChange={openTab}
      />
    </Page>
  );
}
