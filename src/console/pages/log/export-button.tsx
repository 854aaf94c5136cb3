// Saves the filtered log as a CSV file; while it is being fetched the same button stops that.
import { CloseOutlined, DownloadOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { downloadText } from "#console/base/download.ts";
import { handleFault } from "#console/base/faults.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { entriesCsv, fetchEntries, MAX_ROWS } from "./export.ts";
import type { logQuery } from "./filters.ts";

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
