// The list of lines that verify payments is that of the code: one that has moved on could not be removed, and the run would end there.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PAYMENT_CHECKS } from "#scripts/payment-checks.ts";

test("each line that verifies a payment stands once in its file, and is another one without it", () => {
  const stale = PAYMENT_CHECKS.filter(
    ({ file, check, without }) => check === without || readFileSync(file, "utf8").split(check).length !== 2,
  );
  expect(stale).toEqual([]);
  expect(PAYMENT_CHECKS.length).toBeGreaterThan(50);
});
