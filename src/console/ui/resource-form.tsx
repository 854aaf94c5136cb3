// A form of a resource: labels above fields, checks on blur and on submit, first error in view, asks before changes are lost.
import { Button, Form, type FormInstance, Modal } from "antd";
import { type ReactNode, useEffect, useState } from "react";
import { useBeforeUnload, useBlocker } from "react-router";
import { changesOf } from "#console/base/changes.ts";
import { useDraft } from "./draft.ts";
import "./resource-form.css";

/** Returned when what was sent was taken, and the form has something to show about it. */
export const STAYS = Symbol("stays");

export interface ResourceFormProps<Values extends object> {
  readonly initial: Values;
  /** Fields that outlive the end of a session; never a secret (draft.ts). */
  readonly kept?: readonly (keyof Values & string)[];
  /** Sends the values. A rejection was shown already; it keeps the form open, as `STAYS` does where all was saved. */
  readonly onSubmit: (values: Values) => Promise<unknown>;
  /** Called after a successful submit, when leaving is free. */
  readonly onDone?: () => void;
  readonly onCancel?: () => void;
  readonly submitText?: string;
  readonly children: (form: FormInstance<Values>) => ReactNode;
}

/** Asks before a changed form is left by a link or by closing the tab. Mounted only while something would be lost. */
export function LeaveGuard() {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname,
  );
  useBeforeUnload((event) => event.preventDefault());
  return (
    <Modal
      open={blocker.state === "blocked"}
      title="放弃未保存的修改？"
      okText="放弃修改"
      okButtonProps={{ danger: true }}
      cancelText="继续编辑"
      width={420}
      onOk={() => blocker.proceed?.()}
      onCancel={() => blocker.reset?.()}
    >
      离开后，已填写的内容不会保留。
    </Modal>
  );
}

export function ResourceForm<Values extends object>(props: ResourceFormProps<Values>) {
  const { initial, kept = [], onSubmit, onDone, onCancel, submitText = "提交", children } = props;
  const [form] = Form.useForm<Values>();
  const draft = useDraft<Values>(kept, () => changesOf(initial, form.getFieldsValue(true)));
  const [isDirty, setDirty] = useState(draft !== undefined);
  const [isSending, setSending] = useState(false);
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    // After the state that lifts the guard has been committed.
    if (isDone) onDone?.();
  }, [isDone, onDone]);
  const submit = async () => {
    setSending(true);
    try {
      // Fields of collapsed parts keep their values: `true` asks for the whole store.
      const answer = await onSubmit({ ...initial, ...form.getFieldsValue(true) });
      setDirty(false);
      setDone(onDone !== undefined && answer !== STAYS);
    } catch {
      // Shown by the catalogue of faults; the form stays as it is.
    } finally {
      setSending(false);
    }
  };
  return (
    <Form
      form={form}
      layout="vertical"
      className="tg-form"
      initialValues={{ ...initial, ...draft }}
      validateTrigger="onBlur"
      scrollToFirstError={{ behavior: "smooth", block: "center", focus: true }}
      onValuesChange={() => setDirty(true)}
      onFinish={() => void submit()}
    >
      {isDirty && !isDone ? <LeaveGuard /> : null}
      {children(form)}
      <div className="tg-form-buttons">
        <Button type="primary" htmlType="submit" loading={isSending}>
          {submitText}
        </Button>
        {onCancel === undefined ? null : <Button onClick={onCancel}>取消</Button>}
      </div>
    </Form>
  );
}
