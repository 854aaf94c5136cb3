// A text in a form of antd: its label, what helps to fill it in, its rules, and the field itself.
import { Form, type FormRule, Input, type InputProps } from "antd";
import type { ReactNode } from "react";

export interface TextFieldProps extends Omit<InputProps, "name"> {
  readonly name: string;
  readonly label: string;
  readonly extra?: ReactNode;
  readonly rules?: FormRule[];
  /** Shown as dots until the user asks to see it. */
  readonly isSecret?: boolean;
}

/** Browsers fill in nothing unless `autoComplete` says what. */
export function TextField({ name, label, extra, rules = [], isSecret = false, ...input }: TextFieldProps) {
  const Control = isSecret ? Input.Password : Input;
  return (
    <Form.Item name={name} label={label} extra={extra} rules={rules}>
      <Control autoComplete="off" {...input} />
    </Form.Item>
  );
}
