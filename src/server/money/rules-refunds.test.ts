// The formula by which refunds take quota back.
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "#test/worlds/soak.ts";
import { partOf } from "./rules-refunds.ts";

test("parts of a refund add up to the quota, however it is split", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 1n, max: 2n ** 53n - 1n }),
      fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 20 }),
      (total, steps) => {
        const paid = steps.reduce((sum, step) => sum + step, 0);
        let taken = 0n;
        let back = 0;
        for (const step of steps) {
          back += step;
          const part = partOf(total, { back, paid, taken });
          expect(part).toBeGreaterThanOrEqual(0n);
          taken += part;
        }
        expect(taken).toBe(total);
      },
    ),
    { numRuns: rounds(2_000, 1_000_000) },
  );
});
