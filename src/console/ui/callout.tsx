// A short coloured message inside a page, light enough for guest pages.
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

export interface CalloutProps {
  readonly tone: "info" | "warn" | "bad";
  readonly children: ReactNode;
}

export function Callout({ tone, children }: CalloutProps) {
  return (
    <div className={`tg-callout tg-callout-${tone}`} role={tone === "info" ? "note" : "alert"}>
      {children}
    </div>
  );
}
