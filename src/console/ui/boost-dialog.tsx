// Raises a limit for a while, with a reason; it ends by itself, or here.
import { ArrowUpOutlined } from "@ant-design/icons";
import { Button, DatePicker, Form, Modal } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { formatTime } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import { type Limit, LimitBoost } from "#contract/limit.ts";
import { required, rule } from "./fields.ts";
import { FormDialog } from "./form-dialog.tsx";
import { isOfQuota, isRaised, UNITS } from "./limit-words.ts";
import { NumberInput } from "./number-input.tsx";
import { QuotaField } from "./quota-field.tsx";
import type { RowAction } from "./row-view.ts";
import { TextField } from "./text-field.tsx";

interface Values {
  readonly amount: number | null;
  readonly until: Dayjs | null;
  readonly reason: string;
}

/** How the call that raises a limit ends. */
export function boosted(invalidates: readonly Endpoint[], onDone: () => void) {
  return {
    invalidates,
    onSuccess(_: unknown, { body }: { readonly body: Pick<LimitBoost, "amount"> }) {
      toast.success(body.amount === 0 ? "已结束临时提高" : "限额已临时提高");
      onDone();
    },
  };
}

export function boostAction(onClick: () => void): RowAction {
  return { key: "boost", label: "临时提高", icon: <ArrowUpOutlined aria-hidden="true" />, onClick };
}

export interface BoostDialogProps {
  /** What the limit is of, and what it limits. */
  readonly title: string;
  readonly limit: Limit;
  readonly isBusy: boolean;
  readonly onSend: (boost: LimitBoost) => void;
  readonly onClose: () => void;
}

export function BoostDialog({ title: of, limit, isBusy, onSend, onClose }: BoostDialogProps) {
  const title = `临时提高：${of}`;
  if (isRaised(limit, Date.now() / 1_000))
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
              loading={isBusy}
              onClick={() => onSend({ amount: 0, until: 0, reason: "提前结束" })}
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
      isBusy={isBusy}
      validateTrigger="onBlur"
      initialValues={{ amount: null, until: dayjs().add(1, "day").millisecond(0), reason: "" }}
      onFinish={({ amount, until, reason }) =>
        onSend({ amount: amount ?? 0, until: until?.unix() ?? 0, reason: reason.trim() })
      }
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
