// Which test files may share a process: those that change nothing in it which others would see.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { APART } from "./apart.ts";

const ROOT = join(import.meta.dirname, "../..");
const SHARING = [
  "src/**/*.test.{ts,tsx}",
  "test/{api,house}/*.test.ts",
  "test/{worlds,emulators,seeds}/*.ts",
];

/** Modules, time, globals, functions of Node's own modules and the environment replaced: the next file of the worker would meet it. */
const REPLACES = [
  /\bvi\s*\.\s*(?:mock|doMock|unmock|doUnmock|hoisted|resetModules|stubGlobal|stubEnv|useFakeTimers|setSystemTime)\b/,
  /\bvi\s*\.\s*spyOn\(\s*(?:fs|fsp|os|dns|net|tls|http|https|crypto|process|globalThis|window|console|Date|Math|JSON|performance|\w+\.prototype|Object\.getPrototypeOf)\b/,
  /\bprocess\.env(?:\.\w+|\[[^\]]+\])\s*(?:\?\?|\|\|)?=(?!=)|\bdelete process\.env\b/,
  /\bprocess\.(?:chdir|umask)\(|\bprocess\.(?:exitCode|title)\s*=(?!=)/,
  /(?<!typeof )\bglobalThis(?:\.\w+|\[[^\]]+\])\s*(?:\?\?|\|\|)?=(?![=>])|\b(?:defineProperty|assign)\(\s*(?:globalThis|process(?:\.env)?)\b/,
  /\bmock\.(?:timers|method|module)\b/,
  /\b(?:setDefaultCACertificates|setGlobalDispatcher|setDefaultResultOrder|setFlagsFromString)\(/,
];

function isReplacing(text: string): boolean {
  return REPLACES.some((pattern) => pattern.test(text));
}

test.each([
  'vi.mock("node:fs")',
  "vi.hoisted(() => 1)",
  'vi.stubGlobal("fetch", read)',
  "vi.useFakeTimers();",
  "vi.resetModules()",
  'vi.spyOn(fs, "link")',
  'vi.spyOn(Object.getPrototypeOf(handle), "write")',
  'vi.spyOn(Socket.prototype, "write")',
  'process.env["A"] = "1"',
  "process.env.A ??= x",
  "delete process.env.A",
  "globalThis.fetch = read",
  "Object.assign(globalThis, { a })",
  "setDefaultCACertificates([])",
])("%s is found", (text) => {
  expect(isReplacing(text)).toBe(true);
});

test.each([
  'vi.spyOn(app.ctx, "notify")',
  "process.env.A === x",
  "const f: typeof globalThis.fetch = (a) => a",
])("%s may stay", (text) => {
  expect(isReplacing(text)).toBe(false);
});

test("what a process has once is replaced by test files that have one of their own, and by no others", () => {
  const apart = new Set(globSync([...APART], { cwd: ROOT }));
  const files = globSync(SHARING, { cwd: ROOT, exclude: ["test/house/apart.test.ts"] });
  expect(files.length).toBeGreaterThan(300);
  const replacing = files.filter((path) => isReplacing(readFileSync(join(ROOT, path), "utf8")));
  expect(replacing.filter((path) => !apart.has(path))).toEqual([]);
  expect(APART.filter((pattern) => globSync(pattern, { cwd: ROOT }).length === 0)).toEqual([]);
});
