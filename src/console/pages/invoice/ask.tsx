// Asks for an invoice: how much, and whom it is made out to; the last answer is filled in.
import { Form, Select } from "antd";
import { useCall } from "#console/base/call.ts";
import { closing } from "#console/ui/closing.ts";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import {
  BUYERS,
  hasRightCheckDigit,
  INVOICE_KINDS,
  type InvoiceDesk,
  type InvoiceProfile,
  type InvoiceSums,
  invoiceApi,
} from "#contract/invoice.ts";
import { BUYER_LABELS, KIND_LABELS } from "#contract/invoice-words.ts";

type Values = InvoiceProfile & { readonly currency: InvoiceSums["currency"]; readonly amount: string };

export interface AskForInvoiceProps {
  /** Whose payments they are of; 0 = one's own. */
  readonly team: number;
  readonly profile: InvoiceDesk["profile"];
  /** Those of which something is left; at least one. */
  readonly sums: readonly InvoiceSums[];
  readonly onClose: () => void;
}

export function AskForInvoice({ team, profile, sums, onClose }: AskForInvoiceProps) {
  const [form] = Form.useForm<Values>();
  const [first] = sums;
  const currency = Form.useWatch("currency", form) ?? first?.currency ?? "CNY";
  const buyer = Form.useWatch("buyer", form) ?? profile.buyer;
  const kind = Form.useWatch("kind", form) ?? profile.kind;
  const taxNumber = Form.useWatch("tax_number", form) ?? "";
  const available = sums.find((row) => row.currency === currency)?.available ?? "0.00";
  const isCompany = buyer === "company";
  const isSpecial = isCompany && kind === "special";
  const ask = useCall(invoiceApi.ask, closing([invoiceApi.desk], "已提交，开具后可在此查看", onClose));
  const send = ({ currency: of, amount, ...rest }: Values) =>
    ask.mutate({
      body: {
        team_id: team,
        currency: of,
        amount,
        profile: { ...profile, ...rest, kind: isCompany ? rest.kind : "normal" },
      },
    });
  const needed = isSpecial ? [filled] : [];
  return (
    <FormDialog
      form={form}
      title="申请开票"
      width={520}
      okText="提交申请"
      isBusy={ask.isPending}
      initialValues={{ ...profile, currency: first?.currency ?? "CNY", amount: first?.available ?? "" }}
      onFinish={send}
      onClose={onClose}
    >
      <Form.Item name="currency" label="币种" hidden={sums.length < 2}>
        <Select options={sums.map((row) => ({ value: row.currency, label: row.currency }))} />
      </Form.Item>
      <TextField
        name="amount"
        label="金额"
        prefix={currency}
        inputMode="decimal"
        rules={[filled]}
        extra={`现在最多 ${available}。`}
      />
      <Form.Item name="buyer" label="购买方">
        <Select options={BUYERS.map((value) => ({ value, label: BUYER_LABELS[value] }))} />
      </Form.Item>
      <Form.Item name="kind" label="发票类型" hidden={!isCompany}>
        <Select options={INVOICE_KINDS.map((value) => ({ value, label: KIND_LABELS[value] }))} />
      </Form.Item>
      <TextField name="title" label="抬头" rules={[filled]} maxLength={100} />
      <TextField
        name="tax_number"
        label="税号"
        rules={isCompany ? [filled] : []}
        maxLength={20}
        extra={
          hasRightCheckDigit(taxNumber.trim().toUpperCase())
            ? "15、17、18 或 20 位。"
            : "最后一位校验不符，请核对；旧税号可以照常提交。"
        }
      />
      <TextField name="address" label="地址" rules={needed} maxLength={200} />
      <TextField name="telephone" label="电话" rules={needed} maxLength={40} />
      <TextField name="bank_name" label="开户行" rules={needed} maxLength={100} />
      <TextField name="bank_account" label="银行账号" rules={needed} maxLength={50} />
      <TextField name="mail" label="接收邮箱" maxLength={200} extra="管理员可以把发票文件发到这里。" />
    </FormDialog>
  );
}
