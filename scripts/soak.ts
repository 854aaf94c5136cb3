// `npm run soak`: the tests that kill, race, try at random or look at everything in every way, for long; names of files narrow it. Takes about an hour.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";

/** Tests that go on for longer in a soak ask soak.ts how long. */
function lasting(): string[] {
  return globSync("{src,test}/**/*.test.ts").filter((file) =>
    readFileSync(file, "utf8").includes("#test/worlds/soak.ts"),
  );
}

const chosen = process.argv.slice(2);
const files = chosen.length > 0 ? chosen : lasting();
const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...files], {
  stdio: "inherit",
  env: { ...process.env, SOAK: "1" },
});
process.exitCode = status ?? 1;
