// One month of an account: what there was, what was added and spent, what is left; printed, it is the statement on paper.

import { DownloadOutlined, PrinterOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useParams } from "react-router";
import { downloadText } from "#console/base/download.ts";
import { formatCount } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { Callout } from "#console/ui/callout.tsx";
import { type Fact, Facts } from "#console/ui/facts.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { profileFacts } from "#contract/invoice-words.ts";
import { moneyText } from "#contract/money.ts";
import { beijingTime } from "#contract/month.ts";
import type { Statement } from "#contract/statement.ts";
import { displayOf, missingInSums, moneyOf, type StatementMoney } from "#contract/statement-money.ts";
import { kindText, monthText } from "#contract/statement-words.ts";
import { useMonth, usePdf, useWhose, type Whose } from "./account.ts";
import { Usage, UsageByTag } from "./usage.tsx";
import { statementCsv } from "./words.ts";

/** An amount in words: in money where the operator shows it, else in units. */
function amountText(quota: number, money: StatementMoney | undefined): string {
  return money === undefined ? `${formatCount(quota)} 点` : money.textOf(quota);
}

interface PartProps {
  readonly statement: Statement;
  readonly money: StatementMoney | undefined;
}

function Account({ statement, money }: PartProps) {
  const { number, account_name, account_id, is_team, from_row, to_row, trail_hash, created_at } = statement;
  const isClosed = number !== "";
  return (
    <Section title="账单">
      <Facts
        labelWidth={wide(96, 120)}
        facts={[
          isClosed && ["账单号", <code key="number">{number}</code>],
          [is_team ? "团队" : "户名", `${account_name}（#${account_id}）`],
          ["账期", `${monthText(statement.month)}（北京时间）`],
          [isClosed ? "结账时间" : "截至", `${beijingTime(created_at)}（北京时间）`],
          ["账本记录", from_row === to_row ? "无" : `#${from_row} 之后，至 #${to_row}`],
          isClosed && [
            "审计链",
            <code key="trail" className="tg-code">
              {trail_hash === "" ? "无" : trail_hash.slice(0, 16)}
            </code>,
          ],
          statement.debt > 0 && ["欠额", `${amountText(statement.debt, money)}，由以后的入账先抵扣`],
        ]}
      />
    </Section>
  );
}

interface Line {
  readonly name: string;
  readonly isSum: boolean;
  readonly entries: number | undefined;
  readonly money: string;
  /** undefined = it has money only. */
  readonly quota: number | undefined;
}

function sumLines({ statement, money }: PartProps): readonly Line[] {
  const { opening, closing, sums } = statement;
  const amounts = (quota: number) => ({ money: amountText(quota, money), quota });
  const missing = money === undefined ? 0n : missingInSums(money, statement);
  return [
    { name: "期初", isSum: true, entries: undefined, ...amounts(opening) },
    ...sums.map(({ kind, entries, quota }) => ({
      ...{ name: kindText(kind), isSum: false, entries },
      ...amounts(quota),
    })),
    ...(money === undefined || missing === 0n
      ? []
      : [
          {
            ...{ name: "四舍五入差", isSum: false, entries: undefined },
            ...{ money: money.text(missing), quota: undefined },
          },
        ]),
    { name: "期末", isSum: true, entries: undefined, ...amounts(closing) },
  ];
}

function Sums({ statement, money }: PartProps) {
  const count = (value: number | undefined) => (value === undefined ? "" : formatCount(value));
  return (
    <Section title="额度">
      <Sheet<Line>
        label="额度"
        width={300}
        rowKey="name"
        rows={sumLines({ statement, money })}
        columns={[
          {
            title: "项目",
            dataIndex: "name",
            render: (name: string, { isSum }) => (isSum ? <strong>{name}</strong> : name),
          },
          { title: "笔数", dataIndex: "entries", align: "right", render: count },
          ...(money === undefined ? [] : [{ title: "金额", dataIndex: "money", align: "right" as const }]),
          { title: "点数", dataIndex: "quota", align: "right", render: count },
        ]}
      />
    </Section>
  );
}

function Money({ rows }: { readonly rows: Statement["payments"] }) {
  if (rows.length === 0) return null;
  return (
    <Section title="收款" lead="本期入账的付款与完成的退款。">
      <Sheet<Statement["payments"][number]>
        label="收款"
        width={300}
        rowKey={({ instance_id, currency }) => `${instance_id} ${currency}`}
        rows={rows}
        columns={[
          { title: "支付渠道", dataIndex: "name", render: (name: string) => name || "—" },
          {
            title: "实收",
            dataIndex: "paid_minor",
            align: "right",
            render: (minor: number, { currency }) => moneyText(minor, currency),
          },
          {
            title: "退款与拒付",
            dataIndex: "refunded_minor",
            align: "right",
            render: (minor: number, { currency }) => moneyText(minor, currency),
          },
        ]}
      />
    </Section>
  );
}

function Tokens({ rows }: { readonly rows: Statement["tokens"] }) {
  if (rows.length === 0) return null;
  return (
    <Section title="各模型的 Token">
      <Sheet<Statement["tokens"][number]>
        label="各模型的 Token"
        width={300}
        rowKey="model_name"
        rows={rows}
        columns={[
          { title: "模型", dataIndex: "model_name" },
          { title: "提示", dataIndex: "prompt_tokens", align: "right", render: formatCount },
          { title: "其中缓存", dataIndex: "cached_tokens", align: "right", render: formatCount },
          { title: "补全", dataIndex: "completion_tokens", align: "right", render: formatCount },
        ]}
      />
    </Section>
  );
}

function Buyer({ buyer }: Pick<Statement, "buyer">) {
  if (buyer === null) return null;
  return (
    <Section title="发票抬头" lead="开具发票时使用的抬头，取自“发票”页，结账后不再变动。">
      <Facts
        labelWidth={wide(96, 120)}
        facts={profileFacts(buyer).map(({ label, text }): Fact => [label, text])}
      />
    </Section>
  );
}

function Acts({ statement, whose }: { readonly statement: Statement; readonly whose: Whose }) {
  const pdf = usePdf(whose, statement.month);
  const of = { own: "", team: `-团队${whose.id}`, user: `-用户${whose.id}` }[whose.kind];
  const name = `账单-${statement.month}${of}.csv`;
  return (
    <>
      <Button icon={<DownloadOutlined aria-hidden="true" />} loading={pdf.isBusy} onClick={pdf.get}>
        下载 PDF
      </Button>
      <Button
        icon={<DownloadOutlined aria-hidden="true" />}
        onClick={() =>
          downloadText({ name, text: statementCsv(statement, displayOf(statement)), type: "text/csv" })
        }
      >
        导出 CSV
      </Button>
      <Button icon={<PrinterOutlined aria-hidden="true" />} onClick={() => window.print()}>
        打印
      </Button>
    </>
  );
}

const TITLES = { own: "账单", team: "团队账单", user: "用户账单" } as const;

export function StatementPage() {
  const { month = "" } = useParams();
  const whose = useWhose();
  const { data, error, refetch } = useMonth(whose, month);
  const title = `${TITLES[whose.kind]} ${monthText(month)}`;
  if (data === undefined)
    return (
      <Page title={title} width="form">
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const money = moneyOf(data, displayOf(data));
  return (
    <Page title={title} width="form" extra={<Acts statement={data} whose={whose} />}>
      {data.number === "" ? (
        <Callout tone="info">本期还没有结账，以下是至今的合计。次月 1 日 01:00 结账，之后不再变动。</Callout>
      ) : null}
      <Account statement={data} money={money} />
      <Buyer buyer={data.buyer} />
      <Sums statement={data} money={money} />
      <Money rows={data.payments} />
      <Usage rows={data.usage} money={money} />
      <UsageByTag rows={data.usage} money={money} />
      <Tokens rows={data.tokens} />
    </Page>
  );
}
