// The figures above the charts: today, the period and how it compares with the one before.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Link } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, formatMs, shortCount } from "#console/base/format.ts";
import { inSentence } from "#console/base/language.ts";
import { selfQuery } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { LogType, logApi } from "#contract/log.ts";
import { formatQuota } from "#contract/quota.ts";
import type { Team } from "#contract/team.ts";
import type { UsageReport } from "#contract/usage.ts";
import { type BoardReport, growth, outcomeOf, percent, sum, type ToLog } from "./usage.ts";

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note: ReactNode;
  /** Change against the period before, as a part; undefined = nothing to compare with. */
  readonly change?: number | undefined;
}

function Change({ part }: { readonly part: number }) {
  const size = `${Math.abs(part * 100).toFixed(Math.abs(part) < 0.1 ? 1 : 0)}%`;
  const word = part < 0 ? "减少" : "增加";
  return (
    <span className="tg-board-change" title={`比上一周期${word} ${size}`}>
      <span aria-hidden="true">{part < 0 ? "↓" : "↑"}</span>
      <span className="tg-hidden">{word}</span>
      {size}
    </span>
  );
}

function Figure({ label, value, note, change }: FigureProps) {
  return (
    <div className="tg-card tg-board-figure">
      <dt>{label}</dt>
      <dd>
        <strong>{value}</strong>
        {change === undefined ? null : <Change part={change} />}
      </dd>
      <dd className="tg-muted">{note}</dd>
    </div>
  );
}

/** What the account has spent since it exists; tells when that cannot be had (requirements B8). */
function useHistory() {
  const history = useQuery({ ...query(logApi.history, {}), meta: { silent: true } });
  const { isError } = history;
  useEffect(() => {
    if (isError) toast.error("加载历史消费失败");
  }, [isError]);
  return history.data;
}

/** What is in a team's wallet. */
export function Wallet({ team: { quota, used_quota, request_count } }: { readonly team: Team }) {
  const display = useQuotaDisplay();
  return (
    <Figure
      label="钱包余额"
      value={quota === null ? "—" : formatQuota(quota, display)}
      note={`历史消费 ${formatQuota(used_quota ?? 0, display)} · ${shortCount(request_count ?? 0)} 次`}
    />
  );
}

export function Balance() {
  const display = useQuotaDisplay();
  const history = useHistory();
  const { data } = useQuery(selfQuery);
  const note =
    history === undefined
      ? "历史消费 —"
      : `历史消费 ${formatQuota(history.usage, display)} · ${shortCount(history.request)} 次`;
  return (
    <Figure
      label="剩余额度"
      value={data === undefined ? "—" : formatQuota(data.quota, display)}
      note={note}
    />
  );
}

/** How the calls of the whole period went. Where a balance stands beside them, the time is a note. */
function CallFigures({ report, isBrief, toLog }: FiguresProps & { readonly report: UsageReport }) {
  const { failed, firstByteMs } = outcomeOf(report.outcomes);
  const calls = report.outcomes.reduce((total, row) => total + row.calls, 0);
  const failures = report.outcomes.reduce((total, row) => total + row.failures, 0);
  const time = firstByteMs === null ? "—" : formatMs(firstByteMs);
  const count = failed === null ? "还没有记录" : `${formatCount(calls)} 次中失败 ${formatCount(failures)} 次`;
  const isTimed = isBrief && firstByteMs !== null;
  const first = `平均首字 ${time}`;
  const text = isTimed ? `失败 ${formatCount(failures)} 次` : count;
  const linked = (
    <>
      {isTimed ? `${first} · ` : null}
      <Link to={toLog({ type: LogType.error, start: report.start })}>{text}</Link>
    </>
  );
  const plain = isTimed ? first : count;
  return (
    <>
      <Figure
        label="失败率"
        value={failed === null ? "—" : percent(failed)}
        note={failures === 0 ? plain : linked}
      />
      {isBrief ? null : (
        <Figure
          label="平均首字时间"
          value={time}
          note={firstByteMs === null ? "还没有流式调用" : "仅统计流式调用"}
        />
      )}
    </>
  );
}

export interface FiguresProps {
  readonly report: BoardReport;
  readonly isBrief: boolean;
  readonly toLog: ToLog;
}

export function Figures({ report, isBrief, toLog }: FiguresProps) {
  const display = useQuotaDisplay();
  const { daily, previous, days, start } = report;
  const today = sum(daily.filter(({ day }) => day === start + (days - 1) * 86_400));
  const all = sum(daily);
  const before = sum([previous]);
  const [period, earlier] = days === 1 ? ["今日", "昨日同期"] : [`近 ${days} 天`, "上一周期"];
  return (
    <>
      {days === 1 ? null : (
        <Figure
          label="今日花费"
          value={formatCharge(today.quota, display)}
          note={`${formatCount(today.requests)} 次请求`}
        />
      )}
      <Figure
        label={`${period}花费`}
        value={formatCharge(all.quota, display)}
        change={growth(all.quota, before.quota)}
        note={
          before.requests === 0 ? `${earlier}没有调用` : `${earlier} ${formatCharge(before.quota, display)}`
        }
      />
      <Figure
        label={`${period}请求`}
        value={shortCount(all.requests)}
        change={growth(all.requests, before.requests)}
        note={all.requests === 0 ? "暂无调用" : `平均每次 ${formatCharge(all.quota / all.requests, display)}`}
      />
      <Figure
        label={`${period} ${inSentence("Tokens")}`}
        value={shortCount(all.prompt + all.completion)}
        change={growth(all.prompt + all.completion, before.prompt + before.completion)}
        note={`提示 ${shortCount(all.prompt)} · 补全 ${shortCount(all.completion)}`}
      />
      {report.outcomes === undefined ? null : (
        <CallFigures report={{ ...report, outcomes: report.outcomes }} isBrief={isBrief} toLog={toLog} />
      )}
    </>
  );
}
