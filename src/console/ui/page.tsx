// The frame of a page inside the shell: title, one sentence, primary action at the right.
import type { ReactNode } from "react";
import { titleIn, usePageHere } from "./shell/nav.ts";
import { useTeam } from "./team-context.ts";
import "./page.css";

export interface PageProps {
  /** undefined = as the page is called everywhere else. */
  readonly title?: ReactNode;
  readonly lead?: ReactNode;
  readonly extra?: ReactNode;
  /** Forms are narrower than tables. */
  readonly width?: "form" | "full";
  /** Title or lead wait for an answer and may then take more lines: what stands below appears with it, or after a second. */
  readonly isComing?: boolean;
  readonly children: ReactNode;
}

export function Page({ title, lead, extra, width = "full", isComing = false, children }: PageProps) {
  const here = usePageHere();
  const team = useTeam();
  return (
    <div className={`tg-page tg-page-${width}`}>
      <header className="tg-page-head" aria-busy={isComing}>
        <div className="tg-page-words">
          <h1>{title ?? (here === undefined ? null : titleIn(team, here))}</h1>
          {lead === undefined ? null : <p>{lead}</p>}
        </div>
        {extra === undefined ? null : <div className="tg-page-extra">{extra}</div>}
      </header>
      {children}
    </div>
  );
}
