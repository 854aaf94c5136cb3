// Saves a list as a CSV file; while it is being fetched the same button stops that.
import { CloseOutlined, DownloadOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { downloadText } from "#console/base/download.ts";
import { type CsvColumn, rowsCsv } from "#console/base/export.ts";
import { handleFault } from "#console/base/faults.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { Tooltip } from "./tooltip.tsx";

export interface ExportButtonProps<Row> {
  /** Begin of the file's name. */
  readonly name: string;
  readonly columns: readonly CsvColumn<Row>[];
  /** Reads the list as it is filtered now, at most `most` rows. */
  readonly read: (reading: Reading) => Promise<readonly Row[]>;
  readonly most: number;
  /** Among the symbols of a toolbar: without words while it waits. */
  readonly isSmall?: boolean;
}

export interface Reading {
  readonly nowSec: number;
  readonly signal: AbortSignal;
  readonly onProgress: (fetched: number, total: number | undefined) => void;
}

export function ExportButton<Row extends { readonly id: number }>({
  name,
  columns,
  read,
  most,
  isSmall = false,
}: ExportButtonProps<Row>) {
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
      const rows = await read({ nowSec, signal: abort.signal, onProgress });
      const file = `${name}-${formatTime(nowSec).slice(0, 10)}.csv`;
      downloadText({ name: file, text: rowsCsv(rows, columns), type: "text/csv" });
      if (rows.length < most) toast.success(`已导出 ${formatCount(rows.length)} 条记录`);
      else toast.warning(`只导出了最近的 ${formatCount(most)} 条记录，请缩小筛选范围后分次导出`);
    } catch (error) {
      if (!abort.signal.aborted) handleFault(error);
    } finally {
      setProgress(undefined);
    }
  };
  if (progress === undefined) {
    const button = { icon: <DownloadOutlined aria-hidden="true" />, onClick: () => void start() };
    return isSmall ? (
      <Tooltip title="导出 CSV">
        <Button {...button} aria-label="导出 CSV" />
      </Tooltip>
    ) : (
      <Button {...button}>导出 CSV</Button>
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
