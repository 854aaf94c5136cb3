// Payouts that users ask for, for administrators: what is open, pay or refuse, and the list for a bank run.

import { CheckOutlined, CloseOutlined, DownloadOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { downloadText } from "#console/base/download.ts";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { payoutsCsv, stateOf, WAY_LABELS } from "#console/ui/payout-words.ts";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type Payout, payoutApi } from "#contract/payout.ts";

function State({ row }: CellProps<Payout>) {
  return <StatusTag {...stateOf(row)} />;
}

/** What is asked for, and what its user owes: so much of the balance is not paid out. */
function Amount({ row }: CellProps<Payout>) {
  return (
    <>
      ¥{row.amount}
      {row.owed === "0" ? null : <div className="tg-muted">欠返现 ¥{row.owed}</div>}
    </>
  );
}

const columns: readonly Column<Payout>[] = [
  { key: "id", title: "编号", isFixed: true, width: 84, render: ({ id }) => `TX${id}` },
  { key: "state", title: "状态", isInHead: true, width: 96, cell: State },
  { key: "username", title: "用户", width: 110, shows: "text" },
  { key: "amount", title: "金额", isNumber: true, width: 104, cell: Amount },
  { key: "way", title: "方式", width: wide(96, 130), render: ({ way }) => WAY_LABELS[way] },
  { key: "account", title: "收款账号", width: 140, shows: "text", none: "已删除" },
  { key: "name", title: "收款人", width: 100, shows: "text", none: "已删除" },
  { key: "note", title: "说明", width: 110, shows: "text", none: "—", isGrowing: true },
  { key: "created_at", title: "申请时间", width: 172, shows: "time" },
];

interface Deciding {
  readonly verb: "pay" | "reject";
  readonly row: Payout;
}

function DecideDialog({ verb, row, onClose }: Deciding & { readonly onClose: () => void }) {
  const invalidates = [payoutApi.list];
  const pay = useCall(payoutApi.pay, {
    invalidates,
    onSuccess: (rest) => {
      toast.success(`已登记支付，剩余返现余额 ¥${rest}`);
      onClose();
    },
  });
  const reject = useCall(payoutApi.reject, { invalidates, onSuccess: onClose });
  const send = ({ note }: { note: string }) =>
    (verb === "pay" ? pay : reject).mutate({ params: { id: row.id }, body: { note: note.trim() } });
  const isPay = verb === "pay";
  return (
    <FormDialog<{ note: string }>
      title={`${isPay ? "登记已支付" : "驳回提现"}：${row.username}`}
      width={440}
      okText={isPay ? "确认已支付" : "确认驳回"}
      isBusy={pay.isPending || reject.isPending}
      isDanger={!isPay}
      lead={
        <p>
          <strong>¥{row.amount}</strong>，{WAY_LABELS[row.way]} {row.account} {row.name}
          {isPay ? "。请先完成付款，再在此登记；登记后从返现余额中扣除。" : "。余额不变，用户可以重新申请。"}
        </p>
      }
      initialValues={{ note: "" }}
      onFinish={send}
      onClose={onClose}
    >
      <TextField
        name="note"
        label={isPay ? "凭据" : "原因"}
        rules={[filled]}
        maxLength={200}
        placeholder={isPay ? "例如：支付宝流水号，或链上交易哈希" : "用户可以看到"}
      />
    </FormDialog>
  );
}

function ExportButton() {
  const save = useCall(payoutApi.export, {
    onSuccess: (rows) => {
      if (rows.length === 0) return toast.warning("没有待处理的提现申请");
      const name = `提现-${formatTime(Math.floor(Date.now() / 1000)).slice(0, 10)}.csv`;
      downloadText({ name, text: payoutsCsv(rows), type: "text/csv" });
      return toast.success(`已导出 ${rows.length} 笔，导出已写入操作审计`);
    },
  });
  return (
    <Button
      icon={<DownloadOutlined aria-hidden="true" />}
      loading={save.isPending}
      onClick={() => save.mutate({})}
    >
      导出待处理
    </Button>
  );
}

export function Payouts() {
  const [deciding, setDeciding] = useState<Deciding>();
  const actions = (row: Payout): RowAction[] => {
    const isOpen = row.state === "requested" || row.state === "paying";
    return [
      {
        key: "pay",
        permission: "money.withdraw",
        label: "登记支付",
        icon: <CheckOutlined aria-hidden="true" />,
        isDisabled: !isOpen,
        onClick: () => setDeciding({ verb: "pay", row }),
      },
      {
        key: "reject",
        permission: "money.withdraw",
        label: "驳回",
        icon: <CloseOutlined aria-hidden="true" />,
        isDanger: true,
        isDisabled: row.state !== "requested",
        onClick: () => setDeciding({ verb: "reject", row }),
      },
    ];
  };
  return (
    <>
      <ResourceTable<Payout>
        name="payout"
        label="提现申请"
        load={({ p, size }) => query(payoutApi.list, { query: { p, size, open: false } })}
        columns={columns}
        actions={actions}
        actionsWidth={wide(150, 184)}
        filters={useMay("money.withdraw") ? <ExportButton /> : null}
        cardTitle={({ username, amount }) => `${username} ¥${amount}`}
        cardState={(row) => <State row={row} />}
        cardFacts={["amount", "way", "account", "name", "created_at"]}
        empty={{ text: "还没有提现申请。有返现余额的用户可以在推广计划页申请。" }}
      />
      {deciding === undefined ? null : <DecideDialog {...deciding} onClose={() => setDeciding(undefined)} />}
    </>
  );
}
