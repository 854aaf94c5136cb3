// Asks for a typed text before something that deletes many rows or a whole account (console.md, Feedback).
import { Input, Modal } from "antd";
import { type ReactNode, useState } from "react";

export interface TypedConfirmProps {
  readonly title: string;
  /** What will happen. */
  readonly children: ReactNode;
  /** What must be typed, e.g. the user name. */
  readonly expected: string;
  /** Text of the confirming button, e.g. 确认删除. */
  readonly confirmText: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function TypedConfirm(props: TypedConfirmProps) {
  const { title, children, expected, confirmText, isBusy = false, onConfirm, onClose } = props;
  const [typed, setTyped] = useState("");
  const isRight = typed.trim() === expected;
  return (
    <Modal
      open
      title={title}
      width={440}
      okText={confirmText}
      okButtonProps={{ danger: true, disabled: !isRight, loading: isBusy }}
      cancelText="取消"
      onOk={onConfirm}
      onCancel={onClose}
    >
      <p>{children}</p>
      <label htmlFor="tg-typed-confirm">
        请输入 <strong>{expected}</strong> 以确认
      </label>
      <Input
        id="tg-typed-confirm"
        style={{ marginTop: 8 }}
        value={typed}
        autoFocus
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        onPressEnter={() => {
          if (isRight && !isBusy) onConfirm();
        }}
      />
    </Modal>
  );
}
