// The usage log as a file: its columns.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import { attemptsText } from "./failure.ts";
import { LOG_TYPES } from "./filters.ts";
import type { ListedEntry, LogSource } from "./source.ts";

const ADMIN_COLUMNS: readonly CsvColumn<ListedEntry>[] = [
  ["渠道 ID", (entry) => entry.channel],
  ["渠道", (entry) => entry.channel_name],
  ["此前失败", (entry) => attemptsText(entry.trail)],
  ["用户", (entry) => entry.username],
  ["项目", (entry) => entry.project_name],
];

const TEAM_COLUMNS: readonly CsvColumn<ListedEntry>[] = [
  ["成员", (entry) => entry.member_name ?? ""],
  ["项目", (entry) => entry.project_name],
];

const COLUMNS: readonly CsvColumn<ListedEntry>[] = [
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

const OF_SOURCE = { all: ADMIN_COLUMNS, team: TEAM_COLUMNS, own: [] } as const;

/** Amounts are in quota units, so that sums are exact. */
export function logColumns({ kind }: Pick<LogSource, "kind">): readonly CsvColumn<ListedEntry>[] {
  return [["时间", (entry) => formatTime(entry.created_at)], ...OF_SOURCE[kind], ...COLUMNS];
}
