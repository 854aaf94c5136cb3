// How payouts speak, and the file that a bank run is made from.

import { formatTime } from "#console/base/format.ts";
import { csvText } from "#contract/csv.ts";
import type { Payout, PayoutState, PayoutWay } from "#contract/payout.ts";
import type { Tone } from "./status-tag.tsx";

export const WAY_LABELS: Readonly<Record<PayoutWay, string>> = {
  alipay: "支付宝",
  "usdt-trc20": "USDT（TRC20）",
  "usdt-erc20": "USDT（ERC20）",
};

const STATES: Readonly<Record<PayoutState, { readonly label: string; readonly tone: Tone }>> = {
  requested: { label: "待处理", tone: "info" },
  paying: { label: "处理中", tone: "info" },
  paid: { label: "已支付", tone: "good" },
  rejected: { label: "已驳回", tone: "bad" },
  cancelled: { label: "已撤回", tone: "idle" },
};

export function stateOf({ state }: Pick<Payout, "state">) {
  return STATES[state];
}

/** The open payouts as a CSV file: a row each, amounts as numbers with two or more decimals as they are. */
export function payoutsCsv(rows: readonly Payout[]): string {
  return csvText([
    ["编号", "用户 ID", "用户", "金额（元）", "方式", "收款账号", "收款人", "申请时间"],
    ...rows.map((row) => [
      `TX${row.id}`,
      row.user_id,
      row.username,
      Number(row.amount),
      WAY_LABELS[row.way],
      row.account,
      row.name,
      formatTime(row.created_at),
    ]),
  ]);
}
