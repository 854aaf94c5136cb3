// A large payment that a super administrator vouched for is approved or refused by another one (requirements Y39).
import { CheckOutlined, CloseOutlined } from "@ant-design/icons";
import { Form, Input } from "antd";
import { type ReactNode, useState } from "react";
import { useCall } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { closing } from "#console/ui/closing.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { type PaymentEvent, paymentAdminApi } from "#contract/payment-admin.ts";
import { factsText } from "./words.ts";

const fields = paymentAdminApi.judgeManual.body.shape;

interface Choice {
  readonly event: PaymentEvent;
  readonly isApproved: boolean;
}

function SecondDialog({ event, isApproved, onClose }: Choice & { readonly onClose: () => void }) {
  const judge = useCall(
    paymentAdminApi.judgeManual,
    closing(
      [paymentAdminApi.orphans, paymentAdminApi.list, paymentAdminApi.detail],
      isApproved ? "补单已批准" : "补单已拒绝",
      onClose,
    ),
  );
  return (
    <FormDialog<{ reason: string }>
      title={isApproved ? "批准补单" : "拒绝补单"}
      width={520}
      okText="确认"
      isBusy={judge.isPending}
      initialValues={{ reason: "" }}
      onFinish={({ reason }) =>
        judge.mutate({ params: { id: event.id }, body: { is_approved: isApproved, reason } })
      }
      onClose={onClose}
    >
      <p className="tg-muted">{factsText(event.facts)}</p>
      <Form.Item
        name="reason"
        label="原因"
        extra={isApproved ? "批准后立即入账，记入操作审计。" : "记入操作审计。"}
        rules={[required, rule(fields.reason)]}
      >
        <Input maxLength={200} autoComplete="off" />
      </Form.Item>
    </FormDialog>
  );
}

/** What the viewer may do about an event that waits for another super administrator, and the dialog that is open. */
export function useSecond(): {
  readonly actionsOf: (event: PaymentEvent) => RowAction[];
  readonly dialog: ReactNode;
} {
  const [choice, choose] = useState<Choice>();
  const user = useUser();
  const actionsOf = (event: PaymentEvent): RowAction[] =>
    event.asked_by === 0 || event.asked_by === user?.id || !isRoot(user)
      ? []
      : [
          {
            key: "approve",
            permission: "money.adjust",
            label: "批准补单",
            icon: <CheckOutlined aria-hidden="true" />,
            onClick: () => choose({ event, isApproved: true }),
          },
          {
            key: "refuse",
            permission: "money.adjust",
            label: "拒绝补单",
            icon: <CloseOutlined aria-hidden="true" />,
            isDanger: true,
            onClick: () => choose({ event, isApproved: false }),
          },
        ];
  const dialog = choice ? <SecondDialog {...choice} onClose={() => choose(undefined)} /> : null;
  return { actionsOf, dialog };
}
