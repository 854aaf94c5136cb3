// The dashboard: what was spent, asked and generated in the last days, by which users and how well; for oneself or, as an
// administrator, for all users. Period and view are in the address.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Segmented } from "antd";
import { type ReactNode, useMemo, useState } from "react";
import { query } from "#console/base/call.ts";
import { logPath, ownLogPath } from "#console/base/log-path.ts";
import { may, useUser } from "#console/base/session.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { useAddress } from "#console/ui/table-state.ts";
import { FormState, type FormStateProps } from "#console/ui/table-states.tsx";
import { pathIn, usePathHere, useTeam, useTeams } from "#console/ui/team-context.ts";
import { type Team, teamApi } from "#contract/team.ts";
import { usageApi } from "#contract/usage.ts";
import { DayCharts } from "./charts.tsx";
import { Balance, Figures, Wallet } from "./figures.tsx";
import { ChannelRanks, MemberRanks, ModelRanks, ProjectRanks, TokenRanks, UserRanks } from "./ranks.tsx";
import { type BoardReport, dayOffset, type ModelUsage, rankModels, sum, type ToLog } from "./usage.ts";
import { WeekMap } from "./week.tsx";
import "./dashboard.css";

const FIGURES = ["first", "second", "third", "fourth", "fifth", "sixth"] as const;
const CHARTS = ["spend", "requests", "tokens", "failures", "first-bytes"] as const;

function BoardBones() {
  return (
    <>
      <span className="tg-hidden" role="status">
        正在加载
      </span>
      <div className="tg-board-figures" aria-hidden="true">
        {FIGURES.map((name) => (
          <div key={name} className="tg-card tg-board-figure tg-board-bones">
            <span className="tg-bone" />
            <span className="tg-bone" />
            <span className="tg-bone" />
          </div>
        ))}
      </div>
      <div className="tg-charts" aria-hidden="true">
        {CHARTS.map((name) => (
          <div key={name} className={name === "spend" ? "tg-charts-wide" : undefined}>
            <div className="tg-card tg-chart tg-chart-bones">
              <span className="tg-bone" />
              <span className="tg-bone tg-chart-canvas" />
              <span className="tg-bone" />
            </div>
          </div>
        ))}
      </div>
    </>
  );
}

const PERIODS = [1, 7, 30, 90] as const;
type Days = (typeof PERIODS)[number];

interface View {
  readonly days: Days;
  readonly isSite: boolean;
}

/** What the address asks for; the site is for administrators and their default. */
function useView(): readonly [View, (change: Readonly<Record<string, string>>) => void] {
  const user = useUser();
  const [params, write] = useAddress();
  const asked = Number(params.get("days"));
  const days = PERIODS.find((period) => period === asked) ?? 7;
  const isSite = may(user, "usage.read") && params.get("view") !== "own";
  const change = (to: Readonly<Record<string, string>>) => write(to, { replace: true });
  return [{ days, isSite }, change];
}

function Switches() {
  const user = useUser();
  const team = useTeam();
  const [{ days, isSite }, change] = useView();
  return (
    <>
      {may(user, "usage.read") && team === 0 ? (
        <Segmented
          aria-label="范围"
          value={isSite ? "" : "own"}
          options={[
            { value: "", label: "全站" },
            { value: "own", label: "我的" },
          ]}
          onChange={(view) => change({ view })}
        />
      ) : null}
      <Segmented
        aria-label="时间"
        value={days}
        options={PERIODS.map((value) => ({ value, label: value === 1 ? "今天" : `${value} 天` }))}
        onChange={(value) => change({ days: value === 7 ? "" : String(value) })}
      />
    </>
  );
}

function NothingYet({ days }: { readonly days: number }) {
  const here = usePathHere();
  return (
    <div className="tg-card tg-blank">
      <p>
        {days === 1 ? "今天还" : `近 ${days} 天`}
        没有调用，所以还没有图表。用令牌发起一次调用后，这里会显示花费与用量。
      </p>
      <div className="tg-form-inline">
        <LinkButton to="/playground" kind="primary">
          去操练场试试
        </LinkButton>
        <LinkButton to={here("/token")}>查看令牌</LinkButton>
      </div>
    </div>
  );
}

interface BoardProps {
  readonly label: string;
  readonly report: BoardReport;
  readonly toLog: ToLog;
  /** A figure of its own, before the others. */
  readonly first?: ReactNode;
  /** The rankings beside that of models. */
  readonly ranks: (total: number) => ReactNode;
}

function Charts({ report, models, ranks, toLog }: { readonly models: readonly ModelUsage[] } & BoardProps) {
  return (
    <div className="tg-charts">
      {/* One day has neither a chart of days nor one of a week. */}
      {report.days === 1 ? (
        <div className="tg-charts-wide">
          <ModelRanks report={report} models={models} toLog={toLog} />
        </div>
      ) : (
        <>
          <DayCharts report={report} models={models} />
          <ModelRanks report={report} models={models} toLog={toLog} />
          <WeekMap report={report} />
        </>
      )}
      {ranks(sum(report.daily).quota)}
    </div>
  );
}

function Board(props: BoardProps) {
  const { report } = props;
  const models = useMemo(() => rankModels(report.daily), [report]);
  const isEmpty = report.daily.length === 0 && (report.outcomes ?? []).length === 0;
  return (
    <>
      <dl className="tg-board-figures" aria-label={props.label}>
        {props.first}
        <Figures report={report} isBrief={props.first !== undefined} toLog={props.toLog} />
      </dl>
      {isEmpty ? <NothingYet days={report.days} /> : <Charts {...props} models={models} />}
    </>
  );
}

function Loading(props: FormStateProps) {
  return props.error === null ? <BoardBones /> : <FormState {...props} />;
}

interface PartProps {
  readonly days: Days;
  readonly offset: number;
}

/** A report may be a minute old, and is shown at once when the user comes back. */
const FRESH = { staleTime: 60_000, placeholderData: keepPreviousData } as const;

function OwnBoard(wanted: PartProps) {
  const user = useUser();
  const toLog: ToLog = (filters) => ownLogPath(user, filters);
  const usage = useQuery({ ...query(usageApi.own, { query: wanted }), ...FRESH });
  const { data } = usage;
  if (data === undefined) return <Loading error={usage.error} onRetry={() => void usage.refetch()} />;
  return (
    <Board
      label="我的用量"
      report={data}
      toLog={toLog}
      first={<Balance />}
      ranks={(total) => (
        <div className="tg-charts-wide">
          <TokenRanks report={data} total={total} toLog={toLog} />
        </div>
      )}
    />
  );
}

function SiteBoard(wanted: PartProps) {
  const usage = useQuery({ ...query(usageApi.site, { query: wanted }), ...FRESH });
  const { data } = usage;
  if (data === undefined) return <Loading error={usage.error} onRetry={() => void usage.refetch()} />;
  return (
    <Board
      label="全站用量"
      report={data}
      toLog={logPath}
      ranks={(total) => (
        <>
          <UserRanks report={data} total={total} toLog={logPath} />
          <ChannelRanks report={data} toLog={logPath} />
        </>
      )}
    />
  );
}

function TeamBoard({ team, ...wanted }: PartProps & { readonly team: Team }) {
  const usage = useQuery({ ...query(teamApi.usage, { params: { id: team.id }, query: wanted }), ...FRESH });
  const { data } = usage;
  if (data === undefined) return <Loading error={usage.error} onRetry={() => void usage.refetch()} />;
  const toLog: ToLog = (filters) => pathIn(team.id, logPath(filters));
  return (
    <Board
      label="团队用量"
      report={data}
      toLog={toLog}
      first={<Wallet team={team} />}
      ranks={(total) => (
        <>
          <MemberRanks report={data} total={total} toLog={toLog} />
          {data.projects.length === 0 ? null : <ProjectRanks report={data} total={total} toLog={toLog} />}
        </>
      )}
    />
  );
}

const COVERAGE = { site: "包括所有用户", own: "只含你自己", team: "由团队的钱包付费" } as const;

export function DashboardPage() {
  const [{ days, isSite }] = useView();
  const [offset] = useState(() => dayOffset(new Date()));
  const id = useTeam();
  const team = useTeams()?.find((one) => one.id === id);
  const covers = id !== 0 ? "team" : isSite ? "site" : "own";
  return (
    <Page
      lead={`${days === 1 ? "今天" : `最近 ${days} 天`}的花费与用量，${COVERAGE[covers]}，按本地日期统计。`}
      extra={<Switches />}
    >
      {covers === "site" ? <SiteBoard days={days} offset={offset} /> : null}
      {covers === "own" ? <OwnBoard days={days} offset={offset} /> : null}
      {team === undefined ? null : <TeamBoard key={id} team={team} days={days} offset={offset} />}
    </Page>
  );
}
