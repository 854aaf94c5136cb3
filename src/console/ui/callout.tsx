// A short coloured message inside a page, light enough for guest pages.
import type { ReactNode } from "react";
import "./callout.css";

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
