// The published rules of billing are held by tests: each rule of docs/billing.md names one that exists.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const text = readFileSync(join(ROOT, "docs/billing.md"), "utf8");
/** A rule and all of its lines. */
const rules = text.split(/^(?=- |#)/m).filter((part) => part.startsWith("- "));

test("every rule names a file and the title of a test in it", () => {
  expect(rules.length).toBeGreaterThan(20);
  for (const rule of rules) {
    const [, path = "", title = ""] = /\n {2}`([^`]+)` "([^\n]+)"\s*$/.exec(rule) ?? [];
    const file = join(ROOT, path);
    expect(path !== "" && existsSync(file), rule).toBe(true);
    expect(readFileSync(file, "utf8").includes(`"${title}"`), rule).toBe(true);
  }
});

test("every rule is one sentence, so that each names its own test", () => {
  const sentenceOf = (rule: string) => rule.slice(2).replace(/\n {2}`[^`]+` "[^\n]+"\s*$/, "");
  expect(rules.filter((rule) => /[.!?]\s+[A-Z]/.test(sentenceOf(rule)))).toEqual([]);
});
