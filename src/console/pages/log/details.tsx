// One log entry in full: what was charged and by which formula, ids and times.
import { Descriptions, type DescriptionsProps, Drawer } from "antd";
import { formatCount, formatMs, formatTime } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { type LogEntry, LogType } from "#contract/log.ts";
import { channelLabel, failureText } from "./attempts.ts";
import { Charge, LogKind } from "./columns.tsx";
import { failureIn } from "./failure.ts";

type Item = NonNullable<DescriptionsProps["items"]>[number];

function line(label: string, children: Item["children"]): Item {
  return { key: label, label, children };
}

function RequestId({ id }: { readonly id: string }) {
  return (
    <span className="tg-log-id">
      <code className="tg-code">{id}</code>
      <CopyButton text={id} label="复制请求 ID" />
    </span>
  );
}

function callLines(entry: LogEntry): Item[] {
  if (entry.model_name === "") return [];
  const isFailed = entry.type === LogType.error;
  const cached = entry.cached_tokens === 0 ? "" : `（其中缓存 ${formatCount(entry.cached_tokens)}）`;
  const estimated = entry.estimated ? "（估算）" : "";
  return [
    line("令牌", entry.token_name || "无"),
    line("模型", <code className="tg-code">{entry.model_name}</code>),
    ...(isFailed
      ? []
      : [
          line("提示", `${formatCount(entry.prompt_tokens)}${cached}${estimated}`),
          line("补全", `${formatCount(entry.completion_tokens)}${estimated}`),
        ]),
    line("方式", entry.is_stream ? "流式" : "非流式"),
    ...(entry.elapsed_time === 0 ? [] : [line("用时", formatMs(entry.elapsed_time))]),
    ...(entry.first_byte_time === 0 ? [] : [line("首字", formatMs(entry.first_byte_time))]),
  ];
}

/** What the caller of a failed call was told. */
function failureLines(entry: LogEntry): Item[] {
  const { status = "", code } = failureIn(entry) ?? {};
  if (status === "") return [];
  return [line("状态码", status), line("错误码", <code className="tg-code">{code}</code>)];
}

/** Every channel that was called, in order; the last one answered, unless the call failed. */
function Attempts({ entry }: { readonly entry: LogEntry }) {
  if (entry.trail.length === 0) return channelLabel(entry);
  return (
    <ol className="tg-log-attempts">
      {entry.trail.map((failed) => (
        <li key={failed.channel}>
          <span>{channelLabel(failed)}</span>
          <span className="tg-log-failure">{failureText(failed.error)}</span>
          {failed.said === "" ? null : <q className="tg-log-said">{failed.said}</q>}
        </li>
      ))}
      {entry.type === LogType.error ? null : (
        <li>
          <span>{channelLabel(entry)}</span>
          <span className="tg-muted">完成请求</span>
        </li>
      )}
    </ol>
  );
}

function adminLines(entry: LogEntry): Item[] {
  return [
    line("用户", entry.username),
    ...(entry.channel === 0 ? [] : [line("渠道", <Attempts entry={entry} />)]),
  ];
}

function linesOf(entry: LogEntry, isAdmin: boolean): Item[] {
  return [
    line("时间", formatTime(entry.created_at)),
    line("类型", <LogKind type={entry.type} />),
    ...(isAdmin ? adminLines(entry) : []),
    ...callLines(entry),
    ...failureLines(entry),
    ...(entry.quota === 0
      ? []
      : [
          line(
            "额度",
            <>
              <Charge quota={entry.quota} />（{formatCount(entry.quota)} 点）
            </>,
          ),
        ]),
    ...(entry.request_id === "" ? [] : [line("请求 ID", <RequestId id={entry.request_id} />)]),
  ];
}

export interface LogDetailsProps {
  /** undefined = closed. */
  readonly entry: LogEntry | undefined;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
}

export function LogDetails({ entry, isAdmin, onClose }: LogDetailsProps) {
  const isNarrow = useMedia(NARROW);
  return (
    <Drawer title="明细" open={entry !== undefined} onClose={onClose} size={isNarrow ? "100%" : 480}>
      {entry === undefined ? null : (
        <>
          <Descriptions
            column={1}
            size="small"
            items={linesOf(entry, isAdmin)}
            styles={{ label: { width: 72 } }}
          />
          {entry.content === "" ? null : (
            <section className="tg-log-content">
              <h3>详情</h3>
              <p>{failureIn(entry)?.message ?? entry.content}</p>
            </section>
          )}
        </>
      )}
    </Drawer>
  );
}
