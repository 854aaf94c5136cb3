// What operators are alerted of: one row drives the form, the levels, and what ends again. Imported by both sides; no schema here.

/** `critical` is told at any hour. */
export type AlertLevel = "critical" | "warning" | "info";

export interface AlertEventRow {
  readonly label: string;
  readonly level: AlertLevel;
  /** It lasts until it is over, and its end is told too. */
  readonly lasts?: true;
  /** The super administrator has always been told by pusher or mail (requirements W4.8). */
  readonly isForRoot?: true;
}

function row<const R extends AlertEventRow>(definition: R): R {
  return definition;
}

export const alertEvents = {
  channel_disabled: row({ label: "渠道被自动禁用", level: "warning", lasts: true, isForRoot: true }),
  key_disabled: row({ label: "渠道的密钥被自动禁用", level: "warning", isForRoot: true }),
  channel_test: row({ label: "渠道测试完成", level: "info", isForRoot: true }),
  balance_low: row({ label: "渠道余额不足", level: "warning", lasts: true }),
  budget_spent: row({ label: "限额已用 80%", level: "warning" }),
  payment_review: row({ label: "付款或退款待处理", level: "warning", isForRoot: true }),
  payment_clock: row({ label: "系统时间与支付平台不符", level: "critical", lasts: true, isForRoot: true }),
  invoice_due: row({ label: "发票待开具或待红冲", level: "info", isForRoot: true }),
  ledger_differs: row({ label: "余额与账本不一致", level: "critical", lasts: true, isForRoot: true }),
  audit_broken: row({ label: "操作审计记录被改动", level: "critical", isForRoot: true }),
  margin_low: row({ label: "模型亏损", level: "warning", lasts: true }),
  model_ending: row({ label: "模型将停用", level: "info", isForRoot: true }),
  disk_low: row({ label: "磁盘空间不足", level: "critical", lasts: true }),
  factor_reset: row({ label: "申请清除超级管理员的两步验证", level: "critical", isForRoot: true }),
  admin_login: row({ label: "管理员登录", level: "info" }),
} as const;

export type AlertEvent = keyof typeof alertEvents;

// The keys of the table.
export const ALERT_EVENTS = Object.keys(alertEvents) as AlertEvent[];

export function isAlertEvent(name: string): name is AlertEvent {
  return Object.hasOwn(alertEvents, name);
}

/** The row of an event, its optional marks readable for each. */
export function alertEventRow(event: AlertEvent): AlertEventRow {
  return alertEvents[event];
}

export const ALERT_LEVEL_LABELS: Readonly<Record<AlertLevel | "over", string>> = {
  critical: "严重",
  warning: "警告",
  info: "通知",
  over: "已恢复",
};
