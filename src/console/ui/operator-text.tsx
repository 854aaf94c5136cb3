// What the operator wrote for visitors: HTML, Markdown, or the address of a page to frame.
import { addressIn, isHtml, markdownHtml } from "#console/base/markdown.ts";
import { Frame } from "./frame.tsx";
import { SafeHtml } from "./safe-html.tsx";
import "./operator-text.css";

export interface OperatorTextProps {
  /** Name of the frame when the text is an address. */
  readonly title: string;
  readonly text: string;
}

/** HTML or Markdown, sanitised right before it is shown. */
export function Prose({ text }: { readonly text: string }) {
  return <SafeHtml className="tg-prose" html={isHtml(text) ? text : markdownHtml(text)} />;
}

export function OperatorText({ title, text }: OperatorTextProps) {
  const address = addressIn(text);
  if (address !== undefined) return <Frame title={title} address={address} />;
  return <Prose text={text} />;
}
