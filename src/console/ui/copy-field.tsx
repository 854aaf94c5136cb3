// A text that must be copied: always selectable, with a button, so that nothing depends on the clipboard (requirements B8).
import { useId } from "react";
import { CopyButton } from "./copy-button.tsx";
import "./copy-field.css";

export interface CopyFieldProps {
  readonly label: string;
  readonly text: string;
  /** Accessible name of the button, e.g. 复制新密码. */
  readonly copyLabel: string;
}

export function CopyField({ label, text, copyLabel }: CopyFieldProps) {
  const id = useId();
  return (
    <div className="tg-copy-field">
      <label htmlFor={id}>{label}</label>
      <div>
        <input id={id} className="tg-code" readOnly value={text} onFocus={(event) => event.target.select()} />
        <CopyButton text={text} label={copyLabel} />
      </div>
    </div>
  );
}
