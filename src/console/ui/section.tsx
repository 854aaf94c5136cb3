// A card of a page: its title, a sentence, and what belongs together.
import type { ReactNode } from "react";

export interface SectionProps {
  readonly title: ReactNode;
  readonly lead?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Section({ title, lead, className = "", children }: SectionProps) {
  return (
    <section className={`tg-card tg-section ${className}`.trimEnd()}>
      <h2>{title}</h2>
      {lead === undefined ? null : <p>{lead}</p>}
      {children}
    </section>
  );
}
