// How the list of orders is filtered, and saved as a file.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import type { FilterField } from "#console/ui/list-filters.tsx";
import { minorText } from "#contract/money.ts";
import type { AdminOrder, Instance } from "#contract/payment-admin.ts";
import { stateOf, verdictText } from "./words.ts";

/** By the status as it is stored: what waits, too, has one of two. */
const STATES = [
  { value: "", label: "全部状态" },
  { value: "created", label: "待支付（未下单）" },
  { value: "pending", label: "待支付" },
  { value: "paid", label: "未入账" },
  { value: "credited", label: "已到账" },
  { value: "closed", label: "已关闭" },
];

export function orderFilters(instances: readonly Instance[]): readonly FilterField[] {
  return [
    { kind: "choice", name: "status", label: "选择状态", chip: "状态", options: STATES, width: 150 },
    {
      kind: "choice",
      name: "instance_id",
      label: "选择支付渠道",
      chip: "支付渠道",
      options: [
        { value: "", label: "全部支付渠道" },
        ...instances.map(({ id, name }) => ({ value: String(id), label: name })),
      ],
      width: 150,
      isNumber: true,
    },
    { kind: "range" },
    { kind: "text", name: "user_id", label: "用户 ID", chip: "用户", isNumber: true },
  ];
}

const moment = (seconds: number) => (seconds === 0 ? "" : formatTime(seconds));

/** Money as decimal text of its currency, quota in units: sums are exact. */
export const ORDER_FILE: readonly CsvColumn<AdminOrder>[] = [
  ["订单号", (order) => order.order_no],
  ["状态", (order) => stateOf(order).label],
  ["待处理原因", (order) => (order.review === "" ? "" : verdictText(order.review))],
  ["用户 ID", (order) => order.user_id],
  ["套餐", (order) => order.plan],
  ["币种", (order) => order.currency],
  ["金额", (order) => minorText(order.amount_minor)],
  ["其中手续费", (order) => minorText(order.fee_minor)],
  ["实付", (order) => minorText(order.paid_minor)],
  ["已退款", (order) => minorText(order.refunded_minor)],
  ["额度（点）", (order) => order.quota],
  ["到账额度（点）", (order) => order.credited_quota],
  ["支付方式", (order) => order.label],
  ["平台交易号", (order) => order.trade_no],
  ["创建时间", (order) => moment(order.created_at)],
  ["到账时间", (order) => moment(order.credited_at)],
];
