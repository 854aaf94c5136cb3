// What comments cite can be followed in the repository: rules by number, vendors' facts by name, decisions by file.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const RULES = "docs/requirements.md";
const VENDORS = "docs/vendors.md";
const ID = String.raw`[A-Z]\d+(?:\.\d+)*`;
const LIST = new RegExp(
  String.raw`requirements(?:\s+(?:\*|//)?\s*)(${ID}(?:(?:, | and |,\s+(?:\*|//)\s+|–)${ID})*)`,
  "g",
);
/** Documents that no reader of the repository has. */
const ELSEWHERE =
  /\b(?:[Rr]eliability|[Cc]ontract|[Pp]roviders|[Dd]esign|[Ss]pec)(?:\.md)?(?: |\s+(?:\/\/|\*) )(?:§ ?)?[A-Z]?\d+\b(?! ?%)/g;

const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const texts = globSync("{*.md,{src,test,bench,scripts,docs}/**/*.{ts,tsx,js,md,css}}", { cwd: ROOT })
  .filter((path) => !/node_modules|coverage/.test(path) && path !== "test/house/citations.test.ts")
  .map((path) => ({ path, text: readText(path) }));

const ruleLines = Array.from(readText(RULES).matchAll(new RegExp(`^- (${ID}): `, "gm")), ([, id]) => id);
const rules = new Set(ruleLines);
const vendors = new Map(
  readText(VENDORS)
    .split(/^- /m)
    .slice(1)
    .map((entry) => [entry.slice(0, entry.indexOf(":")), entry]),
);

/** The ids of a list; of a range all that lie in it. */
function idsOf(list: string): string[] {
  return list.split(/, | and |,\s+(?:\*|\/\/)\s+/).flatMap((part) => {
    const [first = "", last = first] = part.split("–");
    const letter = first.slice(0, 1);
    const [from, to] = [Number(first.slice(1)), Number(last.slice(1))];
    if (first === last) return [first];
    const ids = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    const padded = ids.map((id) => letter + String(id).padStart(first.length - 1, "0"));
    return padded.filter((id) => id === first || id === last || rules.has(id));
  });
}

const cited = texts.flatMap(({ path, text }) =>
  Array.from(text.matchAll(LIST), ([, list = ""]) => ({ path, ids: idsOf(list) })),
);
const named = texts
  .flatMap(({ path, text }) =>
    Array.from(text.matchAll(/\bvendors\/([a-z0-9-]+)/g), ([, name = ""]) => ({ path, name })),
  )
  .filter(({ path }) => path !== VENDORS);

describe("what comments cite", () => {
  test("are rules that stand in docs/requirements.md", () => {
    expect(cited.length).toBeGreaterThan(300);
    expect(rules.size, "a number stands for one rule").toBe(ruleLines.length);
    expect(
      cited.flatMap(({ path, ids }) => ids.filter((id) => !rules.has(id)).map((id) => `${path}: ${id}`)),
    ).toEqual([]);
  });

  test("are vendors' facts that stand in docs/vendors.md, each with a page and its date", () => {
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter(({ name }) => !vendors.has(name))).toEqual([]);
    const sourceless = [...vendors].filter(
      ([, entry]) => !/<https:\/\/[^>]+>[\s\S]*\(20\d\d-\d\d/.test(entry),
    );
    expect(sourceless).toEqual([]);
  });

  test("are decisions that were recorded", () => {
    const numbers = texts.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/\bdecisions\/(\d{3})/g), ([, number]) => ({ path, number })),
    );
    const known = new Set(
      globSync("docs/decisions/*.md", { cwd: ROOT }).map((path) => /(\d{3})-/.exec(path)?.[1]),
    );
    expect(numbers.filter(({ number }) => !known.has(number))).toEqual([]);
  });

  test("is nothing that a reader of the repository cannot open", () => {
    expect(
      texts.flatMap(({ path, text }) => (text.match(ELSEWHERE) ?? []).map((found) => `${path}: ${found}`)),
    ).toEqual([]);
    expect(existsSync(join(ROOT, RULES))).toBe(true);
  });
});

describe("what stands in the lists", () => {
  test("is cited somewhere", () => {
    const ids = new Set(cited.flatMap(({ ids }) => ids));
    expect([...rules].filter((id) => id !== undefined && !ids.has(id))).toEqual([]);
    const names = new Set(named.map(({ name }) => name));
    expect([...vendors.keys()].filter((name) => !names.has(name))).toEqual([]);
  });
});
