// What `npm start` builds, for tests that look at it or start it: of what is in src now, built once and shared by all of them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** The server as operators start it, for `node`; `buildServer` first. */
export const SERVER = join(ROOT, "dist/server/main.js");

const built = new Set<string>();

/**
 * Makes dist/<part> what `npm start` would run; nothing happens when it is up to date. Never installs packages: those may be
 * shared with other checkouts. Throws: with the output of the build.
 */
function build(part: string): void {
  if (built.has(part)) return;
  const args = ["scripts/bootstrap.js", part, "no-install"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(stdout + stderr);
  built.add(part);
}

export function buildConsole(): void {
  build("console");
}

export function buildServer(): void {
  build("server");
}
