// HTML of the operator, sanitised right before it is shown (requirements H01). The only place that shows HTML.
import type { Config } from "dompurify";
import { useEffect, useRef, useState } from "react";

const TAGS = `a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s small span strong sub sup
  table tbody td tfoot th thead tr u ul`;

const RULES: Config = {
  ALLOWED_TAGS: TAGS.split(/\s+/),
  ALLOWED_ATTR: "href title alt src width height align colspan rowspan target rel".split(" "),
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|\/(?![/\\])|#|data:image\/png;base64,)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** Sanitised nodes of an HTML text; links open apart and tell nothing about where they came from. */
async function clean(html: string): Promise<DocumentFragment> {
  const { default: purify } = await import("dompurify");
  const fragment = purify.sanitize(html, { ...RULES, RETURN_DOM_FRAGMENT: true });
  for (const link of fragment.querySelectorAll("a[href]")) {
    link.setAttribute("rel", "noopener noreferrer");
    if (!link.getAttribute("href")?.startsWith("#")) link.setAttribute("target", "_blank");
  }
  for (const image of fragment.querySelectorAll("img")) image.setAttribute("referrerpolicy", "no-referrer");
  return fragment;
}

export function SafeHtml({ html, className }: { readonly html: string; readonly className?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [isBusy, setBusy] = useState(true);
  useEffect(() => {
    let isCurrent = true;
    const show = async () => {
      const fragment = await clean(html);
      if (!isCurrent) return;
      box.current?.replaceChildren(fragment);
      setBusy(false);
    };
    void show();
    return () => {
      isCurrent = false;
    };
  }, [html]);
  return <div ref={box} className={className} aria-busy={isBusy} />;
}
