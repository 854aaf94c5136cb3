// Words of alerts: what is told where, and what became of it.
import type { Tone } from "#console/ui/status-tag.tsx";
import type { AlertDelivery, AlertTarget } from "#contract/alert.ts";
import { ALERT_EVENTS, alertEvents, isAlertEvent } from "#contract/alert-events.ts";

export function eventText(event: string): string {
  if (event === "test") return "测试";
  return isAlertEvent(event) ? alertEvents[event].label : event;
}

/** The events of a target, in the order of the table. */
export function eventsText({ events }: Pick<AlertTarget, "events">): string {
  if (events.length === ALERT_EVENTS.length) return "全部事件";
  return ALERT_EVENTS.filter((event) => events.includes(event))
    .map(eventText)
    .join("、");
}

interface Shown {
  readonly tone: Tone;
  readonly label: string;
  readonly hint?: string;
}

export function targetState(row: AlertTarget): Shown {
  if (!row.is_enabled) return { tone: "idle", label: "已停用", hint: row.last_problem };
  if (row.last_problem !== "") return { tone: "bad", label: "发送失败", hint: row.last_problem };
  if (row.waiting > 0) return { tone: "warn", label: `等待 ${row.waiting} 条` };
  return { tone: "good", label: "已启用" };
}

export function deliveryState({ state, problem, tries }: AlertDelivery): Shown {
  if (state === "sent") return { tone: "good", label: "已发送" };
  if (state === "failed") return { tone: "bad", label: "失败", hint: problem };
  if (tries > 0) return { tone: "warn", label: "等待重试", hint: `${problem}，已尝试 ${tries} 次` };
  return { tone: "info", label: "等待发送" };
}

export const LEVEL_TONES: Readonly<Record<AlertDelivery["level"], Tone>> = {
  critical: "bad",
  warning: "warn",
  info: "info",
  over: "good",
};
