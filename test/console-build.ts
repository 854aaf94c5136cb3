// The built console for browser tests: what is in src now, in its production form, built once and shared by all of them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/**
 * Makes dist/console what `npm start` would serve; nothing happens when it is up to date. Never installs packages: those may be
 * shared with other checkouts. Throws: with the output of the build.
 */
export function buildConsole(): void {
  const built = spawnSync(process.execPath, ["scripts/bootstrap.js", "console", "no-install"], {
    cwd: join(import.meta.dirname, ".."),
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(built.stdout + built.stderr);
}
