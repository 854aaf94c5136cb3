// The bootstrap in a checkout of its own: what it must never do.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDir } from "./process.ts";

const ROOT = join(import.meta.dirname, "..");

test.each([true, false])("never installs through a linked node_modules (its target exists: %s)", (exists) => {
  const { path, remove } = temporaryDir();
  const [checkout, others] = [join(path, "checkout"), join(path, "others")];
  for (const file of ["scripts/bootstrap.js", "package.json", "package-lock.json"])
    cpSync(join(ROOT, file), join(checkout, file));
  if (exists) {
    mkdirSync(others);
    writeFileSync(join(others, "precious"), "");
  }
  symlinkSync(others, join(checkout, "node_modules"));
  const { status, stderr } = spawnSync(process.execPath, ["scripts/bootstrap.js"], { cwd: checkout });
  expect(status).toBe(1);
  expect(String(stderr)).toContain("node_modules is a symbolic link");
  expect(existsSync(join(others, "precious"))).toBe(exists);
  // The next command does not wait for this one.
  expect(existsSync(join(checkout, ".cache/bootstrap.lock"))).toBe(false);
  remove();
});
