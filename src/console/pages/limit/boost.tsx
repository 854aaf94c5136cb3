// Raises a limit for a while, with a reason; it ends by itself, or here.
import { Button, DatePicker, Form, Modal } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import type { Endpoint } from "#contract/endpoint.ts";
import { type Limit, LimitBoost, limitApi } from "#contract/limit.ts";
import { isOfQuota, subjectText, UNITS, whatText } from "./words.ts";

interface Values {
  readonly amount: number | null;
  readonly until: Dayjs | null;
  readonly reason: string;
}

export interface BoostDialogProps {
  readonly limit: Limit;
  readonly lists: readonly Endpoint[];
  readonly onClose: () => void;
}

export function BoostDialog({ limit, lists, onClose }: BoostDialogProps) {
  const isRaised = limit.boost_until > Date.now() / 1_000;
  const boost = useCall(limitApi.boost, {
    invalidates: lists,
    onSuccess: () => {
      toast.success(isRaised ? "已结束临时提高" : "限额已临时提高");
      onClose();
    },
  });
  const params = { id: limit.id };
  const send = ({ amount, until, reason }: Values) =>
    boost.mutate({ params, body: { amount: amount ?? 0, until: until?.unix() ?? 0, reason: reason.trim() } });
  const title = `临时提高：${subjectText(limit)} ${whatText(limit)}`;
  if (isRaised)
    return (
      <Modal
        open
        title={title}
        width={480}
        onCancel={onClose}
        footer={
          <>
            <Button onClick={onClose}>取消</Button>
            <Button
              danger
              loading={boost.isPending}
              onClick={() => boost.mutate({ params, body: { amount: 0, until: 0, reason: "提前结束" } })}
            >
              立即结束
            </Button>
          </>
        }
      >
        已临时提高至 {formatTime(limit.boost_until)}，原因：{limit.boost_reason}。到期自动恢复。
      </Modal>
    );
  return (
    <FormDialog<Values>
      title={title}
      width={480}
      okText="提高"
      isBusy={boost.isPending}
      validateTrigger="onBlur"
      initialValues={{ amount: null, until: dayjs().add(1, "day").millisecond(0), reason: "" }}
      onFinish={send}
      onClose={onClose}
    >
      <Form.Item
        name="amount"
        label="增加"
        extra="加在原限额之上。"
        rules={[required, rule(LimitBoost.shape.amount.min(1, "须大于 0"))]}
      >
        {isOfQuota(limit.kind) ? (
          <QuotaField amounts="set" />
        ) : (
          <NumberInput min={1} precision={0} suffix={UNITS[limit.kind]} className="tg-count-field" />
        )}
      </Form.Item>
      <Form.Item name="until" label="截止时间" rules={[{ required: true, message: "请选择截止时间" }]}>
        <DatePicker showTime format="YYYY-MM-DD HH:mm:ss" className="tg-wide" />
      </Form.Item>
      <TextField
        name="reason"
        label="原因"
        extra="写入审计日志。"
        rules={[required, rule(LimitBoost.shape.reason)]}
        maxLength={200}
        placeholder="例如：月底赶工"
      />
    </FormDialog>
  );
}
