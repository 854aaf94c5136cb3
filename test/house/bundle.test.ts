// The bundled server: nothing that the sources name by its place was left behind, and it needs no package.
import { spawn } from "node:child_process";
import { cpSync, existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { buildServer, SERVER } from "#test/worlds/build.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { freePort, serverEnvironment } from "#test/worlds/process.ts";

const ROOT = join(import.meta.dirname, "../..");
const BUNDLE = join(SERVER, "..");
// Wider than the plugin's own pattern (rolldown.config.ts): finds what that would miss.
const FILE_BESIDE = /\bnew URL\(\s*["'`]([^."'`][^"'`]*|\.\/[^"'`]+)["'`],\s*import\.meta\.url/g;
const FILE_OF_PACKAGE = /\bnew URL\(\s*["'`]([^"'`]+)["'`],\s*import\.meta\.resolve\(/g;
const IMPORTED = /\b(?:from|import)[ (]*"\.\/([^"]+)"/g;

beforeAll(buildServer);

/** What the pattern's first group finds in a file. */
function named(pattern: RegExp, path: string): string[] {
  return [...readFileSync(path, "utf8").matchAll(pattern)].map(([, name = ""]) => name);
}

test("has every program and file that a source names by its place, and every file that one of its own names", () => {
  const reached = new Set(["main.js"]);
  const beside: string[] = [];
  for (const name of reached) {
    const path = join(BUNDLE, name);
    if (!existsSync(path)) throw new Error(`${name} is named and not there`);
    expect(readFileSync(path).includes("import.meta.resolve("), name).toBe(false);
    if (!name.endsWith(".js") || name.startsWith("docs-")) continue;
    const files = named(FILE_BESIDE, path);
    beside.push(...files);
    for (const file of [...files, ...named(IMPORTED, path)]) reached.add(file);
  }
  const sources = globSync("src/server/**/*.ts", { cwd: ROOT }).filter((path) => !path.endsWith(".test.ts"));
  const wanted = sources.flatMap((path) =>
    [FILE_BESIDE, FILE_OF_PACKAGE].flatMap((pattern) => named(pattern, join(ROOT, path))),
  );
  expect(wanted.length).toBeGreaterThan(8);
  expect(beside.length).toBe(wanted.length);
  expect(reached.size).toBeGreaterThan(30);
});

test("serves without a package beside it, its reference of the API included", async () => {
  const home = testDirectory();
  cpSync(BUNDLE, join(home, "dist/server"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(home, "package.json"));
  const port = await freePort();
  const child = spawn(process.execPath, [join(home, "dist/server/main.js")], {
    env: serverEnvironment(join(home, "data"), port),
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  await new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.stderr.on("data", (data) => {
      said += String(data);
      if (said.includes("listening on")) resolve();
    });
  });
  expect(said).toContain("listening on");
  for (const path of ["/readyz", "/api/status", "/api/docs", "/api/docs/docs.js"])
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(200);
});
