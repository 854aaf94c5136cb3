// The way to the sections of a long page of options.
import { useEffect } from "react";
import { useLocation } from "react-router";
import { CALM, matches } from "#console/base/media.ts";
import type { Section } from "./section.ts";

/** Shows a section, and brings the keyboard there. */
function jump(id: string): void {
  const section = document.getElementById(id);
  section?.scrollIntoView({ block: "start", behavior: matches(CALM) ? "auto" : "smooth" });
  section?.focus({ preventScroll: true });
}

export function SectionJump({ sections }: { readonly sections: readonly Section[] }) {
  const { hash } = useLocation();
  // A link may name a section, which stands here only when the options have come.
  useEffect(() => {
    if (hash !== "") jump(hash.slice(1));
  }, [hash]);
  return (
    <nav className="tg-section-jump" aria-label="本页的设置">
      {sections.map(({ id, title }) => (
        <button key={id} type="button" onClick={() => jump(id)}>
          {title.replace(/^配置 ?/, "")}
        </button>
      ))}
    </nav>
  );
}
