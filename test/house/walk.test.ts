// How many files one streamed call runs through, which is what a reader opens who wants to follow it: they stay few (requirements V12).
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDir } from "#test/worlds/process.ts";

const ROOT = join(import.meta.dirname, "../..");
const MOST_IN_MAIN = 60;
const MOST_IN_WORKERS = 18;

interface Walk {
  readonly main: readonly string[];
  readonly workers: readonly string[];
}

async function walk(): Promise<Walk> {
  const { path, remove } = temporaryDir();
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ["test/worlds/walk.ts", path], {
      cwd: ROOT,
    });
    return JSON.parse(stdout);
  } finally {
    remove();
  }
}

test("a streamed call runs through few files", async () => {
  const { main, workers } = await walk();
  // Else it was not measured.
  expect(main).toContain("src/server/relay/relay.ts");
  expect(workers).toContain("src/server/money/sqlite/writer.ts");
  expect(main.length, main.join("\n")).toBeLessThanOrEqual(MOST_IN_MAIN);
  expect(workers.length, workers.join("\n")).toBeLessThanOrEqual(MOST_IN_WORKERS);
});
