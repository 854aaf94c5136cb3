// How the list of redemption codes is filtered, and saved as a file: without the codes, which are money.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import type { FilterField } from "#console/ui/list-filters.tsx";
import { statusFilter } from "#console/ui/status-filter.ts";
import { type Redemption, RedemptionStatus } from "#contract/redemption.ts";

export const CODE_STATES: Readonly<Record<number, string>> = {
  [RedemptionStatus.unused]: "未使用",
  [RedemptionStatus.disabled]: "已禁用",
  [RedemptionStatus.used]: "已使用",
};

export const CODE_FILTERS: readonly FilterField[] = [
  statusFilter(Object.entries(CODE_STATES).map(([value, label]) => ({ value, label }))),
  { kind: "range" },
  { kind: "text", name: "used_user_id", label: "兑换用户 ID", chip: "兑换用户", isNumber: true },
];

const moment = (seconds: number) => (seconds === 0 ? "" : formatTime(seconds));

/** Amounts are in quota units, so that sums are exact. */
export const CODE_FILE: readonly CsvColumn<Redemption>[] = [
  ["ID", (code) => code.id],
  ["名称", (code) => code.name],
  ["状态", (code) => CODE_STATES[code.status] ?? "未知"],
  ["额度（点）", (code) => code.quota],
  ["售价（元）", (code) => (code.price_minor < 0 ? "" : (code.price_minor / 100).toFixed(2))],
  ["创建用户 ID", (code) => code.user_id],
  ["创建时间", (code) => moment(code.created_time)],
  ["兑换用户 ID", (code) => (code.used_user_id === 0 ? "" : code.used_user_id)],
  ["兑换时间", (code) => moment(code.redeemed_time)],
];
