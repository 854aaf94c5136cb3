// A button that asks in place before it does something that cannot be taken back.
import { Button, type ButtonProps, Popconfirm } from "antd";
import type { ReactNode } from "react";
import { usePopoverFocus } from "./popup-focus.ts";

export interface ConfirmButtonProps extends Omit<ButtonProps, "onClick"> {
  /** The question. */
  readonly question: ReactNode;
  /** Text of the confirming button, e.g. 确认删除. */
  readonly confirmText: string;
  readonly onConfirm: () => void;
}

export function ConfirmButton({ question, confirmText, onConfirm, ...button }: ConfirmButtonProps) {
  const { id, on } = usePopoverFocus();
  return (
    <Popconfirm
      {...on}
      title={<span id={id}>{question}</span>}
      okText={confirmText}
      okButtonProps={{ danger: true, "aria-describedby": id }}
      cancelButtonProps={{ "aria-describedby": id }}
      cancelText="取消"
      placement="topRight"
      onConfirm={onConfirm}
      disabled={button.disabled === true}
    >
      <Button {...button} />
    </Popconfirm>
  );
}
