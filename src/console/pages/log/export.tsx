// Saves the filtered log as a CSV file; while it is being fetched the same button stops that.
import { CloseOutlined, DownloadOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { call } from "#console/base/call.ts";
import { csvText, downloadText } from "#console/base/download.ts";
import { handleFault } from "#console/base/faults.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { pageCount } from "#console/base/paging.ts";
import { toast } from "#console/base/toast.ts";
import { type LogEntry, logApi } from "#contract/log.ts";
import { attemptsText } from "./failure.ts";
import { LOG_TYPES, type logQuery } from "./filters.ts";

/** Rows per call; the most the server gives. */
const SIZE = 100;
/** Beyond this a file is no longer a comfortable way; the filter should be narrower. */
export const MAX_ROWS = 20_000;

type Filter = ReturnType<typeof logQuery>;

export interface ExportJob {
  readonly filter: Filter;
  readonly isAdmin: boolean;
  readonly signal: AbortSignal;
  /** Gets rows fetched and rows in all, where the server says so. */
  readonly onProgress: (fetched: number, total: number | undefined) => void;
}

/** One page of the log as this user may see it. */
function fetchPage({ filter, isAdmin, signal }: ExportJob, p: number) {
  if (isAdmin) return call(logApi.list, { query: { ...filter, p, size: SIZE } }, signal);
  const { username: _user, channel: _channel, ...own } = filter;
  return call(logApi.listSelf, { query: { ...own, p, size: SIZE } }, signal);
}

/** All entries of the filter, newest first, each once, at most MAX_ROWS. Throws: ApiFault, or the abort. */
export async function fetchEntries(job: ExportJob, nowSec: number): Promise<LogEntry[]> {
  // Entries that come while we read would push others to the next page: the end of the range is fixed.
  const end_timestamp = Math.min(job.filter.end_timestamp, nowSec);
  const fixed = { ...job, filter: { ...job.filter, end_timestamp } };
  const found = new Map<number, LogEntry>();
  for (let page = 0, pages = 1; page < pages && found.size < MAX_ROWS; page += 1) {
    const { data, total } = await fetchPage(fixed, page);
    for (const entry of data) found.set(entry.id, entry);
    job.onProgress(found.size, total);
    pages = data.length === 0 ? 0 : pageCount({ page, size: SIZE, received: data.length, total });
  }
  return [...found.values()].slice(0, MAX_ROWS);
}

type Cell = string | number;

const ADMIN_COLUMNS: readonly (readonly [string, (entry: LogEntry) => Cell])[] = [
  ["渠道 ID", (entry) => entry.channel],
  ["渠道", (entry) => entry.channel_name],
  ["此前失败", (entry) => attemptsText(entry.trail)],
  ["用户", (entry) => entry.username],
];

const COLUMNS: readonly (readonly [string, (entry: LogEntry) => Cell])[] = [
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

/** The entries as a CSV file: amounts in quota units, so that sums are exact. */
export function entriesCsv(entries: readonly LogEntry[], isAdmin: boolean): string {
  const columns = [
    ["时间", (entry: LogEntry) => formatTime(entry.created_at)] as const,
    ...(isAdmin ? ADMIN_COLUMNS : []),
    ...COLUMNS,
  ];
  return csvText([
    columns.map(([title]) => title),
    ...entries.map((entry) => columns.map(([, read]) => read(entry))),
  ]);
}

export interface ExportButtonProps {
  readonly filter: ReturnType<typeof logQuery>;
  readonly isAdmin: boolean;
}

export function ExportButton({ filter, isAdmin }: ExportButtonProps) {
  const [progress, setProgress] = useState<string>();
  const running = useRef<AbortController>(undefined);
  // A file that the user no longer waits for is not fetched to its end.
  useEffect(() => () => running.current?.abort(), []);
  const start = async () => {
    const abort = new AbortController();
    running.current = abort;
    setProgress("正在导出");
    const onProgress = (fetched: number, total: number | undefined) =>
      setProgress(`正在导出 ${formatCount(fetched)}${total === undefined ? "" : ` / ${formatCount(total)}`}`);
    try {
      const nowSec = Math.floor(Date.now() / 1000);
      const entries = await fetchEntries({ filter, isAdmin, signal: abort.signal, onProgress }, nowSec);
      const name = `使用明细-${formatTime(nowSec).slice(0, 10)}.csv`;
      downloadText({ name, text: entriesCsv(entries, isAdmin), type: "text/csv" });
      if (entries.length < MAX_ROWS) toast.success(`已导出 ${formatCount(entries.length)} 条记录`);
      else toast.warning(`只导出了最近的 ${formatCount(MAX_ROWS)} 条记录，请缩小筛选范围后分次导出`);
    } catch (error) {
      if (!abort.signal.aborted) handleFault(error);
    } finally {
      setProgress(undefined);
    }
  };
  if (progress === undefined) {
    return (
      <Button icon={<DownloadOutlined aria-hidden="true" />} onClick={() => void start()}>
        导出 CSV
      </Button>
    );
  }
  return (
    <Button
      icon={<CloseOutlined aria-hidden="true" />}
      title="停止导出"
      onClick={() => running.current?.abort()}
    >
      {progress}
    </Button>
  );
}
