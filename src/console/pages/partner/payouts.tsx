// What the plan owes a user, what of it can be paid out now, and what was asked for.
import { useQuery } from "@tanstack/react-query";
import { Button, Form, type FormRule, Select } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { closing } from "#console/ui/closing.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { usePartnerTerms } from "#console/ui/partner-terms.ts";
import { stateOf, WAY_LABELS } from "#console/ui/payout-words.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import {
  accountFault,
  PAYOUT_WAYS,
  type Payout,
  type PayoutDesk,
  type PayoutDraft,
  type PayoutWay,
  payoutApi,
} from "#contract/payout.ts";
import { microOf } from "#contract/yuan.ts";
import { payoutText } from "./rules.ts";
import "./payouts.css";

/** What can be paid out now. */
function between({ least, available }: PayoutDesk): FormRule {
  return {
    validator: async (_field, value: string) => {
      const micro = microOf(value.trim());
      const isIn =
        micro !== undefined && micro >= (microOf(least) ?? 0n) && micro <= (microOf(available) ?? 0n);
      if (value !== "" && !isIn) throw new Error(`金额须在 ${least} 到 ${available} 元之间`);
    },
  };
}

function fitting(way: PayoutWay): FormRule {
  return {
    validator: async (_field, value: string) => {
      const fault = value === "" ? undefined : accountFault(way, value.trim());
      if (fault !== undefined) throw new Error(fault);
    },
  };
}

function AskForPayout({ desk, onClose }: { readonly desk: PayoutDesk; readonly onClose: () => void }) {
  const [form] = Form.useForm<PayoutDraft>();
  const way = Form.useWatch("way", form) ?? "alipay";
  const ask = useCall(payoutApi.ask, closing([payoutApi.desk], "已提交，审核约需 24 小时", onClose));
  return (
    <FormDialog
      form={form}
      title="申请提现"
      width={440}
      okText="提交申请"
      isBusy={ask.isPending}
      initialValues={{ amount: desk.available, way: "alipay", account: "", name: "" }}
      onFinish={(body) => ask.mutate({ body })}
      onClose={onClose}
    >
      <TextField
        name="amount"
        label="金额"
        prefix="¥"
        inputMode="decimal"
        rules={[filled, between(desk)]}
        extra={`不少于 ${desk.least} 元，现在最多 ${desk.available} 元。`}
      />
      <Form.Item name="way" label="收款方式">
        <Select options={PAYOUT_WAYS.map((value) => ({ value, label: WAY_LABELS[value] }))} />
      </Form.Item>
      <TextField
        name="account"
        label={way === "alipay" ? "支付宝账号" : "收款地址"}
        rules={[filled, fitting(way)]}
        maxLength={120}
        extra={way === "alipay" ? "手机号或邮箱。" : "请核对网络与地址，转出后无法追回。"}
      />
      <TextField name="name" label="收款人姓名" rules={[filled]} maxLength={40} />
    </FormDialog>
  );
}

function Asked({ row }: { readonly row: Payout }) {
  const cancel = useCall(payoutApi.cancel, { invalidates: [payoutApi.desk] });
  return (
    <li className="tg-payout-line">
      <StatusTag {...stateOf(row)} />
      <strong>¥{row.amount}</strong>
      <span className="tg-muted">
        {WAY_LABELS[row.way]} {row.account}
      </span>
      <time className="tg-muted">{formatTime(row.created_at)}</time>
      {row.note === "" ? null : <span className="tg-payout-note">{row.note}</span>}
      {row.state === "requested" ? (
        <ConfirmButton
          question="撤回这笔提现申请？"
          confirmText="撤回"
          onConfirm={() => cancel.mutate({ params: { id: row.id } })}
        >
          撤回
        </ConfirmButton>
      ) : null}
    </li>
  );
}

function canAsk({ available, least, rows }: PayoutDesk): boolean {
  const hasOpen = rows.some(({ state }) => state === "requested" || state === "paying");
  return !hasOpen && (microOf(available) ?? 0n) >= (microOf(least) ?? 0n);
}

export function MyPayouts() {
  const found = useQuery({ ...query(payoutApi.desk, {}), meta: { silent: true } });
  const [isAsking, setAsking] = useState(false);
  const desk = found.data;
  const { least_withdrawal: least } = usePartnerTerms();
  if (desk === undefined && found.isError)
    return <FormState error={found.error} onRetry={() => void found.refetch()} />;
  return (
    <>
      <div className="tg-partner-sum">
        {desk === undefined ? <span className="tg-bone" /> : `¥${desk.balance || "0"}`}
      </div>
      {desk === undefined || desk.held === "0" ? null : (
        <p className="tg-muted">
          其中 ¥{desk.held} 来自最近 {desk.hold_days} 天的在线付款，到期后可以提现；付款退款时相应收回。
        </p>
      )}
      {desk === undefined || desk.owed === "0" ? null : (
        <p className="tg-payout-owed">
          邀请的用户退款后，尚有 ¥{desk.owed} 返现未能收回，从以后的返现中抵扣，不动账户余额。
        </p>
      )}
      <p className="tg-muted">
        {payoutText(least)}
        {desk === undefined ? null : `现在可提现 ¥${desk.available}。`}
      </p>
      <Button
        className="tg-payout-ask"
        type="primary"
        disabled={desk === undefined || !canAsk(desk)}
        onClick={() => setAsking(true)}
      >
        申请提现
      </Button>
      {desk === undefined || desk.rows.length === 0 ? null : (
        <ul className="tg-payout-lines" aria-label="提现申请">
          {desk.rows.map((row) => (
            <Asked key={row.id} row={row} />
          ))}
        </ul>
      )}
      {isAsking && desk !== undefined ? <AskForPayout desk={desk} onClose={() => setAsking(false)} /> : null}
    </>
  );
}
