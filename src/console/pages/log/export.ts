// The usage log as a file: which pages are fetched, and its columns.
import { call } from "#console/base/call.ts";
import type { CsvColumn, FetchPage } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import { type LogEntry, logApi } from "#contract/log.ts";
import { attemptsText } from "./failure.ts";
import { LOG_TYPES, type logQuery } from "./filters.ts";

export interface LogSource {
  readonly filter: ReturnType<typeof logQuery>;
  readonly isAdmin: boolean;
}

/** Fetches pages of the log up to now as this user may see it, newest first. */
export function logPages(
  { filter, isAdmin }: LogSource,
  nowSec: number,
  signal: AbortSignal,
): FetchPage<LogEntry> {
  // Entries that come while we read would push others to the next page: the end of the range is fixed.
  const fixed = { ...filter, end_timestamp: Math.min(filter.end_timestamp, nowSec) };
  const { username: _user, channel: _channel, project: _project, ...own } = fixed;
  return (p, size) =>
    isAdmin
      ? call(logApi.list, { query: { ...fixed, p, size } }, signal)
      : call(logApi.listSelf, { query: { ...own, p, size } }, signal);
}

const ADMIN_COLUMNS: readonly CsvColumn<LogEntry>[] = [
  ["渠道 ID", (entry) => entry.channel],
  ["渠道", (entry) => entry.channel_name],
  ["此前失败", (entry) => attemptsText(entry.trail)],
  ["用户", (entry) => entry.username],
  ["项目", (entry) => entry.project_name],
];

const COLUMNS: readonly CsvColumn<LogEntry>[] = [
  ["令牌", (entry) => entry.token_name],
  ["类型", (entry) => LOG_TYPES.find(({ value }) => value === entry.type)?.label ?? "未知"],
  ["模型", (entry) => entry.model_name],
  ["用时（毫秒）", (entry) => entry.elapsed_time],
  ["首字（毫秒）", (entry) => entry.first_byte_time],
  ["提示", (entry) => entry.prompt_tokens],
  ["补全", (entry) => entry.completion_tokens],
  ["缓存", (entry) => entry.cached_tokens],
  ["额度（点）", (entry) => entry.quota],
  ["详情", (entry) => entry.content],
  ["请求 ID", (entry) => entry.request_id],
];

/** Amounts are in quota units, so that sums are exact. */
export function logColumns(isAdmin: boolean): readonly CsvColumn<LogEntry>[] {
  return [["时间", (entry) => formatTime(entry.created_at)], ...(isAdmin ? ADMIN_COLUMNS : []), ...COLUMNS];
}
