// `npm run check`: everything that can be said about the source without running it, in some 20 seconds when little has changed.
import { CHECKS, type Check, runCheck } from "#test/house/checks.ts";

const HOUSE: Check = {
  promise: "the rules of the house are kept",
  command: [
    "vitest/vitest.mjs",
    "run",
    ...["--project", "unit"],
    "test/house/house.test.ts",
    "test/house/supply.test.ts",
    "test/house/apart.test.ts",
  ],
};

/** As many as two cores have work for: most of the tools use one. */
const LANES = 2;

async function main(): Promise<void> {
  // The longest first, so that no lane ends with it alone.
  const waiting = [HOUSE, ...CHECKS];
  let failed = 0;
  const work = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { isOk, output, durationMs } = await runCheck(check);
      console.log(`${isOk ? "ok  " : "FAIL"}  ${check.promise} (${(durationMs / 1000).toFixed(1)} s)`);
      if (isOk) continue;
      failed += 1;
      console.log(output.trimEnd());
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
