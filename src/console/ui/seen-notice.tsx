// A notice shown until it is dismissed once; then it is recorded as seen (requirements B4).
import { CloseOutlined, InfoCircleOutlined } from "@ant-design/icons";
import { type ReactNode, useState } from "react";
import { isSeen, markSeen } from "#console/base/storage.ts";
import "./callout.css";

export interface SeenNoticeProps {
  /** Name of the prompt in local storage. */
  readonly prompt: string;
  readonly children: ReactNode;
}

export function SeenNotice({ prompt, children }: SeenNoticeProps) {
  const [isHidden, setHidden] = useState(() => isSeen(prompt));
  if (isHidden) return null;
  const dismiss = () => {
    markSeen(prompt);
    setHidden(true);
  };
  return (
    <div className="tg-callout tg-callout-row" role="note">
      <InfoCircleOutlined className="tg-callout-sign" aria-hidden="true" />
      <span className="tg-callout-text">{children}</span>
      <button type="button" aria-label="不再显示" title="不再显示" onClick={dismiss}>
        <CloseOutlined aria-hidden="true" />
      </button>
    </div>
  );
}
