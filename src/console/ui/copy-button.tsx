// Copies a text. Where the clipboard is refused the page gets the text back to show it in a field (requirements B8).
import { CheckOutlined, CopyOutlined } from "@ant-design/icons";
import { useId, useState } from "react";
import { copyText } from "#console/base/clipboard.ts";
import { PlainButton, type PlainButtonLook } from "./plain-button.tsx";
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

export interface CopyButtonProps extends PlainButtonLook {
  readonly text: string;
  /** Accessible name, e.g. 复制接口地址. */
  readonly label: string;
  /** Called with the text when the clipboard refused it. */
  readonly onRefused?: (text: string) => void;
}

export function CopyButton({ text, label, onRefused, ...look }: CopyButtonProps) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    const copied = await copyText(text);
    if (!copied) {
      onRefused?.(text);
      return;
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <PlainButton
      kind="text"
      {...look}
      icon={isDone ? <CheckOutlined aria-hidden="true" /> : <CopyOutlined aria-hidden="true" />}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    />
  );
}
