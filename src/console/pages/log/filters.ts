// The filters of the usage log as the URL holds them. Pure.
import { wholeIn } from "#console/base/time-range.ts";
import { LogType } from "#contract/log.ts";

export interface LogFilters {
  readonly type: number;
  readonly token_name: string;
  /** Of tokens. */
  readonly tag: string;
  readonly model_name: string;
  /** Seconds since 1970; 0 = from the beginning. */
  readonly start: number;
  /** Seconds since 1970; 0 = up to one hour ahead. */
  readonly end: number;
  /** Administrators only. */
  readonly channel: number;
  readonly username: string;
  /** Of administrators, and in a team. */
  readonly project: number;
  /** In a team: the member who called. */
  readonly member: number;
}

export const NO_FILTERS: LogFilters = {
  type: LogType.all,
  token_name: "",
  tag: "",
  model_name: "",
  start: 0,
  end: 0,
  channel: 0,
  username: "",
  project: 0,
  member: 0,
};

export const LOG_TYPES: readonly { readonly value: number; readonly label: string }[] = [
  { value: LogType.all, label: "全部" },
  { value: LogType.topup, label: "充值" },
  { value: LogType.consume, label: "消费" },
  { value: LogType.manage, label: "管理" },
  { value: LogType.system, label: "系统" },
  { value: LogType.test, label: "测试" },
  { value: LogType.error, label: "错误" },
];

/** Reads the filters; anything unreadable counts as not filtered. */
export function readFilters(params: URLSearchParams): LogFilters {
  return {
    type: wholeIn(params.get("type")),
    token_name: params.get("token_name") ?? "",
    tag: params.get("tag") ?? "",
    model_name: params.get("model_name") ?? "",
    start: wholeIn(params.get("start")),
    end: wholeIn(params.get("end")),
    channel: wholeIn(params.get("channel")),
    username: params.get("username") ?? "",
    project: wholeIn(params.get("project")),
    member: wholeIn(params.get("member")),
  };
}

/** Whether anything is filtered. */
export function isFiltered(filters: LogFilters): boolean {
  return Object.values(filterParams(filters)).some((text) => text !== "");
}

/** The URL's form of filters: "" removes a name. Changing filters starts at the first page. */
export function filterParams(filters: LogFilters): Record<string, string> {
  const number = (value: number) => (value === 0 ? "" : String(value));
  return {
    page: "",
    type: number(filters.type),
    token_name: filters.token_name.trim(),
    tag: filters.tag.trim(),
    model_name: filters.model_name.trim(),
    start: number(filters.start),
    end: number(filters.end),
    channel: number(filters.channel),
    username: filters.username.trim(),
    project: number(filters.project),
    member: number(filters.member),
  };
}

const HOUR = 3_600;

/**
 * What the server is asked: the default window is epoch 0 … one hour ahead (requirements B9). The end is rounded up to the hour, so that
 * the same question keeps the same cache key and still includes an hour to come.
 */
export function logQuery(filters: LogFilters, nowSec: number) {
  const { type, token_name, tag, model_name, channel, username, project, member, start } = filters;
  const end_timestamp = filters.end === 0 ? (Math.ceil(nowSec / HOUR) + 1) * HOUR : filters.end;
  const ofOthers = { channel, username, project, member };
  return { type, token_name, tag, model_name, ...ofOthers, start_timestamp: start, end_timestamp };
}

/** What the filters ask for; of it each view takes its part. */
export type LogQuery = ReturnType<typeof logQuery>;
