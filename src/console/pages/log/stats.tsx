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

/** What the sums say; dashes when they could not be had. */
function figuresOf(stat: LogStat | undefined, display: QuotaDisplay): readonly Figure[] {
  const none = { value: "—", exact: "暂无数据" };
  if (stat === undefined) {
    return ["总消耗额度", "Tokens", "调用次数"].map((label) => ({ label, ...none }));
  }
  const { quota, token, request } = stat;
  const spent = formatCharge(quota, display);
  const perCall = request === 0 ? "暂无调用" : `平均每次 ${formatCharge(quota / request, display)}`;
  return [
    { label: "总消耗额度", value: spent, exact: `${formatCount(quota)} 点` },
    { label: "Tokens", value: shortCount(token), exact: `${formatCount(token)} 个` },
    { label: "调用次数", value: shortCount(request), exact: perCall },
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
      {figuresOf(stat.data, display).map(({ label, value, exact }) => (
        <div key={label} className="tg-card tg-figure">
          <dt>{label}</dt>
          <dd>{stat.isPending ? <span className="tg-bone" /> : <strong>{value}</strong>}</dd>
          <dd className="tg-muted">{stat.isPending ? <span className="tg-bone" /> : exact}</dd>
        </div>
      ))}
    </dl>
  );
}
