// Buttons and links that look like buttons, for guest pages and for places where a link must stay a link.
import { LoadingOutlined } from "@ant-design/icons";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link, type LinkProps } from "react-router";
import "./plain-button.css";

export interface PlainButtonLook {
  readonly kind?: "primary" | "default" | "text";
  readonly isLarge?: boolean;
  readonly icon?: ReactNode;
}

function classOf({ kind = "default", isLarge = false }: PlainButtonLook): string {
  return `tg-button tg-button-${kind}${isLarge ? " tg-button-large" : ""}`;
}

export interface PlainButtonProps extends PlainButtonLook, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Shows that something is under way and takes no second click. */
  readonly isBusy?: boolean;
}

export function PlainButton({ kind, isLarge, icon, isBusy = false, children, ...button }: PlainButtonProps) {
  return (
    <button
      type="button"
      {...button}
      className={classOf({ kind: kind ?? "default", isLarge: isLarge === true })}
      disabled={isBusy || button.disabled === true}
      aria-busy={isBusy}
    >
      {isBusy ? <LoadingOutlined aria-hidden="true" /> : icon}
      {children}
    </button>
  );
}

export interface LinkButtonProps extends PlainButtonLook, LinkProps {}

/** A link in the shape of a button. */
export function LinkButton({ kind, isLarge, icon, children, ...link }: LinkButtonProps) {
  return (
    <Link {...link} className={classOf({ kind: kind ?? "default", isLarge: isLarge === true })}>
      {icon}
      {children}
    </Link>
  );
}
