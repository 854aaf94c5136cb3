// A payment that names no order of ours is credited to a user, by an administrator who knows whose it is (requirements Y21).
import { Form, Input } from "antd";
import { useCall } from "#console/base/call.ts";
import { closing } from "#console/ui/closing.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { type PaymentEvent, paymentAdminApi } from "#contract/payment-admin.ts";
import { factsText } from "./words.ts";

interface Given {
  readonly user_id: number;
  readonly reason: string;
}

const fields = paymentAdminApi.creditEvent.body.shape;

export interface OrphanDialogProps {
  readonly event: PaymentEvent;
  readonly onClose: () => void;
}

export function OrphanDialog({ event, onClose }: OrphanDialogProps) {
  const credit = useCall(
    paymentAdminApi.creditEvent,
    closing([paymentAdminApi.orphans, paymentAdminApi.list], "已入账", onClose),
  );
  return (
    <FormDialog<Given>
      title="入账给用户"
      width={520}
      okText="确认"
      isBusy={credit.isPending}
      initialValues={{ reason: "" }}
      onFinish={(given) => credit.mutate({ params: { id: event.id }, body: given })}
      onClose={onClose}
    >
      <p className="tg-muted">{factsText(event.facts)}</p>
      <Form.Item
        name="user_id"
        label="用户 ID"
        extra="按充值套餐换算额度：金额相同的套餐，否则按单价最高的套餐折算。"
        rules={[required, rule(fields.user_id)]}
      >
        <NumberInput min={1} precision={0} style={{ width: "100%" }} />
      </Form.Item>
      <Form.Item name="reason" label="原因" extra="记入操作审计。" rules={[required, rule(fields.reason)]}>
        <Input maxLength={200} autoComplete="off" />
      </Form.Item>
    </FormDialog>
  );
}
