// The console's files as they are found, first and again.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createConsoleFiles } from "./console-files.ts";

const HOUR_MS = 3_600_000;
const root = mkdtempSync(join(tmpdir(), "tollgate-console-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

mkdirSync(join(root, "assets"));
writeFileSync(join(root, "index.html"), "<p>first</p>");
writeFileSync(join(root, "assets", "main-1.js"), "1");

const ASKED = { language: "zh", acceptEncoding: "", ifNoneMatch: "" } as const;

test("a client that asks while they are listed for the first time is answered too", async () => {
  const files = createConsoleFiles(root, () => 0);
  const paths = ["/", "/", "/assets/main-1.js"];
  const answers = await Promise.all(paths.map((path) => files.answer(path, ASKED)));
  expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200]);
});

test("a new build is found a second later, also after a step back of the clock", async () => {
  let nowMs = HOUR_MS;
  const files = createConsoleFiles(root, () => nowMs);
  const page = async () => Buffer.from((await files.answer("/", ASKED))?.body ?? []).toString();
  expect(await page()).toBe("<p>first</p>");
  writeFileSync(join(root, "index.html"), "<p>another</p>");
  nowMs = 0;
  expect(await page()).toBe("<p>another</p>");
  writeFileSync(join(root, "index.html"), "<p>yet another</p>");
  nowMs = 1_001;
  expect(await page()).toBe("<p>yet another</p>");
});
