#!/usr/bin/env node
// The entry. First it lets Node keep compiled and type-stripped code between starts: later ones take half the time and a
// third less memory, since the compiler is not even loaded. Everything else is in main/.
import { enableCompileCache } from "node:module";
import { argv, env } from "node:process";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

// Beside the code, never in a directory that other users of the machine can write to. A read-only one is only slower.
const cacheDir = fileURLToPath(new URL("../../.cache/compile", import.meta.url));
enableCompileCache(cacheDir);
// Worker threads learn of it by their environment only.
env["NODE_COMPILE_CACHE"] ??= cacheDir;

// Collections of the young generation are short, and ever so often at load: other threads that help cost more than they do.
setFlagsFromString("--no-parallel-scavenge");
// Where many calls come at once after a start, most objects of theirs outlive the first collections, and V8 would make all later ones where
// only full collections free them, for as long as the process lives: each call then costs a fifth to a third more.
setFlagsFromString("--no-allocation-site-pretenuring");

const args = argv.slice(2);
if (args.length === 0 || (args.length === 1 && args[0] === "serve")) {
  // Nothing of a start runs long enough to be worth optimizing; compilers that are not used are not read into memory: 10 MB.
  for (const compiler of ["opt", "maglev", "sparkplug"]) setFlagsFromString(`--no-${compiler}`);
  const { serve } = await import("./main/serve.ts");
  await serve();
} else {
  const { runCommand } = await import("./main/command.ts");
  process.exitCode = await runCommand(args);
}
