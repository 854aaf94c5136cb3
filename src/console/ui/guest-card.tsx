// The card in the middle of a guest page: mark, heading, what to do, and other links.
import type { ReactNode } from "react";
import { Logo } from "./brand.tsx";
import { GuestFrame } from "./guest-frame.tsx";
import "./guest-card.css";

export interface GuestCardProps {
  /** Title of the browser tab. */
  readonly title: string;
  readonly heading: ReactNode;
  /** One sentence under the heading. */
  readonly lead?: ReactNode;
  /** Links below the card. */
  readonly links?: ReactNode;
  readonly children: ReactNode;
}

export function GuestCard({ title, heading, lead, links, children }: GuestCardProps) {
  return (
    <GuestFrame title={title} isCentred>
      <div className="tg-guest-card tg-card">
        <Logo size={40} />
        <div>
          <h1>{heading}</h1>
          {lead === undefined ? null : <p className="tg-muted">{lead}</p>}
        </div>
        {children}
        {links === undefined ? null : <div className="tg-guest-links">{links}</div>}
      </div>
    </GuestFrame>
  );
}
