// What the rules of a channel do to a text. Pure.
import type { TEXT_EDITS } from "#contract/rewrite.ts";

/** Clients choose the texts: what a rule puts in their place may be a thousand times as long. Unit: UTF-16 code units. */
const MOST_TEXT = 32 * 1024 * 1024;

export type TextEdit = (typeof TEXT_EDITS)[number];

type Edit = (text: string, value: string, other: string) => string;

const EDITS: Readonly<Record<TextEdit, Edit>> = {
  trimPrefix: (text, value) => (text.startsWith(value) ? text.slice(value.length) : text),
  trimSuffix: (text, value) => (value !== "" && text.endsWith(value) ? text.slice(0, -value.length) : text),
  ensurePrefix: (text, value) => (text.startsWith(value) ? text : value + text),
  ensureSuffix: (text, value) => (text.endsWith(value) ? text : text + value),
  trimSpace: (text) => text.trim(),
  toLower: (text) => text.toLowerCase(),
  toUpper: (text) => text.toUpperCase(),
  replace: replaced,
};

/** Throws: RangeError when it would become too long. */
export function editText(
  how: TextEdit,
  text: string,
  { value, other }: { readonly value: string; readonly other: string },
): string {
  return EDITS[how](text, value, other);
}

function replaced(text: string, value: string, other: string): string {
  if (value === "") return text;
  const more = other.length - value.length;
  if (more > 0 && text.length + more * timesIn(text, value) > MOST_TEXT)
    throw new RangeError("text too long");
  return text.replaceAll(value, () => other);
}

function timesIn(text: string, value: string): number {
  let times = 0;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) times += 1;
  return times;
}
