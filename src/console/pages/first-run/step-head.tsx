// Heading and one sentence of a step.
import type { ReactNode } from "react";

export function StepHead({ heading, children }: { readonly heading: string; readonly children: ReactNode }) {
  return (
    <div className="tg-first-head">
      <h1>{heading}</h1>
      <p className="tg-muted">{children}</p>
    </div>
  );
}
