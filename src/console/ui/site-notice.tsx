// The operator's notice: shown until it is dismissed, then recorded as seen; a changed notice is a new one (requirements B4).
import { addressIn } from "#console/base/markdown.ts";
import { useNotice } from "#console/base/notice.ts";
import { SeenNotice } from "./callout.tsx";
import { Prose } from "./operator-text.tsx";
import "./site-notice.css";

/** A short mark of a text, so that what was seen can be told from what is new (FNV-1a). */
function markOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}

export function SiteNotice() {
  const notice = useNotice();
  // What stands below waits for this (site-notice.css).
  if (notice === undefined) return <span className="tg-notice-coming" aria-busy="true" hidden />;
  const text = notice.trim();
  if (text === "") return null;
  const address = addressIn(text);
  const mark = `notice_${markOf(text)}`;
  return (
    <SeenNotice key={mark} prompt={mark}>
      {address === undefined ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
        <section className="tg-site-notice" aria-label="公告内容" tabIndex={0}>
          <Prose text={text} />
        </section>
      ) : (
        <a href={address} target="_blank" rel="noopener noreferrer">
          查看公告：{address}
        </a>
      )}
    </SeenNotice>
  );
}
