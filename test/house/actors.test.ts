// Comments name who acts: the client, the owner, the process. Words that leave it open stand in none of them (AGENTS.md).
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const OPEN = /\b(?:whoever|(?:some|any)(?:body|one)|nobody|no one)\b/gi;
/** What a file without them never holds: it is not parsed. */
const PERHAPS = /whoever|(?:some|any)(?:body|one)|nobody|\bno[\s/*]+one\b/i;

/** The comments of a source; lines of one remark are one. Throws: when the source does not parse. */
function commentsOf(path: string, source: string): string[] {
  if (path.endsWith(".css")) return source.match(/\/\*[\s\S]*?\*\//g) ?? [];
  const { comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  return comments.reduce<string[]>((all, { value, start }, index) => {
    const gap = source.slice(comments[index - 1]?.end, start);
    const last = index > 0 && gap.trim() === "" ? all.pop() : undefined;
    all.push(last === undefined ? value : `${last}\n${value}`);
    return all;
  }, []);
}

/** The words found, code between backticks left out. */
function openWords(path: string, source: string): string[] {
  if (!PERHAPS.test(source)) return [];
  return commentsOf(path, source).flatMap((comment) => {
    const text = comment.replace(/`[^`\n]*`/g, "").replace(/\s*\n[\s*]*/g, " ");
    return [...text.matchAll(OPEN)].map(([word]) => word);
  });
}

describe("a comment", () => {
  test("says client, owner, process or another actor, where a word would leave it open", () => {
    const files = globSync("{src,test,scripts,bench}/**/*.{ts,tsx,js,css}", {
      cwd: ROOT,
      exclude: ["**/fixtures/**"],
    });
    expect(files.length).toBeGreaterThan(1_500);
    const found = files.flatMap((path) =>
      openWords(path, readFileSync(join(ROOT, path), "utf8")).map((word) => `${path}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    ["behind code", "a.ts", "f(); // for somebody else's", ["somebody"]],
    ["of several lines", "a.ts", "/**\n * Whoever asks; no\n * one else.\n */", ["Whoever", "no one"]],
    ["of two slashes twice", "a.ts", "f();\n// There is no\n// one.\n", ["no one"]],
    ["among elements", "a.tsx", "const a = <b>{/* nobody's */}someone</b>;", ["nobody"]],
    ["in a style sheet", "a.css", "a { color: red; /* anyone */ }", ["anyone"]],
    ["that quotes code", "a.ts", "// `somebody()` makes a subject.", []],
    ["beside texts", "a.ts", 'f("// nobody", /* no */ one, `\n// whoever`);', []],
  ])("%s is looked at", (_, path, source, words) => {
    expect(openWords(path, source)).toEqual(words);
  });
});
