// All orders, or those that wait for a person.

import { FileSearchOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { call, query } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { useMay } from "#console/base/session.ts";
import { BulkActions } from "#console/ui/bulk-actions.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { emptyOf, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { blocksOf, listOf, ResourceTable } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { moneyText } from "#contract/money.ts";
import { type AdminOrder, paymentAdminApi } from "#contract/payment-admin.ts";
import { ORDER_FILE, orderFilters } from "./filters.ts";
import { stateOf } from "./words.ts";

function State({ row }: CellProps<AdminOrder>) {
  return <StatusTag {...stateOf(row)} />;
}

const columns: readonly Column<AdminOrder>[] = [
  {
    key: "order_no",
    title: "订单号",
    isFixed: true,
    width: wide(236, 222),
    render: (row) => <code>{row.order_no}</code>,
  },
  { key: "status", title: "状态", isInHead: true, width: wide(104, 138), cell: State },
  {
    key: "user_id",
    title: "用户",
    isNumber: true,
    isSortable: true,
    width: 72,
    render: (row) => `#${row.user_id}`,
  },
  {
    key: "amount_minor",
    title: "金额",
    isNumber: true,
    isSortable: true,
    width: 104,
    render: (row) => moneyText(row.amount_minor, row.currency),
  },
  { key: "quota", title: "额度", isNumber: true, isSortable: true, width: 100, shows: "quota" },
  { key: "label", title: "支付方式", width: wide(100, 114), shows: "text" },
  { key: "trade_no", title: "平台交易号", width: wide(156, 150), shows: "text", none: "无" },
  { key: "created_at", title: "创建时间", isSortable: true, width: wide(172, 156), shows: "time" },
];

/** One call lists and searches. */
const API = { list: paymentAdminApi.list, search: paymentAdminApi.list };

export function Orders({ name, isInReview }: { readonly name: string; readonly isInReview: boolean }) {
  const toForm = useToForm();
  const instances = useQuery({ ...query(paymentAdminApi.instances, {}), meta: { silent: true } });
  const fields = orderFilters(instances.data ?? []);
  const filters = useAddressFilters(fields);
  const mayAsk = useMay("money.adjust");
  const bulk = (orders: readonly AdminOrder[], onDone: (left: readonly AdminOrder[]) => void) => (
    <BulkActions<AdminOrder>
      rows={orders}
      noun="订单"
      nameOf={({ order_no }) => order_no}
      lists={[paymentAdminApi.list]}
      onDone={onDone}
      // Each is asked about by itself, and written down; what the provider says is what counts.
      acts={[
        { verb: "查单", act: ({ order_no: no }) => call(paymentAdminApi.ask, { params: { no }, body: {} }) },
      ]}
    />
  );
  const filter = { ...filters.filter, review: isInReview };
  const actions = (row: AdminOrder): RowAction[] => [
    {
      key: "detail",
      label: "详情",
      icon: <FileSearchOutlined aria-hidden="true" />,
      onClick: () => toForm(`/payment/order/${row.order_no}`),
    },
  ];
  return (
    <ResourceTable<AdminOrder>
      name={name}
      label={isInReview ? "待处理订单列表" : "订单列表"}
      searchHint="搜索订单号或平台交易号"
      filters={<ListFilters label="订单筛选" fields={fields} {...filters} onChange={filters.change} />}
      load={listOf(API, filter)}
      file={{ name: isInReview ? "待处理订单" : "订单", columns: ORDER_FILE, block: blocksOf(API, filter) }}
      columns={columns}
      actions={actions}
      {...(mayAsk ? { bulk } : {})}
      actionsWidth={80}
      cardTitle={(row) => moneyText(row.amount_minor, row.currency)}
      cardState={(row) => <State row={row} />}
      cardFacts={["order_no", "user_id", "label", "created_at"]}
      empty={emptyOf(filters, {
        text: isInReview ? "没有待处理的订单。" : "还没有订单。添加支付渠道后，用户可以在充值页面在线支付。",
      })}
    />
  );
}
