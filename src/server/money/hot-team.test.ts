// Two hundred members' tokens on one wallet (requirements O03): every call is booked once, and in `npm run soak` the wallet takes at
// least 0.7 times the calls that two hundred separate wallets take, in turns on one PostgreSQL; the reservation's p99 is printed, then
// and at five hundred calls a second. `npm run bench -- --case team` makes the calls through the gateway.
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { bill, type LedgerWorld, order, type Parties, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { IS_SOAK, rounds } from "#test/worlds/soak.ts";
import { seedUser } from "#test/worlds/stores.ts";
import { seedTeam, seedTeamToken } from "#test/worlds/teams.ts";

const MEMBERS = 200;
const IN_FLIGHT = 64;
const PER_SECOND = 500;
const TURNS = rounds(1, 9);
const CALLS = rounds(MEMBERS, 3_000);

interface Turn {
  readonly callsPerSec: number;
  readonly reserveMs: readonly number[];
}

/** Makes the calls, so many at once, each reserved and settled; with `perSecond` each when it falls due, and its time counts from then. */
async function spend(
  { ledger }: LedgerWorld,
  parties: readonly Parties[],
  perSecond?: number,
): Promise<Turn> {
  const reserveMs: number[] = [];
  let next = 0;
  const client = async () => {
    while (next < CALLS) {
      const dueAt = perSecond === undefined ? 0 : started + (next * 1_000) / perSecond;
      const held = order(parties[next++ % MEMBERS] ?? expect.fail(), 10n);
      if (dueAt > performance.now()) await setTimeout(dueAt - performance.now());
      const begun = dueAt || performance.now();
      expect(await ledger.reserve(held)).toBe("reserved");
      reserveMs.push(performance.now() - begun);
      await ledger.settle(bill(held, 7n));
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, client));
  return { callsPerSec: (CALLS * 1_000) / (performance.now() - started), reserveMs };
}

function middle(values: readonly number[], share = 0.5): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

describe("a hot wallet", () => {
  const world = useLedgerWorld("postgres");

  test("keeps pace with separate ones", { timeout: rounds(60_000, 600_000) }, async () => {
    const { db, ledger } = world;
    const hot = await seedTeam(db, ledger, { quota: 10_000_000n });
    const together: Parties[] = [];
    const apart: Parties[] = [];
    for (let n = 0; n < MEMBERS; n += 1) {
      const userId = await seedUser(db);
      const own = await seedTeam(db, ledger, { quota: 1_000_000n });
      together.push({ userId: hot.walletId, tokenId: await seedTeamToken(db, userId, hot.walletId) });
      apart.push({ userId: own.walletId, tokenId: await seedTeamToken(db, userId, own.walletId) });
    }
    const turns: { hot: Turn; cold: Turn }[] = [];
    for (let turn = 0; turn < TURNS; turn += 1)
      turns.push({ cold: await spend(world, apart), hot: await spend(world, together) });
    const paced = await spend(world, together, PER_SECOND);
    const { quota } = await db
      .selectFrom("users")
      .select("quota")
      .where("id", "=", hot.walletId)
      .executeTakeFirstOrThrow();
    expect(quota).toBe(10_000_000 - (TURNS + 1) * CALLS * 7);
    if (!IS_SOAK) return;
    const ratio = middle(turns.map(({ hot: one, cold }) => one.callsPerSec / cold.callsPerSec));
    const p99 = (which: "hot" | "cold") =>
      middle(
        turns.flatMap((turn) => turn[which].reserveMs),
        0.99,
      ).toFixed(1);
    process.stdout.write(
      `one wallet: ${ratio.toFixed(2)} × of ${MEMBERS} wallets; p99 of a reservation ${p99("hot")} ms, apart ${p99("cold")} ms, at ${PER_SECOND} calls a second ${middle(paced.reserveMs, 0.99).toFixed(1)} ms\n`,
    );
    expect(ratio).toBeGreaterThanOrEqual(0.7);
  });
});
