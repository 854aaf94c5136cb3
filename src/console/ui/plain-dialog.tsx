// A dialog without antd: the browser's own, which traps the focus, closes on Escape and gives the focus back.
import { CloseOutlined } from "@ant-design/icons";
import { type ReactNode, useEffect, useId, useRef } from "react";
import "./plain-dialog.css";

export interface PlainDialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Shown as long as it is mounted. */
export function PlainDialog({ title, onClose, children }: PlainDialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      className="tg-dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" aria-label="关闭" onClick={onClose}>
          <CloseOutlined aria-hidden="true" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
