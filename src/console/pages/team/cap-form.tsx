// Sets what the tokens of a member or of a project may spend of the wallet in a window; other limits there stay.
import { Button, Form, Modal, Select } from "antd";
import { useState } from "react";
import { BoostDialog } from "#console/ui/boost-dialog.tsx";
import { filled } from "#console/ui/fields.ts";
import { QuotaField } from "#console/ui/quota-field.tsx";
import type { Limit, LimitDraft, OwnedBoost } from "#contract/limit.ts";
import { LIMIT_WINDOW_LABELS, LIMIT_WINDOWS, type LimitWindow } from "#contract/limit-words.ts";

interface Cap {
  readonly amount: number;
  readonly time_window: LimitWindow;
}

interface CapFormProps {
  /** Who or what is capped. */
  readonly of: string;
  readonly lead: string;
  readonly limits: readonly Limit[];
  readonly isBusy: boolean;
  readonly onSave: (limits: readonly LimitDraft[]) => void;
  readonly isRaising: boolean;
  readonly onRaise: (boost: OwnedBoost) => void;
  readonly onClose: () => void;
}

export function CapForm({ of, lead, limits, isBusy, onSave, isRaising, onRaise, onClose }: CapFormProps) {
  const [form] = Form.useForm<Cap>();
  const [isBoost, setBoost] = useState(false);
  const cap = limits.find(({ kind, model_pattern }) => kind === "quota" && model_pattern === "");
  const others = limits.filter(({ id }) => id !== cap?.id);
  const send = (caps: readonly Cap[]) => {
    const rule = { kind: "quota", model_pattern: "", anchor: 1, mode: "hard" } as const;
    const kept = others.map(({ id, kind, amount, time_window, anchor, mode, model_pattern }) => ({
      ...{ id, kind, amount, time_window, anchor, mode, model_pattern },
    }));
    onSave([...kept, ...caps.map((one) => ({ ...rule, ...one, ...(cap !== undefined && { id: cap.id }) }))]);
  };
  if (isBoost && cap !== undefined)
    return (
      <BoostDialog
        title={`${of} ${LIMIT_WINDOW_LABELS[cap.time_window]}`}
        limit={cap}
        isBusy={isRaising}
        onSend={(boost) => onRaise({ ...boost, limit_id: cap.id })}
        onClose={() => setBoost(false)}
      />
    );
  return (
    <Modal
      open
      title={`上限：${of}`}
      width={480}
      onCancel={onClose}
      footer={
        <>
          {cap === undefined ? null : (
            <>
              <Button danger disabled={isBusy} onClick={() => send([])}>
                取消上限
              </Button>
              <Button disabled={isBusy} onClick={() => setBoost(true)}>
                临时提高
              </Button>
            </>
          )}
          <Button onClick={onClose}>返回</Button>
          <Button type="primary" loading={isBusy} onClick={form.submit}>
            保存
          </Button>
        </>
      }
    >
      <p>{lead}</p>
      <Form<Cap>
        form={form}
        layout="vertical"
        initialValues={{ amount: cap?.amount ?? null, time_window: cap?.time_window ?? "month" }}
        onFinish={(values) => send([values])}
      >
        <Form.Item name="amount" label="额度" rules={[filled]}>
          <QuotaField amounts="set" />
        </Form.Item>
        <Form.Item name="time_window" label="统计周期">
          <Select options={LIMIT_WINDOWS.map((value) => ({ value, label: LIMIT_WINDOW_LABELS[value] }))} />
        </Form.Item>
      </Form>
    </Modal>
  );
}
