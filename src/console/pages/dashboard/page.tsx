// The dashboard: what was spent, asked and generated in the last seven days, by day and by model.
import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "antd";
import { useEffect, useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, shortCount } from "#console/base/format.ts";
import { isAdmin, selfQuery, useUser } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { accountApi, type DashboardRow } from "#contract/account.ts";
import { type LogStat, logApi } from "#contract/log.ts";
import { formatQuota } from "#contract/quota.ts";
import { UsageCharts } from "./charts.tsx";
import { daysUntil, sum } from "./usage.ts";
import "./dashboard.css";

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note: string;
}

function Figure({ label, value, note }: FigureProps) {
  return (
    <div className="tg-card tg-board-figure">
      <dt>{label}</dt>
      <dd>
        <strong>{value}</strong>
      </dd>
      <dd className="tg-muted">{note}</dd>
    </div>
  );
}

/** What the account has spent since it exists; tells when that cannot be had (spec §8). */
function useHistory() {
  const history = useQuery({ ...query(logApi.history, {}), meta: { silent: true } });
  const { isError } = history;
  useEffect(() => {
    if (isError) toast.error("加载历史消费失败");
  }, [isError]);
  return history.data;
}

interface OwnFiguresProps {
  readonly rows: readonly DashboardRow[];
  readonly today: string;
}

function OwnFigures({ rows, today }: OwnFiguresProps) {
  const display = useQuotaDisplay();
  const history = useHistory();
  const self = useQuery(selfQuery);
  const now = sum(rows.filter((row) => row.Day === today));
  const week = sum(rows);
  const balance = self.data === undefined ? "—" : formatQuota(self.data.quota, display);
  return (
    <dl className="tg-board-figures" aria-label="我的用量">
      <Figure
        label="今日花费"
        value={formatCharge(now.quota, display)}
        note={`${formatCount(now.requests)} 次请求`}
      />
      <Figure
        label="近 7 天花费"
        value={formatCharge(week.quota, display)}
        note={`${formatCount(week.requests)} 次请求`}
      />
      <Figure
        label="近 7 天 Tokens"
        value={shortCount(week.prompt + week.completion)}
        note={`提示 ${shortCount(week.prompt)} · 补全 ${shortCount(week.completion)}`}
      />
      <Figure
        label="剩余额度"
        value={balance}
        note={
          history === undefined
            ? "历史消费 —"
            : `历史消费 ${formatQuota(history.usage, display)} · ${shortCount(history.request)} 次`
        }
      />
    </dl>
  );
}

function SiteFigure({ label, start }: { readonly label: string; readonly start: number }) {
  const display = useQuotaDisplay();
  const stat = useQuery<LogStat>({
    ...query(logApi.stat, { query: { start_timestamp: start } }),
    meta: { silent: true },
  });
  const { data } = stat;
  const value = data === undefined ? "—" : formatCharge(data.quota, display);
  const note =
    data === undefined
      ? "暂无数据"
      : `${formatCount(data.request)} 次请求 · ${shortCount(data.token)} tokens`;
  return <Figure label={label} value={value} note={note} />;
}

/** Sums over everybody, for administrators. */
function SiteFigures({ days }: { readonly days: readonly string[] }) {
  const startOf = (day: string | undefined) => Math.floor(Date.parse(`${day}T00:00:00Z`) / 1000);
  return (
    <section className="tg-board-site" aria-labelledby="site-usage">
      <h2 id="site-usage">全站用量</h2>
      <dl className="tg-board-figures">
        <SiteFigure label="今日全站花费" start={startOf(days.at(-1))} />
        <SiteFigure label="近 7 天全站花费" start={startOf(days[0])} />
      </dl>
    </section>
  );
}

function NothingYet() {
  return (
    <div className="tg-card tg-blank">
      <p>近 7 天没有调用，所以还没有图表。用令牌发起一次调用后，这里会显示花费与用量。</p>
      <div className="tg-form-inline">
        <LinkButton to="/playground" kind="primary">
          去操练场试试
        </LinkButton>
        <LinkButton to="/token">查看令牌</LinkButton>
      </div>
    </div>
  );
}

export function DashboardPage() {
  const user = useUser();
  const [days] = useState(() => daysUntil(Date.now() / 1000));
  const usage = useQuery({ ...query(accountApi.dashboard, {}), staleTime: 30_000 });
  return (
    <Page title="总览" lead="最近 7 天的花费与用量，按 UTC 日期统计。">
      {usage.data === undefined ? (
        <div className="tg-card tg-section">
          {usage.error === null ? (
            <Skeleton active paragraph={{ rows: 8 }} />
          ) : (
            <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />
          )}
        </div>
      ) : (
        <>
          <OwnFigures rows={usage.data} today={days.at(-1) ?? ""} />
          {usage.data.length === 0 ? <NothingYet /> : <UsageCharts rows={usage.data} days={days} />}
        </>
      )}
      {isAdmin(user) ? <SiteFigures days={days} /> : null}
    </Page>
  );
}
