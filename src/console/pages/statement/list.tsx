// The closed months of an account, and the way to the one that runs.
import { Link } from "react-router";
import { formatCount } from "#console/base/format.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { mayIn, usePathHere, useTeams } from "#console/ui/team-context.ts";
import type { StatementHead, StatementList } from "#contract/statement.ts";
import { StatementMoney } from "#contract/statement-money.ts";
import { monthText } from "#contract/statement-words.ts";
import { statementPath, useMonths, useWhose, type Whose } from "./account.ts";

/** Each month's amounts as it was closed: in money at the price of a dollar of then, with the decimals at which they add up. */
function amountsOf(rows: readonly StatementHead[]): (quota: number, row: StatementHead) => string {
  const money = new Map<number, StatementMoney>();
  for (const unit of new Set(rows.map(({ quota_per_unit }) => quota_per_unit))) {
    const of = rows.filter(({ quota_per_unit }) => quota_per_unit === unit);
    const amounts = of.flatMap((row) => [row.opening, row.income, row.spent, row.closing]);
    money.set(unit, new StatementMoney(amounts, unit));
  }
  return (quota, { in_currency, quota_per_unit }) =>
    (in_currency ? money.get(quota_per_unit)?.textOf(quota) : undefined) ?? formatCount(quota);
}

function Months({ list, whose }: { readonly list: StatementList; readonly whose: Whose }) {
  const amount = amountsOf(list.rows);
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
  const { data, error, refetch } = useMonths(whose);
  const title = TITLES[whose.kind];
  const here = usePathHere();
  const team = useTeams()?.find(({ id }) => whose.kind === "team" && id === whose.id);
  const mayInvoice = whose.kind === "own" || (team !== undefined && mayIn(team, "invoice"));
  return (
    <Page
      title={whose.kind === "user" ? `${title} #${whose.id}` : title}
      lead="按北京时间分月，每一笔都来自账本：期初加各类合计等于期末。"
      extra={
        <>
          {mayInvoice ? <LinkButton to={here("/invoice")}>发票</LinkButton> : null}
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
