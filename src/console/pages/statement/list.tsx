// The closed months of an account, and the way to the one that runs.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearchParams } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCharge } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TeamSwitch } from "#console/ui/team-switch.tsx";
import { type StatementHead, type StatementList, statementApi } from "#contract/statement.ts";
import { monthText } from "./words.ts";

/** Where a month of an account is read; 0 = one's own. */
function pathOf(month: string, team: number): string {
  return `/statement/${month}${team === 0 ? "" : `?team=${team}`}`;
}

function Months({ list, team }: { readonly list: StatementList; readonly team: number }) {
  const display = useQuotaDisplay();
  const amount = (quota: number) => formatCharge(quota, display);
  if (list.rows.length === 0)
    return <p className="tg-muted">还没有结账的月份。每月的账单在次月 1 日 01:00 以后生成。</p>;
  return (
    <Sheet<StatementHead>
      label="月度账单"
      width={620}
      rowKey="month"
      rows={list.rows}
      columns={[
        {
          title: "月份",
          dataIndex: "month",
          render: (month: string) => <Link to={pathOf(month, team)}>{monthText(month)}</Link>,
        },
        { title: "期初", dataIndex: "opening", align: "right", render: amount },
        { title: "收入", dataIndex: "income", align: "right", render: amount },
        { title: "消费", dataIndex: "spent", align: "right", render: amount },
        { title: "期末", dataIndex: "closing", align: "right", render: amount },
        { title: "账单号", dataIndex: "number", render: (text: string) => <code>{text}</code> },
      ]}
    />
  );
}

export function StatementListPage() {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const team = Number(params.get("team") ?? 0);
  const own = useQuery({ ...query(statementApi.list, {}), enabled: team === 0, meta: { silent: true } });
  const ofTeam = useQuery({
    ...query(statementApi.listOfTeam, { params: { id: team } }),
    enabled: team !== 0,
    meta: { silent: true },
  });
  const { data, error, refetch } = team === 0 ? own : ofTeam;
  return (
    <Page
      title={team === 0 ? "月度账单" : "团队账单"}
      lead="按北京时间分月，每一笔都来自账本：期初加各类合计等于期末。"
      extra={
        <>
          <TeamSwitch
            team={team}
            onChange={(next) => void navigate(next === 0 ? "/statement" : `/statement?team=${next}`)}
          />
          {data === undefined || data.open_month === "" ? null : (
            <LinkButton to={pathOf(data.open_month, team)}>本期至今</LinkButton>
          )}
        </>
      }
    >
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.is_pending === true ? <Callout tone="info">较新的月份正在结账，请稍后刷新。</Callout> : null}
      {data === undefined ? null : (
        <Section title="已结账的月份">
          <Months list={data} team={team} />
        </Section>
      )}
    </Page>
  );
}
