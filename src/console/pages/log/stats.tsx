// Sums over the filtered log: spent, tokens, calls. They follow the filters.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { type LogStat, logApi } from "#contract/log.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { logQuery } from "./filters.ts";

export interface StatsProps {
  readonly filter: ReturnType<typeof logQuery>;
  readonly isAdmin: boolean;
}

interface Figure {
  readonly label: string;
  readonly value: string;
  readonly exact: string;
}

const NONE = { value: "—", exact: "暂无数据" };

/** What a call cost on average. */
function averageOf(quota: number, requests: number, display: QuotaDisplay): string {
  return requests === 0 ? "暂无调用" : `平均每次 ${formatCharge(quota / requests, display)}`;
}

/** What the sums say; a dash for each that could not be had, since other servers of the family give the first only. */
function figuresOf(stat: Partial<LogStat>, display: QuotaDisplay): readonly Figure[] {
  const { quota, token, request } = stat;
  const spent =
    quota === undefined ? NONE : { value: formatCharge(quota, display), exact: `${formatCount(quota)} 点` };
  const tokens = token === undefined ? NONE : { value: shortCount(token), exact: `${formatCount(token)} 个` };
  const calls =
    quota === undefined || request === undefined
      ? NONE
      : { value: shortCount(request), exact: averageOf(quota, request, display) };
  return [
    { label: "总消耗额度", ...spent },
    { label: "Tokens", ...tokens },
    { label: "调用次数", ...calls },
  ];
}

export function LogStats({ filter, isAdmin }: StatsProps) {
  const display = useQuotaDisplay();
  const { username: _user, channel: _channel, ...own } = filter;
  const stat = useQuery<LogStat>({
    ...(isAdmin ? query(logApi.stat, { query: filter }) : query(logApi.statSelf, { query: own })),
    placeholderData: keepPreviousData,
  });
  return (
    <dl className="tg-figures" aria-label="统计" aria-busy={stat.isFetching}>
      {figuresOf(stat.data ?? {}, display).map(({ label, value, exact }) => (
        <div key={label} className="tg-card tg-figure">
          <dt>{label}</dt>
          <dd>{stat.isPending ? <span className="tg-bone" /> : <strong>{value}</strong>}</dd>
          <dd className="tg-muted">{stat.isPending ? <span className="tg-bone" /> : exact}</dd>
        </div>
      ))}
    </dl>
  );
}
