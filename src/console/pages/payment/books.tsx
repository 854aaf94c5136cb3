// Reconciliation: the ledger's sum against all balances, what is set aside and how old, the audit chain, what each merchant account brought.

import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount, formatTime, relativeTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import {
  type BookMismatch,
  type Books,
  booksApi,
  type ComparedDay,
  type InstanceSums,
  type OpenReservation,
} from "#contract/books.ts";
import { moneyText } from "#contract/money.ts";
import "./payment.css";

function verdictOf({ difference, mismatch_count, chain }: Books): { isWhole: boolean; text: string } {
  const faults = [
    difference === 0 ? "" : `账本与余额相差 ${formatCount(difference)} 点`,
    mismatch_count === 0 ? "" : `${formatCount(mismatch_count)} 处余额与账本不符`,
    chain.broken_id === 0 ? "" : `审计记录第 ${chain.broken_id} 条被改动`,
  ].filter((fault) => fault !== "");
  return {
    isWhole: faults.length === 0,
    text: faults.length === 0 ? "账目一致。" : `${faults.join("，")}。`,
  };
}

function Totals({ books }: { readonly books: Books }) {
  const display = useQuotaDisplay();
  const amount = (quota: number) => (
    <span className="tg-books-amount">
      {formatCharge(quota, display)}
      <span className="tg-muted">（{formatCount(quota)} 点）</span>
    </span>
  );
  return (
    <Section title="额度" lead="账本是唯一依据：全部记录之和，减去进行中的预扣，必须等于全部用户的余额。">
      <Facts
        labelWidth={wide(116, 148)}
        facts={[
          ["账本合计", amount(books.entries)],
          ["进行中的预扣", amount(books.reserved)],
          ["用户余额合计", amount(books.balances)],
          ["差额", amount(books.difference)],
          books.debt > 0 && ["用户欠额合计", amount(books.debt)],
          [
            "操作审计",
            books.chain.broken_id === 0 ? `${formatCount(books.chain.checked)} 条记录完整` : "已被改动",
          ],
        ]}
      />
    </Section>
  );
}

function Mismatches({ rows }: { readonly rows: readonly BookMismatch[] }) {
  return (
    <Section title="不符之处">
      <Sheet<BookMismatch>
        label="不符之处"
        width={560}
        rowKey={({ table, id, column }) => `${table} ${id} ${column}`}
        rows={rows}
        columns={[
          { title: "表", dataIndex: "table" },
          { title: "ID", dataIndex: "id", align: "right" },
          { title: "列", dataIndex: "column" },
          { title: "现值", dataIndex: "stored", align: "right", render: formatCount },
          { title: "应为", dataIndex: "expected", align: "right", render: formatCount },
        ]}
      />
    </Section>
  );
}

function Open({ books }: { readonly books: Books }) {
  const display = useQuotaDisplay();
  const nowSec = books.checked_at;
  return (
    <Section
      title={`进行中的预扣（${formatCount(books.open_count)}）`}
      lead="最早的在前。进程中断后，它的预扣会在几秒内结清；长时间不变的请查看诊断日志。"
    >
      {books.open.length === 0 ? (
        <p className="tg-muted">现在没有进行中的调用。</p>
      ) : (
        <Sheet<OpenReservation>
          label="进行中的预扣"
          width={640}
          rowKey="request_id"
          rows={books.open}
          columns={[
            { title: "开始", dataIndex: "created_at", render: (at: number) => relativeTime(at, nowSec) },
            { title: "用户", dataIndex: "user_id", align: "right", render: (id: number) => `#${id}` },
            { title: "模型", dataIndex: "model_name" },
            {
              title: "预扣",
              dataIndex: "amount",
              align: "right",
              render: (quota: number) => formatCharge(quota, display),
            },
            { title: "请求 ID", dataIndex: "request_id", render: (id: string) => <code>{id}</code> },
          ]}
        />
      )}
    </Section>
  );
}

function Payments({ rows }: { readonly rows: readonly InstanceSums[] }) {
  const money = (minor: number, { currency }: InstanceSums) => moneyText(minor, currency);
  return (
    <Section title="收款" lead="按本系统的订单统计，可与各支付平台后台的账单核对。">
      <Sheet<InstanceSums>
        label="收款"
        width={640}
        rowKey="instance_id"
        rows={rows}
        columns={[
          { title: "收款渠道", dataIndex: "name" },
          { title: "已付订单", dataIndex: "orders", align: "right", render: formatCount },
          { title: "实收", dataIndex: "paid_minor", align: "right", render: money },
          { title: "退款", dataIndex: "refunded_minor", align: "right", render: money },
          { title: "拒付", dataIndex: "disputed_minor", align: "right", render: money },
          { title: "待处理", dataIndex: "in_review", align: "right", render: formatCount },
        ]}
      />
    </Section>
  );
}

const DAY_STATES = {
  compared: { tone: "good", label: "已核对" },
  later: { tone: "idle", label: "账单未出" },
  unclear: { tone: "warn", label: "将重试" },
} as const;

function DayState({ row }: { readonly row: ComparedDay }) {
  const isSame = row.brought + row.missing === 0;
  if (row.state === "compared" && !isSame) return <StatusTag tone="warn" label="有差异" />;
  return <StatusTag {...DAY_STATES[row.state]} />;
}

function Days({ rows }: { readonly rows: readonly ComparedDay[] }) {
  return (
    <Section
      title="每日核对"
      lead="每天把前一天的订单与支付平台的账单逐笔核对。平台多出的付款查实后入账或转为待处理，平台没有的转为待处理，并通知管理员。"
    >
      <Sheet<ComparedDay>
        label="每日核对"
        width={720}
        rowKey={({ instance_id, day }) => `${instance_id} ${day}`}
        rows={rows}
        columns={[
          { title: "日期", dataIndex: "day" },
          { title: "收款渠道", dataIndex: "name" },
          { title: "结果", render: (_, row) => <DayState row={row} /> },
          { title: "账单笔数", dataIndex: "listed", align: "right", render: formatCount },
          { title: "仅平台有", dataIndex: "brought", align: "right", render: formatCount },
          { title: "仅本系统有", dataIndex: "missing", align: "right", render: formatCount },
          { title: "核对时间", dataIndex: "compared_at", render: formatTime },
        ]}
      />
    </Section>
  );
}

export function BooksPage() {
  const { data, error, refetch, isFetching } = useQuery({
    ...query(booksApi.check, {}),
    meta: { silent: true },
  });
  const again = (
    <Button loading={isFetching} onClick={() => void refetch()}>
      重新核对
    </Button>
  );
  const lead = "系统每分钟自动核对一次，发现不符会通知管理员。打开本页时立即核对。";
  if (data === undefined)
    return (
      <Page title="对账" lead={lead} extra={again}>
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const { isWhole, text } = verdictOf(data);
  return (
    <Page title="对账" lead={lead} extra={again}>
      <Callout tone={isWhole ? "info" : "bad"}>
        {text}核对时间 {formatTime(data.checked_at)}。
      </Callout>
      <Totals books={data} />
      {data.mismatches.length === 0 ? null : <Mismatches rows={data.mismatches} />}
      <Open books={data} />
      {data.payments.length === 0 ? null : <Payments rows={data.payments} />}
      {data.days.length === 0 ? null : <Days rows={data.days} />}
    </Page>
  );
}
