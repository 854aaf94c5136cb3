// One month of an account: what there was, what was added and spent, what is left; printed, it is the statement on paper.

import { DownloadOutlined, PrinterOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useParams } from "react-router";
import { downloadText } from "#console/base/download.ts";
import { formatCharge, formatCount, formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { moneyText } from "#contract/money.ts";
import type { Statement, StatementUsage } from "#contract/statement.ts";
import { kindText, monthText, tokenText } from "#contract/statement-words.ts";
import { useMonth, usePdf, useWhose, type Whose } from "./account.ts";
import { statementCsv } from "./words.ts";

function useAmount(): (quota: number) => string {
  const display = useQuotaDisplay();
  return (quota) => formatCharge(quota, display);
}

function Account({ statement }: { readonly statement: Statement }) {
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
          [isClosed ? "结账时间" : "截至", formatTime(created_at)],
          ["账本记录", from_row === to_row ? "无" : `#${from_row} 之后，至 #${to_row}`],
          isClosed && [
            "审计链",
            <code key="trail" className="tg-code">
              {trail_hash === "" ? "无" : trail_hash.slice(0, 16)}
            </code>,
          ],
        ]}
      />
    </Section>
  );
}

interface Line {
  readonly name: string;
  readonly entries: number | undefined;
  readonly quota: number;
}

function Sums({ statement }: { readonly statement: Statement }) {
  const amount = useAmount();
  const lines: Line[] = [
    { name: "期初", entries: undefined, quota: statement.opening },
    ...statement.sums.map(({ kind, entries, quota }) => ({ name: kindText(kind), entries, quota })),
    { name: "期末", entries: undefined, quota: statement.closing },
  ];
  return (
    <Section title="额度">
      <Sheet<Line>
        label="额度"
        width={300}
        rowKey="name"
        rows={lines}
        columns={[
          {
            title: "项目",
            dataIndex: "name",
            render: (name: string, { entries }) => (entries === undefined ? <strong>{name}</strong> : name),
          },
          {
            title: "笔数",
            dataIndex: "entries",
            align: "right",
            render: (entries: number | undefined) => (entries === undefined ? "" : formatCount(entries)),
          },
          { title: "金额", dataIndex: "quota", align: "right", render: amount },
          { title: "点数", key: "points", align: "right", render: (_, { quota }) => formatCount(quota) },
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

function Usage({ rows }: { readonly rows: readonly StatementUsage[] }) {
  const amount = useAmount();
  const hasPlans = rows.some(({ plan_quota }) => plan_quota > 0);
  const hasShortfall = rows.some(({ shortfall }) => shortfall > 0);
  const quota = (title: string, dataIndex: keyof StatementUsage) =>
    ({ title, dataIndex, align: "right", render: amount }) as const;
  return (
    <Section title="用量" lead={hasPlans ? "套餐支付的部分不计入余额的消费。" : undefined}>
      {rows.length === 0 ? (
        <p className="tg-muted">本期没有调用。</p>
      ) : (
        <Sheet<StatementUsage>
          label="用量"
          width={400}
          rowKey={({ token_id, model_name }) => `${token_id} ${model_name}`}
          rows={rows}
          columns={[
            { title: "令牌", key: "token", render: (_, row) => tokenText(row) },
            { title: "模型", dataIndex: "model_name" },
            ...(rows.some(({ tags }) => tags !== "")
              ? [{ title: "标签", dataIndex: "tags", render: (tags: string) => tags.replaceAll(",", "、") }]
              : []),
            { title: "次数", dataIndex: "calls", align: "right", render: formatCount },
            quota("消费", "quota"),
            ...(hasPlans ? [quota("套餐", "plan_quota")] : []),
            ...(hasShortfall ? [quota("少收", "shortfall")] : []),
          ]}
        />
      )}
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
          { title: "补全", dataIndex: "completion_tokens", align: "right", render: formatCount },
        ]}
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
        onClick={() => downloadText({ name, text: statementCsv(statement), type: "text/csv" })}
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
  return (
    <Page title={title} width="form" extra={<Acts statement={data} whose={whose} />}>
      {data.number === "" ? (
        <Callout tone="info">本期还没有结账，以下是至今的合计。次月 1 日 01:00 结账，之后不再变动。</Callout>
      ) : null}
      <Account statement={data} />
      <Sums statement={data} />
      <Money rows={data.payments} />
      <Usage rows={data.usage} />
      <Tokens rows={data.tokens} />
    </Page>
  );
}
