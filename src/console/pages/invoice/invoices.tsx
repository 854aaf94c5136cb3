// Invoices for users: what may be invoiced, whom it is made out to, what was asked for and what became of it.

import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { stateOf } from "#console/ui/invoice-words.ts";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { useTeam } from "#console/ui/team-context.ts";
import { type Invoice, type InvoiceSums, invoiceApi } from "#contract/invoice.ts";
import { AskForInvoice } from "./ask.tsx";
import "./invoices.css";

function Sums({ rows }: { readonly rows: readonly InvoiceSums[] }) {
  if (rows.length === 0)
    return <p className="tg-muted">还没有在线付款。用兑换码充值的金额请向售码方索取发票。</p>;
  return (
    <Sheet<InvoiceSums>
      label="可开票金额"
      width={460}
      rowKey="currency"
      rows={rows}
      columns={[
        { title: "币种", dataIndex: "currency" },
        {
          title: "可开票",
          dataIndex: "available",
          align: "right",
          render: (text: string) => <strong>{text}</strong>,
        },
        { title: "实付", dataIndex: "paid", align: "right" },
        { title: "退款", dataIndex: "refunded", align: "right" },
        { title: "已申请与已开", dataIndex: "invoiced", align: "right" },
      ]}
    />
  );
}

function Line({ row }: { readonly row: Invoice }) {
  const cancel = useCall(invoiceApi.cancel, { invalidates: [invoiceApi.desk] });
  const { id, amount, currency, profile, number, link, note, state, created_at } = row;
  return (
    <li className="tg-invoice-line">
      <div className="tg-invoice-head">
        <StatusTag {...stateOf(row)} />
        <strong>
          {amount} {currency}
        </strong>
        <span>{profile.title}</span>
        <span className="tg-muted">
          FP{id} · {formatTime(created_at)}
        </span>
        {state === "requested" ? (
          <ConfirmButton
            question="撤回这份开票申请？"
            confirmText="撤回"
            onConfirm={() => cancel.mutate({ params: { id } })}
          >
            撤回
          </ConfirmButton>
        ) : null}
      </div>
      {number === "" ? null : (
        <div>
          发票号码：<code>{number}</code>
          {link === "" ? null : (
            <>
              {" "}
              <a href={link} target="_blank" rel="noopener noreferrer">
                下载发票
              </a>
            </>
          )}
        </div>
      )}
      {note === "" ? null : <div className="tg-muted">{note}</div>}
    </li>
  );
}

export function InvoicePage() {
  const team = useTeam();
  const found = useQuery({ ...query(invoiceApi.desk, { query: { team_id: team } }), meta: { silent: true } });
  const [isAsking, setAsking] = useState(false);
  const desk = found.data;
  const may = desk?.sums.filter(({ available }) => available !== "0.00") ?? [];
  return (
    <Page
      title={team === 0 ? "发票" : "团队发票"}
      lead="为在线付款申请发票：不超过实付减去退款的金额，由管理员开具。"
      width="form"
      extra={
        <Button type="primary" disabled={may.length === 0} onClick={() => setAsking(true)}>
          申请开票
        </Button>
      }
    >
      {desk === undefined && found.isError ? (
        <FormState error={found.error} onRetry={() => void found.refetch()} />
      ) : null}
      {desk?.rows.some((row) => row.must_reverse) ? (
        <Callout tone="warn">有发票在开具之后发生了退款，将由管理员红冲；余下的金额可以重新申请。</Callout>
      ) : null}
      {desk === undefined ? null : (
        <>
          <Section title="可开票金额">
            <Sums rows={desk.sums} />
          </Section>
          <Section title="申请记录">
            {desk.rows.length === 0 ? (
              <p className="tg-muted">还没有申请过发票。</p>
            ) : (
              <ul className="tg-invoice-lines">
                {desk.rows.map((row) => (
                  <Line key={row.id} row={row} />
                ))}
              </ul>
            )}
          </Section>
        </>
      )}
      {isAsking && desk !== undefined ? (
        <AskForInvoice team={team} profile={desk.profile} sums={may} onClose={() => setAsking(false)} />
      ) : null}
    </Page>
  );
}
