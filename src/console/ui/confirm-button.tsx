// A button that asks in place before it does something that cannot be taken back.
import { Button, type ButtonProps, Popconfirm } from "antd";
import type { ReactNode } from "react";

export interface ConfirmButtonProps extends Omit<ButtonProps, "onClick"> {
  /** The question. */
  readonly question: ReactNode;
  /** Text of the confirming button, e.g. 确认删除. */
  readonly confirmText: string;
  readonly onConfirm: () => void;
}

export function ConfirmButton({ question, confirmText, onConfirm, ...button }: ConfirmButtonProps) {
  return (
    <Popconfirm
      title={question}
      okText={confirmText}
      okButtonProps={{ danger: true }}
      cancelText="取消"
      placement="topRight"
      onConfirm={onConfirm}
      disabled={button.disabled === true}
    >
      <Button {...button} />
    </Popconfirm>
  );
}
