// `npm run soak`: the tests that kill, race and try at random, for long; names of files narrow it. Takes about half an hour.
import { spawnSync } from "node:child_process";

const FILES = [
  "src/server/money/{crash,laws,limits-laws,plan-split,plans,price,redeem-race,hot-team}.test.ts",
  "src/server/relay/{call-limits,budgets}.test.ts",
  "src/server/egress/http1/stress.test.ts",
  "src/server/store/{migrate-crash,lists}.test.ts",
  "src/server/main/watchdog.test.ts",
  "src/server/log-fuzz.test.ts",
  "src/server/api/sign-in-race.test.ts",
  "test/api/fuzz.test.ts",
  "test/e2e/{crash,budget-crash,signup-crash,payment-crash,renewal-crash,backup}.test.ts",
];

/** Vitest takes parts of names, not patterns. */
function names(pattern: string): string[] {
  const list = /\{(.*)\}/.exec(pattern)?.[1];
  return list === undefined ? [pattern] : list.split(",").map((name) => pattern.replace(/\{.*\}/, name));
}

const chosen = process.argv.slice(2);
const files = chosen.length > 0 ? chosen : FILES.flatMap(names);
const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...files], {
  stdio: "inherit",
  env: { ...process.env, SOAK: "1" },
});
process.exitCode = status ?? 1;
