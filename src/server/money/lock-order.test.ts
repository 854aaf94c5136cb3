// No order of operations makes nodes wait for each other in a circle (requirements L07): groups of three nodes take wallets, tokens, channels
// and limits in whatever order calls name them, beside administrators who change limits. PostgreSQL itself counts its deadlocks. Some
// operations here, a hundred thousand in `npm run soak`.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { insertLimit } from "#server/store/limits.ts";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createTestDatabase, seedChannel, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { seedTeam, seedTeamToken } from "#test/worlds/teams.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
import { checkLimits } from "./ledger-check-limits.ts";

const OPERATIONS = rounds(1_500, 100_000);
const IN_FLIGHT = 384;
const NODES = 3;
const WALLETS = 5;
const LIMITS = 12;
const SEED = 20_261_126;

interface Party {
  readonly userId: number;
  readonly tokenId: number;
}

describe("operations of three nodes on PostgreSQL", () => {
  let database: TestDatabase;
  const stores: Store[] = [];
  const ledgers: Ledger[] = [];
  const parties: Party[] = [];
  const wallets: number[] = [];
  const limitIds: number[] = [];
  const channelIds: number[] = [];
  const errors: unknown[] = [];

  const db = () => (stores[0] ?? expect.fail()).db;

  beforeAll(async () => {
    database = await createTestDatabase("postgres");
    const first = await database.open();
    // Locks are what is asked for, not the disk.
    await sql`ALTER DATABASE ${sql.ref(new URL(database.options.databaseUrl ?? "").pathname.slice(1))}
      SET synchronous_commit = off`.execute(first.db);
    await first.close();
    for (let node = 0; node < NODES; node += 1) {
      const store = await database.open();
      stores.push(store);
      const onError = (error: unknown) => errors.push(error);
      ledgers.push(createLedger({ store, clock: systemClock, node: `order${node}`, onError }));
    }
    const [ledger = expect.fail()] = ledgers;
    for (let at = 0; at < WALLETS; at += 1) {
      const { walletId } = await seedTeam(db(), ledger, { quota: 1_000_000_000n });
      wallets.push(walletId);
      for (let token = 0; token < 3; token += 1)
        parties.push({
          userId: walletId,
          tokenId: await seedTeamToken(db(), await seedUser(db()), walletId),
        });
      channelIds.push(await seedChannel(db()));
    }
    for (let at = 0; at < LIMITS; at += 1) {
      const amount = at % 4 === 0 ? 2_000 : 1_000_000_000;
      limitIds.push(await insertLimit(db(), newLimit({ subject_id: at + 1, amount })));
    }
  });
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close();
    for (const store of stores) await store.close();
    await database.drop();
  });

  async function deadlocks(): Promise<number> {
    // What a session has counted is told when it is idle, or when it is asked to.
    await sql`SELECT pg_stat_clear_snapshot()`.execute(db());
    const { rows } = await sql<{ deadlocks: number }>`
      SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`.execute(db());
    return rows[0]?.deadlocks ?? expect.fail();
  }

  /** Some of the limits, in any order. */
  function refs(dice: Dice) {
    const ids = new Set(Array.from({ length: 1 + dice(6) }, () => pick(dice, limitIds)));
    return [...ids].map((limitId) => ({ limitId, holder: 0 }));
  }

  /** A call with whatever may happen to it. Returns how many operations it was. */
  async function call(dice: Dice, id: string): Promise<number> {
    const ledger = pick(dice, ledgers);
    const party = pick(dice, parties);
    const amount = BigInt(1 + dice(50));
    const limited = { limits: refs(dice), zone: "UTC" };
    const verdict = await ledger.reserve({ requestId: id, ...party, amount, modelName: "m", ...limited });
    if (verdict !== "reserved") return 1;
    let count = 2;
    if (dice(3) === 0) {
      await ledger.extend(id, BigInt(dice(20)));
      count += 1;
    }
    if (dice(3) === 0) {
      await ledger.hold(id, { limits: refs(dice), zone: "UTC" });
      count += 1;
    }
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    if (dice(4) === 0) await ledger.release(id);
    else
      await ledger.settle({
        ...{ requestId: id, ...party, channelId: pick(dice, channelIds), charge: BigInt(dice(60)) },
        ...{ usage, log: null },
      });
    return count;
  }

  /** What locks rows beside calls. */
  async function other(dice: Dice, id: string): Promise<number> {
    const ledger = pick(dice, ledgers);
    const kind = dice(40);
    const [fromId, toId] = [pick(dice, wallets), pick(dice, wallets)];
    if (kind > 20 && fromId !== toId)
      await ledger.transfer({
        ...{ operationId: id, fromId, toId, amount: 1n, actorId: fromId },
        ...{ sent: "", received: "", display: { quotaPerUnit: 500_000, inCurrency: true } },
      });
    else if (kind > 0) {
      const grant = { userId: fromId, kind: "grant", actorId: 1, reason: "" } as const;
      await ledger.adjust({ ...grant, operationId: id, quota: { delta: 1n } });
    } else {
      const id = pick(dice, limitIds);
      const amount = 1_000 + dice(5_000);
      const change = db().updateTable("limits").set({ amount }).where("id", "=", id).execute();
      // Behind many calls it may wait for too long, and is refused; it must not be a circle that it waits in.
      await change.catch((error: unknown) => expect(String(error)).toContain("lock timeout"));
    }
    return 1;
  }

  test(`${OPERATIONS} of them end without a deadlock, and the books are exact`, {
    timeout: rounds(300_000, 1_800_000),
  }, async () => {
    const before = await deadlocks();
    let done = 0;
    let begun = 0;
    const worker = async (seed: number) => {
      const dice = createDice(seed);
      while (done < OPERATIONS) {
        const id = `path-${++begun}`;
        done += await (dice(8) === 0 ? other(dice, id) : call(dice, id));
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, at) => worker(SEED + at)));
    expect(errors).toEqual([]);
    expect(await checkLedger(db())).toEqual([]);
    expect(await checkLimits(db())).toEqual([]);
    // The sessions have told what they counted when they end.
    for (const ledger of ledgers.splice(0)) await ledger.close();
    expect((await deadlocks()) - before).toBe(0);
  });
});
