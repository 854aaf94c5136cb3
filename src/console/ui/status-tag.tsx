// Small coloured facts: state pills with a dot, and tags in the spec's twelve colours.
import type { ReactNode } from "react";
import { type TagColour, tagPalette } from "#console/base/colours.ts";
import { useThemeMode } from "#console/base/theme-mode.ts";
import { Tooltip } from "./tooltip.tsx";
import "./status-tag.css";

/**
 * One language of colour over all lists: good = works or waits to be used, idle = switched off by hand, warn = soon over, bad =
 * stopped by itself (failed, expired, exhausted), info = done, or a fact.
 */
export type Tone = "good" | "idle" | "warn" | "bad" | "info";

export interface StatusTagProps {
  readonly tone: Tone;
  readonly label: string;
  /** Why, on hover and focus. */
  readonly hint?: ReactNode;
}

/** A state as a pill: a dot and a word. */
export function StatusTag({ tone, label, hint }: StatusTagProps) {
  if (hint === undefined || hint === "") {
    return (
      <span className={`tg-pill tg-pill-${tone}`}>
        <i aria-hidden="true" />
        {label}
      </span>
    );
  }
  return (
    <Tooltip title={hint}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the reason in the tooltip must be reachable by keyboard */}
      <span className={`tg-pill tg-pill-${tone}`} tabIndex={0}>
        <i aria-hidden="true" />
        {label}
      </span>
    </Tooltip>
  );
}

/** A tag in one of the twelve colours, readable in both themes. */
export function ColourTag({
  colour,
  children,
}: {
  readonly colour: TagColour;
  readonly children: ReactNode;
}) {
  const { ground, text } = tagPalette[useThemeMode()][colour];
  return (
    <span
      className="tg-tag"
      style={{ background: ground, color: text }}
      {...(typeof children === "string" ? { title: children } : {})}
    >
      {children}
    </span>
  );
}
