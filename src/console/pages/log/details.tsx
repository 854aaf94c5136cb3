// One log entry in full: what was charged and by which formula, ids and times.

import { Drawer } from "antd";
import { Link } from "react-router";
import { moneyOf, partOf } from "#console/base/earned.ts";
import { formatCount, formatMs, formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import type { Currency } from "#console/base/money-price.ts";
import { useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { type Fact, Facts } from "#console/ui/facts.tsx";
import { failureParts, OVERTAKEN } from "#console/ui/failure-words.ts";
import { type FailedChannel, type LogEntry, LogType } from "#contract/log.ts";
import { Charge, LogKind } from "./columns.tsx";
import { channelLabel, failureIn } from "./failure.ts";

/** The receipt is its own user's: an administrator who reads another's entry has the entry itself. */
function RequestId({ id, isReceipt }: { readonly id: string; readonly isReceipt: boolean }) {
  return (
    <span className="tg-log-id">
      <code className="tg-code">{id}</code>
      <CopyButton text={id} label="复制请求 ID" />
      {isReceipt ? <Link to={`/receipt/${id}`}>账单小票</Link> : null}
    </span>
  );
}

function callFacts(entry: LogEntry): Fact[] {
  if (entry.model_name === "") return [];
  const isFailed = entry.type === LogType.error;
  const cached = entry.cached_tokens === 0 ? "" : `（其中缓存 ${formatCount(entry.cached_tokens)}）`;
  const estimated = entry.estimated ? "（估算）" : "";
  return [
    ["令牌", entry.token_name || "无"],
    [
      "模型",
      <code key="model" className="tg-code">
        {entry.model_name}
      </code>,
    ],
    !isFailed && ["提示", `${formatCount(entry.prompt_tokens)}${cached}${estimated}`],
    !isFailed && ["补全", `${formatCount(entry.completion_tokens)}${estimated}`],
    ["方式", entry.is_stream ? "流式" : "非流式"],
    entry.elapsed_time > 0 && ["用时", formatMs(entry.elapsed_time)],
    entry.first_byte_time > 0 && ["首字", formatMs(entry.first_byte_time)],
  ];
}

/** What the caller of a failed call was told. */
function failureFacts(entry: LogEntry): Fact[] {
  const { status = "", code = "" } = failureIn(entry) ?? {};
  if (code === "") return [];
  return [
    status !== "" && ["状态码", status],
    [
      "错误码",
      <code key="code" className="tg-code">
        {code}
      </code>,
    ],
  ];
}

/** The upstream's words; of a call that was given up what it may cost. */
function Said({ failed }: { readonly failed: FailedChannel }) {
  const { error } = failed;
  const [, said] = failureParts(failed);
  if (said === "") return null;
  return error === OVERTAKEN ? (
    <span className="tg-muted tg-number">{said}</span>
  ) : (
    <q className="tg-log-said">{said}</q>
  );
}

/** Every channel that was called, in order; the last one answered, unless the call failed. */
function Attempts({ entry }: { readonly entry: LogEntry }) {
  if (entry.trail.length === 0) return channelLabel(entry);
  return (
    <ol className="tg-log-attempts">
      {entry.trail.map((failed) => (
        <li key={failed.channel}>
          <span>{channelLabel(failed)}</span>
          <span className="tg-log-failure">{failureParts(failed)[0]}</span>
          <Said failed={failed} />
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

/** Why it went where it went, and what holds now. */
function RouteLink({ entry: { id, user_id, channel, model_name } }: { readonly entry: LogEntry }) {
  const asked = new URLSearchParams({ log: String(id), user_id: String(user_id), model: model_name });
  return <Link to={`/channel/route?${asked}`}>{channel === 0 ? "为什么没有渠道" : "为什么是这个渠道"}</Link>;
}

/** For who may see money; of calls whose cost is known. */
function earnedFacts({ cost, revenue, fees, commission }: LogEntry, currency: Currency): Fact[] {
  if (cost < 0) return [];
  const margin = revenue - cost - fees - commission;
  const text = `${moneyOf(margin, currency)}（${partOf(margin, revenue)}）`;
  return [
    ["收入", moneyOf(revenue, currency)],
    ["成本", moneyOf(cost, currency)],
    ...(fees === 0 ? [] : [["支付手续费", moneyOf(fees, currency)] as const]),
    ...(commission === 0 ? [] : [["返现", moneyOf(commission, currency)] as const]),
    [
      "毛利",
      <span key="margin" className={margin < 0 ? "tg-log-loss" : ""}>
        {text}
      </span>,
    ],
  ];
}

interface Reader {
  readonly isAdmin: boolean;
  readonly ownId: number;
  readonly currency: Currency;
}

function factsOf(entry: LogEntry, { isAdmin, ownId, currency }: Reader): Fact[] {
  const charge = (
    <>
      <Charge quota={entry.quota} />（{formatCount(entry.quota)} 点）
    </>
  );
  return [
    ["时间", formatTime(entry.created_at)],
    ["类型", <LogKind key="type" type={entry.type} />],
    isAdmin && ["用户", entry.username],
    isAdmin && entry.channel !== 0 && ["渠道", <Attempts key="channel" entry={entry} />],
    isAdmin && entry.model_name !== "" && ["路由", <RouteLink key="route" entry={entry} />],
    ...callFacts(entry),
    ...failureFacts(entry),
    entry.quota !== 0 && ["额度", charge],
    ...earnedFacts(entry, currency),
    entry.request_id !== "" && [
      "请求 ID",
      <RequestId
        key="id"
        id={entry.request_id}
        isReceipt={entry.model_name !== "" && entry.user_id === ownId}
      />,
    ],
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
  const ownId = useUser()?.id ?? 0;
  const currency = useStatus()?.price_currency ?? "USD";
  return (
    <Drawer title="明细" open={entry !== undefined} onClose={onClose} size={isNarrow ? "100%" : 480}>
      {entry === undefined ? null : (
        <>
          <Facts facts={factsOf(entry, { isAdmin, ownId, currency })} labelWidth={wide(88, 110)} />
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
