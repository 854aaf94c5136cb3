// The closed months of an account, and the way to the one that runs.
import { Link, useNavigate } from "react-router";
import { formatCharge } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TeamSwitch } from "#console/ui/team-switch.tsx";
import type { StatementHead, StatementList } from "#contract/statement.ts";
import { monthText } from "#contract/statement-words.ts";
import { statementPath, useMonths, useWhose, type Whose } from "./account.ts";

function Months({ list, whose }: { readonly list: StatementList; readonly whose: Whose }) {
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
          render: (month: string) => <Link to={statementPath(whose, month)}>{monthText(month)}</Link>,
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

const TITLES = { own: "月度账单", team: "团队账单", user: "用户账单" } as const;

export function StatementListPage() {
  const whose = useWhose();
  const navigate = useNavigate();
  const { data, error, refetch } = useMonths(whose);
  const title = TITLES[whose.kind];
  return (
    <Page
      title={whose.kind === "user" ? `${title} #${whose.id}` : title}
      lead="按北京时间分月，每一笔都来自账本：期初加各类合计等于期末。"
      extra={
        <>
          {whose.kind === "user" ? null : (
            <TeamSwitch
              team={whose.id}
              onChange={(id) => void navigate(statementPath({ kind: id === 0 ? "own" : "team", id }))}
            />
          )}
          {whose.kind === "own" ? <LinkButton to="/invoice">发票</LinkButton> : null}
          {data === undefined || data.open_month === "" ? null : (
            <LinkButton to={statementPath(whose, data.open_month)}>本期至今</LinkButton>
          )}
        </>
      }
    >
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.is_pending === true ? <Callout tone="info">较新的月份正在结账，请稍后刷新。</Callout> : null}
      {data === undefined ? null : (
        <Section title="已结账的月份">
          <Months list={data} whose={whose} />
        </Section>
      )}
    </Page>
  );
}
