// Builds the console in English: each Chinese text of a source is replaced by its English while it is compiled, so that a
// page loads one language, and no call stands around a text in the source.
import { relative } from "node:path";
import type { Plugin } from "vite";
import { englishFor, type Translate } from "./catalog.ts";
import { type Range, type Slot, type Text, textsIn } from "./texts.ts";

/** `{0}`, or `{0|row|rows}`: one word where the number is one, another where it is not. */
const SLOT = /\{(\d+)(?:\|([^|}]*)\|([^}]*))?\}/;

/** What chooses between singular and plural, for the sources that do. */
const PLURAL = "virtual:plural";
const PLURAL_CODE = `const plural = new Intl.PluralRules("en");
export const $isOne = (value) => plural.select(Number(value)) === "one";`;

/** Replaces the texts of the sources below `root`. */
export function english(root: string): Plugin {
  return {
    name: "english",
    enforce: "pre",
    applyToEnvironment: ({ name }) => name === "english",
    resolveId: (id) => (id === PLURAL ? `\0${PLURAL}` : undefined),
    load: (id) => (id === `\0${PLURAL}` ? PLURAL_CODE : undefined),
    transform(code, id) {
      const file = relative(root, id.split("?")[0] ?? id);
      if (!/^src\/.*\.tsx?$/.test(file)) return undefined;
      const done = inEnglish(file, code, englishFor(file));
      return done === code ? undefined : { code: done, map: null };
    },
  };
}

/** What index.html says, which is no source. */
const PAGE: readonly (readonly [string, string])[] = [
  ['lang="zh-CN"', 'lang="en"'],
  [
    "大模型接口网关与密钥管理：一个地址接入所有渠道，额度精确到点。",
    "Gateway and key management for language-model APIs: every channel behind one address, quota exact to the unit.",
  ],
  ["控制台需要启用 JavaScript。", "The console needs JavaScript."],
];

/** Names the English page beside the Chinese one. Files without words are the same in both builds, and are shared. */
export function englishPage(): Plugin {
  return {
    name: "english-page",
    enforce: "post",
    applyToEnvironment: ({ name }) => name === "english",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") this.error("no index.html was built");
      page.fileName = "index.en.html";
      page.source = PAGE.reduce(
        (html, [chinese, words]) => html.replace(chinese, words),
        String(page.source),
      );
    },
  };
}

/** The source with its texts in English; a text without English stays. */
export function inEnglish(file: string, source: string, translate: Translate): string {
  const texts = textsIn(file, source);
  /** The source of a range with every text within it replaced. */
  function rewritten({ start, end }: Range): string {
    let done = "";
    let at = start;
    for (const text of texts) {
      // Texts within a text that was replaced went with it.
      if (text.start < at || text.end > end) continue;
      const words = translate(text.key);
      if (words === undefined) continue;
      done += source.slice(at, text.start) + written(text, words, rewritten);
      at = text.end;
    }
    return done + source.slice(at, end);
  }
  const done = rewritten({ start: 0, end: source.length });
  return done.includes("$isOne(") ? `import { $isOne } from "${PLURAL}";\n${done}` : done;
}

type Rewrite = (range: Range) => string;

/** A text in English as source. */
function written(text: Text, words: string, rewritten: Rewrite): string {
  if (text.kind === "string") return JSON.stringify(words);
  if (text.kind === "attribute") return `{${JSON.stringify(words)}}`;
  return text.kind === "template"
    ? `\`${template(text, words, rewritten)}\``
    : children(text, words, rewritten);
}

interface Piece {
  readonly said: string;
  /** What stands behind the words; undefined at the end. */
  readonly slot: Slot | undefined;
  /** Of a slot that chooses a word: an expression that does. */
  readonly choice: string | undefined;
}

function piecesOf(text: Text, words: string, rewritten: Rewrite): Piece[] {
  const parts = words.split(SLOT);
  const pieces: Piece[] = [];
  // Split by a pattern with three groups: words, number, singular, plural, words, …
  for (let index = 0; index < parts.length; index += 4) {
    const [said = "", number, one, many] = parts.slice(index, index + 4);
    const slot = number === undefined ? undefined : text.slots[Number(number)];
    const isOne = slot && `$isOne(${rewritten(slot.value)})`;
    const choice =
      one === undefined ? undefined : `(${isOne} ? ${JSON.stringify(one)} : ${JSON.stringify(many)})`;
    pieces.push({ said, slot, choice });
  }
  return pieces;
}

function template(text: Text, words: string, rewritten: Rewrite): string {
  const pieces = piecesOf(text, words, rewritten).map(({ said, slot, choice }) => {
    const value = slot === undefined ? "" : `\${${choice ?? rewritten(slot.value)}}`;
    return said.replace(/[`\\]|\$\{/g, "\\$&") + value;
  });
  return pieces.join("");
}

function children(text: Text, words: string, rewritten: Rewrite): string {
  const pieces = piecesOf(text, words, rewritten).map(({ said, slot, choice }) => {
    const value = slot === undefined ? "" : choice === undefined ? rewritten(slot) : `{${choice}}`;
    return (said && `{${JSON.stringify(said)}}`) + value;
  });
  return pieces.join("");
}
