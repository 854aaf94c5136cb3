// A dialog with a form: what was filled in is sent when all of it holds, and the dialog stays open until the answer is there.
import { Form, type FormProps } from "antd";
import type { ReactNode } from "react";
import { AskDialog, type AskDialogProps } from "./ask-dialog.tsx";

interface FormDialogProps<Values>
  extends Omit<AskDialogProps, "onOk">,
    Pick<FormProps<Values>, "form" | "initialValues" | "requiredMark" | "validateTrigger"> {
  /** What stands above the fields. */
  readonly lead?: ReactNode;
  readonly onFinish: (values: Values) => void;
}

/** `form` is given where the page looks at what is being filled in. */
export function FormDialog<Values extends object>({
  form: given,
  lead,
  children,
  onFinish,
  initialValues,
  requiredMark,
  validateTrigger,
  ...dialog
}: FormDialogProps<Values>) {
  const [form] = Form.useForm<Values>(given);
  return (
    <AskDialog {...dialog} onOk={form.submit}>
      {lead}
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={onFinish}
        {...(initialValues === undefined ? {} : { initialValues })}
        {...(requiredMark === undefined ? {} : { requiredMark })}
        {...(validateTrigger === undefined ? {} : { validateTrigger })}
      >
        {children}
      </Form>
    </AskDialog>
  );
}
