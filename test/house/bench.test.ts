// What the operator at the terminal reads when the benchmark is called with flags that it does not know. Measures nothing.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

function run(...args: string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["bench/run.ts", ...args], {
    cwd: join(import.meta.dirname, "../.."),
    encoding: "utf8",
  });
  return { stdout, stderr, status };
}

test("--help shows what there is, and starts nothing", () => {
  expect(run("--help")).toEqual({
    stdout: expect.stringMatching(/^usage: npm run bench/),
    stderr: "",
    status: 0,
  });
});

test.each([
  [["--case", "nope"], "--case is one of json, "],
  [["--profile", "--case", "translate"], "--case is one of json, "],
  [["--nope"], "Unknown option '--nope'"],
  [["now"], "Unexpected argument 'now'"],
])("%s ends in a sentence and the usage", (args, sentence) => {
  const { stdout, stderr, status } = run(...args);
  expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
  expect(stderr).toContain(`bench: ${sentence}`);
  expect(stderr).toMatch(/\nusage: npm run bench/);
  expect(stderr).not.toMatch(/^ +at /m);
});
