// The static checks of `npm run check`, counted as tests, so that `npm test` is one run with one total.
import { expect, test } from "vitest";
import { CHECKS, runCheck } from "./checks.ts";

test.for(CHECKS)("$promise", { timeout: 600_000 }, async (check) => {
  const { isOk, output } = await runCheck(check);
  expect(isOk, output).toBe(true);
});
