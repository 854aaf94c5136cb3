// biome-ignore-all lint/suspicious/noTemplateCurlyInString: sources are given as text.
// Both languages say the same: each Chinese text has its English, no entry is left over, and what is put into a text is in both.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Catalog, catalogsOf, type Part } from "#scripts/locale/catalog.ts";
import { untranslated, unused } from "#scripts/locale/coverage.ts";
import { inEnglish } from "#scripts/locale/english-plugin.ts";
import { textsIn } from "#scripts/locale/texts.ts";

const ROOT = join(import.meta.dirname, "../..");
const PARTS: readonly Part[] = ["console", "contract", "server"];
const entries = PARTS.flatMap((part) =>
  [...catalogsOf(part)].flatMap(([room, catalog]) =>
    Object.entries(catalog).map(([key, text]) => ({ place: `${part}/${room}`, key, text })),
  ),
);

/** A language by its own name, a word that is sent to a Chinese service as it is, and a pattern for what a Chinese upstream says. */
const CHINESE_ON_PURPOSE = /简体中文|^中$|“验证码”|prompt \?超长/g;

describe("the English of the console and the server", () => {
  it("is there for every text", () => {
    const missing = [...untranslated()].flatMap(([catalog, texts]) =>
      [...texts.keys()].map((key) => `${catalog}: ${key}`),
    );
    expect(missing, "see `node scripts/untranslated.ts`").toEqual([]);
  });

  it("is there for no text that is gone", () => {
    expect([...unused()]).toEqual([]);
  });

  it("is English", () => {
    const chinese = entries.filter(({ text }) =>
      /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/.test(text.replace(CHINESE_ON_PURPOSE, "")),
    );
    expect(chinese).toEqual([]);
  });

  it("puts in nothing that the Chinese does not", () => {
    const slots = (text: string) => [...text.matchAll(/\{(\d+)[|}]/g)].map((slot) => slot[1]);
    const strange = entries.filter(({ key, text }) => slots(text).some((slot) => !slots(key).includes(slot)));
    expect(strange).toEqual([]);
  });
});

/** A name of a property that pages show would be found neither by the build nor by `untranslated.ts`. */
const CHINESE_NAME = /^\s*[\w\u3400-\u9fff]*[\u3400-\u9fff][\w\u3400-\u9fff]*\??: /m;

it("stands in no name of a property", () => {
  const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT, exclude: ["**/*.test.*", "**/fixtures/**"] });
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => CHINESE_NAME.test(readFileSync(join(ROOT, file), "utf8")))).toEqual([]);
});

const words: Catalog = {
  标题: 'The "title"',
  "共 {0} 条": "{0} {0|row|rows}",
  "{0}先{1}后": "{1} before {0}",
  "见{0}与{1}": "See {1} and {0}",
  "已删除 ": "Deleted ",
  是: "yes",
};
const translate = (key: string) => words[key];
const english = (source: string) => inEnglish("a.tsx", source, translate);

describe("texts of a source", () => {
  it.each([
    ["a string", `const a = "标题";`, `const a = "The \\"title\\"";`],
    ["an attribute", `const a = <b title="标题" />;`, `const a = <b title={"The \\"title\\""} />;`],
    [
      "a template, with the singular",
      "const a = `共 ${n} 条`;",
      'import { $isOne } from "virtual:plural";\nconst a = `${n} ${($isOne(n) ? "row" : "rows")}`;',
    ],
    ["in another order", "const a = `${x}先${y}后`;", "const a = `${y} before ${x}`;"],
    ["a text within a text", 'const a = `共 ${b ? "是" : c} 条`;', /\$\{b \? "yes" : c\}/],
    [
      "the children of an element",
      "const a = <p>见<a>是</a>与{b}</p>;",
      'const a = <p>{"See "}{b}{" and "}<a>{"yes"}</a></p>;',
    ],
    ["a space at the end", 'const a = "已删除 ";', 'const a = "Deleted ";'],
  ])("%s", (_name, source, expected) => {
    if (typeof expected === "string") expect(english(source)).toBe(expected);
    else expect(english(source)).toMatch(expected);
  });

  it.each([
    ["a type", 'type A = "标题";'],
    ["the name of a property", "const a = { 标题: 1 };"],
    ["a pattern", "const a = /标题/;"],
    ["a comment", "const a = 1; // 标题"],
    ["a tagged template", "const a = sql`标题`;"],
  ])("%s is none", (_name, source) => {
    expect(textsIn("a.ts", source)).toEqual([]);
    expect(english(source)).toBe(source);
  });
});
