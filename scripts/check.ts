// `npm run check`: everything that can be said about the source without running it, in some 20 seconds when little has changed.
import { spawnSync } from "node:child_process";
import { CHECKS, runCheck } from "#test/house/checks.ts";

async function main(): Promise<void> {
  let failed = 0;
  for (const check of CHECKS) {
    const { isOk, output, durationMs } = await runCheck(check);
    console.log(`${isOk ? "ok  " : "FAIL"}  ${check.promise} (${(durationMs / 1000).toFixed(1)} s)`);
    if (isOk) continue;
    failed += 1;
    console.log(output.trimEnd());
  }
  const house = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--project",
    "unit",
    "test/house/house.test.ts",
    "test/house/supply.test.ts",
  ];
  const { status } = spawnSync(process.execPath, house, { stdio: "inherit" });
  process.exitCode = failed === 0 && status === 0 ? 0 : 1;
}

await main();
