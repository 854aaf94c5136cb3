// A way in, or somewhere that is signed in: an entry of the lists of the own account.
import type { ReactNode } from "react";

interface WayProps {
  readonly icon: ReactNode;
  readonly name: ReactNode;
  readonly state: ReactNode;
  /** What can be done about it. */
  readonly children?: ReactNode;
}

export function Way({ icon, name, state, children }: WayProps) {
  return (
    <li className="tg-way">
      <span className="tg-way-icon" aria-hidden="true">
        {icon}
      </span>
      <span className="tg-way-words">
        <strong>{name}</strong>
        <span className="tg-muted">{state}</span>
      </span>
      {children}
    </li>
  );
}
