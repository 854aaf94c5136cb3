// Invoices that users ask for, for administrators: what is to be issued, refused or reversed.

import { CheckOutlined, CloseOutlined } from "@ant-design/icons";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { toast } from "#console/base/toast.ts";
import { Facts } from "#console/ui/facts.tsx";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { stateOf } from "#console/ui/invoice-words.ts";
import { emptyOf, type FilterField, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { INVOICE_STATES, type Invoice, invoiceApi } from "#contract/invoice.ts";
import { BUYER_LABELS, KIND_LABELS, profileFacts } from "#contract/invoice-words.ts";

function State({ row }: CellProps<Invoice>) {
  return <StatusTag {...stateOf(row)} />;
}

const columns: readonly Column<Invoice>[] = [
  { key: "id", title: "编号", isFixed: true, width: 84, render: ({ id }) => `FP${id}` },
  { key: "state", title: "状态", isInHead: true, width: 96, cell: State },
  { key: "username", title: "用户", width: 120, shows: "text" },
  {
    key: "amount",
    title: "金额",
    isNumber: true,
    width: 130,
    render: ({ amount, currency }) => `${amount} ${currency}`,
  },
  {
    key: "kind",
    title: "类型",
    width: 140,
    render: ({ profile }) => `${BUYER_LABELS[profile.buyer]} ${KIND_LABELS[profile.kind]}`,
  },
  { key: "title", title: "抬头", width: 180, render: ({ profile }) => profile.title },
  { key: "number", title: "发票号码", width: 160, shows: "text", none: "—" },
  { key: "note", title: "说明", width: 160, shows: "text", none: "—", isGrowing: true },
  { key: "created_at", title: "申请时间", width: 172, shows: "time" },
];

interface Deciding {
  readonly verb: "issue" | "refuse" | "reverse";
  readonly row: Invoice;
}

const TITLES = { issue: "登记已开具", refuse: "驳回申请", reverse: "登记已红冲" } as const;

interface Values {
  readonly number: string;
  readonly link: string;
  readonly note: string;
}

function DecideDialog({ verb, row, onClose }: Deciding & { readonly onClose: () => void }) {
  const onSuccess = () => {
    toast.success();
    onClose();
  };
  const done = { invalidates: [invoiceApi.list], onSuccess };
  const issue = useCall(invoiceApi.issue, done);
  const refuse = useCall(invoiceApi.refuse, done);
  const reverse = useCall(invoiceApi.reverse, done);
  const params = { id: row.id };
  const send = ({ number, link, note }: Values) => {
    if (verb === "issue") issue.mutate({ params, body: { number, link, note } });
    else (verb === "refuse" ? refuse : reverse).mutate({ params, body: { note } });
  };
  return (
    <FormDialog<Values>
      title={`${TITLES[verb]}：FP${row.id}`}
      width={520}
      okText={TITLES[verb]}
      isBusy={issue.isPending || refuse.isPending || reverse.isPending}
      isDanger={verb !== "issue"}
      lead={
        <div style={{ marginBottom: 16 }}>
          {" "}
          <Facts
            labelWidth={wide(80, 110)}
            facts={[
              ["用户", row.username],
              ["金额", `${row.amount} ${row.currency}`],
              ...profileFacts(row.profile).map(({ label, text }): [string, string] => [label, text]),
            ]}
          />
        </div>
      }
      initialValues={{ number: "", link: "", note: "" }}
      onFinish={send}
      onClose={onClose}
    >
      {verb === "issue" ? (
        <>
          <TextField name="number" label="发票号码" rules={[filled]} maxLength={40} />
          <TextField
            name="link"
            label="文件链接"
            maxLength={500}
            placeholder="https://"
            extra="用户可以打开；不填则由您另行发送。"
          />
          <TextField name="note" label="说明" maxLength={200} placeholder="用户可以看到" />
        </>
      ) : (
        <TextField
          name="note"
          label={verb === "refuse" ? "原因" : "红字发票号码"}
          rules={[filled]}
          maxLength={200}
          placeholder="用户可以看到"
        />
      )}
    </FormDialog>
  );
}

const OPEN = "open";
const FIELDS: readonly FilterField[] = [
  {
    kind: "choice",
    name: "state",
    label: "选择状态",
    chip: "状态",
    width: 150,
    options: [
      { value: "", label: "全部状态" },
      { value: OPEN, label: "待开具与待红冲" },
      ...INVOICE_STATES.map((state) => ({
        value: state,
        label: stateOf({ state, must_reverse: false }).label,
      })),
    ],
  },
  { kind: "text", name: "user_id", label: "用户 ID", chip: "用户", isNumber: true },
];

export function Invoices() {
  const filters = useAddressFilters(FIELDS);
  const asked = filters.values["state"] ?? "";
  const wanted = {
    open: asked === OPEN,
    state: asked === OPEN ? "" : asked,
    user_id: Number(filters.values["user_id"] ?? 0),
  };
  const [deciding, setDeciding] = useState<Deciding>();
  const actions = (row: Invoice): RowAction[] => {
    const isOpen = row.state === "requested";
    const permission = "money.adjust";
    if (row.state === "issued")
      return [
        {
          key: "reverse",
          label: "登记红冲",
          icon: <CloseOutlined aria-hidden="true" />,
          isDanger: true,
          permission,
          onClick: () => setDeciding({ verb: "reverse", row }),
        },
      ];
    return [
      {
        key: "issue",
        label: "登记开具",
        icon: <CheckOutlined aria-hidden="true" />,
        isDisabled: !isOpen,
        permission,
        onClick: () => setDeciding({ verb: "issue", row }),
      },
      {
        key: "refuse",
        label: "驳回",
        icon: <CloseOutlined aria-hidden="true" />,
        isDanger: true,
        isDisabled: !isOpen,
        permission,
        onClick: () => setDeciding({ verb: "refuse", row }),
      },
    ];
  };
  return (
    <>
      <ResourceTable<Invoice>
        name="invoice"
        label="发票申请"
        filters={<ListFilters label="发票筛选" fields={FIELDS} {...filters} onChange={filters.change} />}
        load={({ p, size }) => query(invoiceApi.list, { query: { p, size, ...wanted } })}
        columns={columns}
        actions={actions}
        actionsWidth={wide(150, 184)}
        cardTitle={({ username, amount, currency }) => `${username} ${amount} ${currency}`}
        cardState={(row) => <State row={row} />}
        cardFacts={["kind", "title", "number", "created_at"]}
        empty={emptyOf(filters, { text: "还没有发票申请。有在线付款的用户可以在账单的“发票”中申请。" })}
      />
      {deciding === undefined ? null : <DecideDialog {...deciding} onClose={() => setDeciding(undefined)} />}
    </>
  );
}
