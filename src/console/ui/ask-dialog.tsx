// A dialog that asks for something and sends it: stays open until the answer is there.
import { Modal } from "antd";
import type { ReactNode } from "react";
import "./ask-dialog.css";

export interface AskDialogProps {
  readonly title: string;
  /** Unit: px. */
  readonly width: number;
  readonly okText: string;
  /** What was asked for is being sent. */
  readonly isBusy: boolean;
  readonly isDanger?: boolean;
  readonly onOk: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function AskDialog({ title, width, okText, isBusy, isDanger = false, ...rest }: AskDialogProps) {
  return (
    <Modal
      open
      title={title}
      width={width}
      className="tg-ask"
      okText={okText}
      okButtonProps={{ danger: isDanger, loading: isBusy }}
      cancelText="取消"
      onOk={rest.onOk}
      onCancel={rest.onClose}
    >
      {rest.children}
    </Modal>
  );
}
