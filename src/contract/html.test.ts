import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostileHtml, hostilePayloads } from "#test/seeds/hostile-html.ts";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import { sanitizeHtml } from "./html.ts";
import { optionTable } from "./option.ts";

const CORPUS = hostileHtml;

const ALLOWED_TAG =
  /^<\/?(?:a|abbr|b|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|img|ins|kbd|li|main|mark|nav|ol|p|picture|pre|q|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul)(?: [a-z]+="[^"<>]*")*>/;

/** Every `<` begins an allowed tag, whose every attribute is harmless. */
function findings(clean: string): string[] {
  return clean
    .split("<")
    .slice(1)
    .flatMap((rest) => {
      const tag = ALLOWED_TAG.exec(`<${rest}`)?.[0];
      if (tag === undefined) return [`not a tag: <${rest.slice(0, 40)}`];
      return [...tag.matchAll(/ ([a-z]+)="([^"]*)"/g)].flatMap(([, name = "", value = ""]) => {
        const isBad =
          /^(?:on|id$|name$|class$|srcdoc|srcset|action|form|background)/.test(name) ||
          (/^(?:href|src)$/.test(name) &&
            /^\s*(?!https?:|mailto:|tel:|data:image\/(?:png|jpeg|gif|webp);base64)[^/?#]*(?::|&)/i.test(
              value,
            )) ||
          (/^(?:href|src)$/.test(name) && /^[/\\]{2}|^\/\\/.test(value)) ||
          (name === "style" && /position|url|expression|\\|@|fixed/i.test(value));
        return isBad ? [`${name}=${value}`] : [];
      });
    });
}

describe("text that an operator writes for all visitors", () => {
  test(`nothing that acts survives, in ${CORPUS.length} forms`, () => {
    expect(CORPUS.length).toBeGreaterThanOrEqual(500);
    const bad = CORPUS.flatMap((dirty) => findings(sanitizeHtml(dirty)).map((what) => `${dirty} → ${what}`));
    expect(bad).toEqual([]);
  });

  test("the check of these tests rejects the corpus itself", () => {
    const innocent = hostilePayloads.filter((dirty) => dirty.includes("<") && findings(dirty).length === 0);
    expect(innocent).toEqual(['<p title="&lt;img src=x onerror=alert(1)&gt;">x</p>']);
  });

  test("cleaning again changes nothing", () => {
    for (const dirty of CORPUS) expect(sanitizeHtml(sanitizeHtml(dirty))).toBe(sanitizeHtml(dirty));
  });

  test("whatever is typed, only allowed tags come out", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      '"',
      "'",
      "=",
      "/",
      "a",
      "img",
      "script",
      " on",
      "x",
      "&",
      "#",
      "!--",
      "-->",
      "\n",
      "href",
      "javascript:",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const clean = sanitizeHtml(pieces.join(""));
        expect(findings(clean)).toEqual([]);
        expect(sanitizeHtml(clean)).toBe(clean);
      }),
      { numRuns: 3_000, seed: 20_261_120 },
    );
  });

  test.each([
    ["# 公告\n\n> 引用 & **粗体**，a < b 时", "# 公告\n\n> 引用 & **粗体**，a &lt; b 时"],
    ["https://example.com/about?x=<1>", "https://example.com/about?x=%3C1>"],
    ["see <https://example.com/a?b=c>", "see https://example.com/a?b=c"],
    [
      '<a href="https://example.com/?a=1&amp;b=2" target=_blank>x</a>',
      '<a href="https://example.com/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">x</a>',
    ],
    ['<a href="/topup">x</a>', '<a href="/topup">x</a>'],
    ["<a href=mailto:help@example.com>x</a>", '<a href="mailto:help@example.com">x</a>'],
    [
      '<div style="text-align: center; color: rgb(1, 2, 3)">x</div>',
      '<div style="text-align: center; color: rgb(1, 2, 3)">x</div>',
    ],
    ["<table border=1><tr><td colspan=2>x</table>", '<table border="1"><tr><td colspan="2">x</table>'],
    ['<img src="/logo.png" width=20>', '<img src="/logo.png" width="20">'],
    ["<style>p{color:red}</style>ok", "ok"],
    ["", ""],
  ])("%j stays as %j", (typed, kept) => {
    expect(sanitizeHtml(typed)).toBe(kept);
  });

  test("a hostile text takes no longer than a plain one", () => {
    const texts = [
      '<a "',
      "<a '",
      "<!--",
      "](",
      "](   ",
      "<a href=",
      "<script>",
      "&#x",
      "<p style='color:rgb('>",
      "<",
    ].map((part) => part.repeat(200_000 / part.length));
    for (const text of [...texts, `](${" ".repeat(200_000)}`]) {
      expect(cpuMsOf(() => sanitizeHtml(text))).toBeLessThan(5_000);
    }
  });

  test.each(["Notice", "About", "HomePageContent", "Footer"] as const)(
    "the option %s is cleaned when it is read",
    (key) => {
      expect(optionTable[key].schema.parse("<b onclick=x>hi</b><script>1</script>")).toBe("<b>hi</b>");
    },
  );
});
