import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "#test/worlds/soak.ts";
import { splitCharge, takeInOrder } from "./plan-split.ts";

const amount = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt(0n, 40n) },
  { weight: 2, arbitrary: fc.bigInt(0n, 1_000_000n) },
  { weight: 1, arbitrary: fc.constantFrom(0n, BigInt(Number.MAX_SAFE_INTEGER)) },
);
const plans = fc.array(fc.record({ held: amount, free: amount }), { maxLength: 20 });
const sum = (list: readonly bigint[]) => list.reduce((all, one) => all + one, 0n);

describe("a charge is split (requirements Y44)", () => {
  test.each([
    { has: [100_000n], wallet: 500_000n, reserved: 60_000n, charge: 160_000n, to: [[100_000n], 60_000n, 0n] },
    {
      has: [100_000n],
      wallet: 40_000n,
      reserved: 60_000n,
      charge: 160_000n,
      to: [[100_000n], 40_000n, 20_000n],
    },
    {
      has: [30_000n, 50_000n],
      wallet: 0n,
      reserved: 60_000n,
      charge: 45_000n,
      to: [[30_000n, 15_000n], 0n, 0n],
    },
    { has: [30_000n], wallet: 100_000n, reserved: 60_000n, charge: 20_000n, to: [[20_000n], 0n, 0n] },
    { has: [], wallet: 100n, reserved: 60n, charge: 100n, to: [[], 100n, 0n] },
  ])("of $has and $wallet: $reserved set aside, $charge charged", ({ has, wallet, reserved, charge, to }) => {
    const { shares, rest } = takeInOrder<bigint>(reserved, has, (free) => free);
    const list = shares.map(({ source, amount: held }) => ({ held, free: source - held }));
    const split = splitCharge(charge, { plans: list, walletHeld: rest, walletFree: wallet - rest });
    expect([split.shares.map((share) => share.amount), split.wallet, split.shortfall]).toEqual(to);
  });

  test("so that parts, wallet and shortfall are the charge, and no plan or wallet gives what it has not", () => {
    fc.assert(
      fc.property(amount, plans, amount, amount, (charge, list, walletHeld, walletFree) => {
        const { shares, wallet, shortfall } = splitCharge(charge, { plans: list, walletHeld, walletFree });
        const parts = sum(shares.map((share) => share.amount));
        const held = sum(list.map((one) => one.held));
        expect(parts + wallet + shortfall).toBe(charge);
        expect(shares.map(({ source }) => source)).toEqual(list);
        const isFair = ({ source, amount: part }: (typeof shares)[number]) =>
          part >= 0n && part <= source.held + source.free;
        expect(shares.every(isFair)).toBe(true);
        expect(wallet >= 0n && wallet <= walletHeld + walletFree && shortfall >= 0n).toBe(true);
        // The wallet gives nothing beyond what it set aside while a plan has something.
        if (wallet > walletHeld) expect(parts).toBe(held + sum(list.map((one) => one.free)));
        if (shortfall > 0n) expect(wallet).toBe(walletHeld + walletFree);
        // What was set aside is spent before anything else.
        if (charge <= held) expect(wallet).toBe(0n);
      }),
      { seed: 20_261_125, numRuns: rounds(3_000, 1_000_000) },
    );
  });
});
