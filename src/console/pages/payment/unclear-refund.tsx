// The last word about a refund that the provider never gave: a super administrator looked there and says what is so (requirements Y34).
import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Modal, Radio } from "antd";
import { useState } from "react";
import { invalidate, useCall } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { moneyText } from "#contract/money.ts";
import { paymentAdminApi, type Refund } from "#contract/payment-admin.ts";

interface Given {
  readonly is_done: boolean;
  readonly reason: string;
}

const fields = paymentAdminApi.settleRefund.body.shape;

export interface UnclearRefundProps {
  readonly orderNo: string;
  readonly refund: Refund;
  readonly currency: string;
}

export function UnclearRefund({ orderNo, refund, currency }: UnclearRefundProps) {
  const [isOpen, setOpen] = useState(false);
  const [form] = Form.useForm<Given>();
  const client = useQueryClient();
  const isSuper = isRoot(useUser());
  const settle = useCall(paymentAdminApi.settleRefund, {
    onSuccess: () => {
      toast.success();
      void invalidate(client, [paymentAdminApi.detail, paymentAdminApi.list]);
      setOpen(false);
    },
  });
  const amount = moneyText(refund.amount_minor, currency);
  if (!isSuper)
    return <p className="tg-muted">{amount} 的退款结果不明，请超级管理员到支付平台核实后登记。</p>;
  const finish = ({ is_done, reason }: Given) =>
    settle.mutate({ params: { no: orderNo }, body: { refund_no: refund.refund_no, is_done, reason } });
  return (
    <div className="tg-payment-acts">
      <Button onClick={() => setOpen(true)}>登记 {amount} 的退款结果</Button>
      <Modal
        open={isOpen}
        title="登记退款结果"
        okText="确认"
        cancelText="取消"
        destroyOnHidden
        confirmLoading={settle.isPending}
        onOk={form.submit}
        onCancel={() => setOpen(false)}
      >
        <p className="tg-muted">
          支付平台没有给出明确的结果。请先在平台上按退款号 <code>{refund.refund_no}</code> 核实。
        </p>
        <p className="tg-muted">人工补单的订单，平台无法退款：请先把款项退给付款人。</p>
        <Form form={form} layout="vertical" initialValues={{ reason: "" }} onFinish={finish}>
          <Form.Item name="is_done" label="平台上的结果" rules={[required, rule(fields.is_done)]}>
            <Radio.Group
              options={[
                { value: true, label: `已退 ${amount}` },
                { value: false, label: "没有退款，把额度还给用户" },
              ]}
            />
          </Form.Item>
          <Form.Item
            name="reason"
            label="原因"
            extra="记入操作审计。"
            rules={[required, rule(fields.reason)]}
          >
            <Input maxLength={200} autoComplete="off" />
          </Form.Item>
        </Form>
      </Modal>
    </div>
  );
}
