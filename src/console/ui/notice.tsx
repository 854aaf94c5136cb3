// A short centred message with what to do next.
import type { ReactNode } from "react";
import "./notice.css";

export interface NoticeProps {
  /** A large sign above the title, e.g. 404. */
  readonly sign?: string;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

export function Notice({ sign, title, text, children }: NoticeProps) {
  return (
    <div className="tg-notice">
      {sign === undefined ? null : (
        <p className="tg-notice-sign" aria-hidden="true">
          {sign}
        </p>
      )}
      <h1>{title}</h1>
      <p>{text}</p>
      <div className="tg-notice-buttons">{children}</div>
    </div>
  );
}
