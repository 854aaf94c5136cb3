// The usage log: filters, sums, entries, and the details of one entry.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { fetchRows, MAX_ROWS } from "#console/base/export.ts";
import { formatCharge, formatCount, shortCount } from "#console/base/format.ts";
import { useMay } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ExportButton } from "#console/ui/export-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import { useAddress } from "#console/ui/table-state.ts";
import { mayIn, useTeam, useTeams } from "#console/ui/team-context.ts";
import type { LogEntry, LogStat } from "#contract/log.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import { columnsFor, LogKind } from "./columns.tsx";
import { LogDetails } from "./details.tsx";
import { logColumns } from "./export.ts";
import { failureIn } from "./failure.ts";
import { FilterBar } from "./filter-bar.tsx";
import {
  filterParams,
  isFiltered,
  type LogFilters,
  type LogQuery,
  logQuery,
  NO_FILTERS,
  readFilters,
} from "./filters.ts";
import { type ListedEntry, type LogSource, logPages, logsFrom, statFrom } from "./source.ts";
import "./log.css";

interface StatsProps {
  readonly filter: LogQuery;
  readonly source: LogSource;
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

function LogStats({ filter, source }: StatsProps) {
  const display = useQuotaDisplay();
  const stat = useQuery({ ...statFrom(source, filter), placeholderData: keepPreviousData });
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

/** What stands where no entries are: there was no call yet, or the filters leave nothing. */
function emptyOf(filters: LogFilters, onClear: () => void) {
  if (!isFiltered(filters)) return { text: "还没有记录。用令牌调用接口后，每次消费都会记在这里。" };
  return { text: "没有符合筛选条件的记录。", action: <Button onClick={onClear}>清除筛选</Button> };
}

/** What a card is about; of a failed call also why, since cards have no column for that. */
function cardTitle(entry: LogEntry) {
  const failure = failureIn(entry);
  if (failure === undefined) return entry.model_name || entry.content;
  return (
    <>
      {entry.model_name}
      <span className="tg-log-why">{failure.message}</span>
    </>
  );
}

/** Of a team undefined until it is known how much the role sees. */
function useSource(): LogSource | undefined {
  const isAdmin = useMay("log.read");
  const id = useTeam();
  const team = useTeams()?.find((one) => one.id === id);
  if (id === 0) return { kind: isAdmin ? "all" : "own" };
  return team && { kind: "team", id, seesAll: mayIn(team, "calls") };
}

/** What a card tells first, beside time and charge. */
const CARD_FACTS = {
  own: ["token_name", "elapsed_time"],
  all: ["username", "channel"],
  team: ["member_name", "token_name"],
} as const;

function LogList({ source }: { readonly source: LogSource }) {
  const [params, write] = useAddress();
  const [opened, setOpened] = useState<ListedEntry>();
  const filters = readFilters(params);
  const filter = logQuery(filters, Date.now() / 1000);
  const change = (next: LogFilters) => write(filterParams(next));
  const exportButton = (
    <ExportButton
      name={source.kind === "team" ? "团队明细" : "使用明细"}
      columns={logColumns(source)}
      most={MAX_ROWS}
      read={({ nowSec, signal, onProgress }) =>
        fetchRows(logPages(source, filter, { nowSec, signal }), onProgress)
      }
    />
  );
  return (
    <Page extra={exportButton}>
      <LogStats filter={filter} source={source} />
      <ResourceTable<ListedEntry>
        name={source.kind === "team" ? "team-log" : "log"}
        label="使用明细列表"
        filters={<FilterBar filters={filters} source={source} onChange={change} />}
        load={logsFrom(source, filter)}
        columns={columnsFor(source, filters.type)}
        cardTitle={cardTitle}
        cardState={(entry) => <LogKind type={entry.type} />}
        cardFacts={["created_at", "quota", ...CARD_FACTS[source.kind]]}
        onOpen={setOpened}
        empty={emptyOf(filters, () => change(NO_FILTERS))}
      />
      <LogDetails entry={opened} isAdmin={source.kind === "all"} onClose={() => setOpened(undefined)} />
    </Page>
  );
}

export function LogListPage() {
  const source = useSource();
  return source === undefined ? null : (
    <LogList key={source.kind === "team" ? source.id : source.kind} source={source} />
  );
}
