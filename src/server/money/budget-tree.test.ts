// A thousand reservations in one moment, over three nodes, with a budget at each of four levels and a wallet behind them (requirements L07,
// M04, O08, O09): exactly as many are held as the tightest pays for, in all levels; one that is refused at the last level is in none of the
// others. Afterwards the counters are what the ledger says.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { insertLimit, type NewLimit } from "#server/store/limits.ts";
import { bill, order, type Parties } from "#test/worlds/ledger-world.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { createTestDatabase, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { seedProject, seedTeam, seedTeamToken } from "#test/worlds/teams.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
import { checkLimits } from "./ledger-check-limits.ts";

const CALLS = 1_000;
const COST = 7n;
/** So many calls the tightest level pays for; some units are left that no call fits into. */
const FIT = 137;
const TIGHT = FIT * Number(COST) + 6;
const PLENTY = 10 * CALLS * Number(COST);
const LEVELS = ["token", "seat", "project", "team"] as const;

describe("a tree of budgets on three nodes", () => {
  let database: TestDatabase;
  const stores: Store[] = [];
  const ledgers: Ledger[] = [];
  const db = () => (stores[0] ?? expect.fail()).db;

  beforeAll(async () => {
    database = await createTestDatabase("postgres");
    for (const node of ["tree1", "tree2", "tree3"]) {
      const store = await database.open();
      stores.push(store);
      ledgers.push(createLedger({ store, clock: systemClock, node }));
    }
  });
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close();
    for (const store of stores) await store.close();
    await database.drop();
  });

  /** A team's token with a budget at each level, of these amounts. */
  async function tree(amounts: Readonly<Record<(typeof LEVELS)[number], number>>, wallet = BigInt(PLENTY)) {
    const [ledger = expect.fail()] = ledgers;
    const { walletId, teamId } = await seedTeam(db(), ledger, { quota: wallet });
    const person = await seedUser(db());
    const tokenId = await seedTeamToken(db(), person, walletId);
    const ids = { token: tokenId, seat: person, project: await seedProject(db(), walletId), team: teamId };
    const limits: { limitId: number; holder: number }[] = [];
    for (const level of LEVELS) {
      const whose: Partial<NewLimit> = { subject: level, subject_id: ids[level] };
      const row = newLimit({ ...whose, amount: amounts[level], time_window: "day" });
      limits.push({ limitId: await insertLimit(db(), row), holder: 0 });
    }
    const parties: Parties = { userId: walletId, tokenId };
    const reserve = (at: number, amount = COST) => {
      const asked = { ...order(parties, amount), limits, zone: "Asia/Shanghai" };
      return (ledgers[at % ledgers.length] ?? expect.fail()).reserve(asked).then((verdict) => ({
        verdict,
        settle: (charge: bigint) =>
          (ledgers[at % ledgers.length] ?? expect.fail()).settle(bill(asked, charge)),
      }));
    };
    return { walletId, limits, reserve };
  }

  /** Spent and reserved of each level; 0 where no call was ever held. */
  async function counted(limits: readonly { readonly limitId: number }[]) {
    const rows = await db()
      .selectFrom("limit_windows")
      .select(["limit_id", "spent", "reserved"])
      .where(
        "limit_id",
        "in",
        limits.map(({ limitId }) => limitId),
      )
      .execute();
    return limits.map(({ limitId }) => {
      const row = rows.find(({ limit_id }) => limit_id === limitId);
      return [row?.spent ?? 0, row?.reserved ?? 0];
    });
  }

  const quotaOf = async (walletId: number) =>
    (await db().selectFrom("users").select("quota").where("id", "=", walletId).executeTakeFirstOrThrow())
      .quota;

  const many = (reserve: (at: number) => ReturnType<Awaited<ReturnType<typeof tree>>["reserve"]>) =>
    Promise.all(Array.from({ length: CALLS }, (_, at) => reserve(at)));

  test.each(LEVELS)("the %s's budget lets exactly as many pass as it pays for", async (tightest) => {
    const even = { token: PLENTY, seat: PLENTY, project: PLENTY, team: PLENTY };
    const { walletId, limits, reserve } = await tree({ ...even, [tightest]: TIGHT });
    const answers = await many(reserve);
    const passed = answers.filter(({ verdict }) => verdict === "reserved");
    expect(passed).toHaveLength(FIT);
    const refusing = limits[LEVELS.indexOf(tightest)]?.limitId;
    for (const { verdict } of answers)
      if (verdict !== "reserved") expect(verdict).toMatchObject({ limitId: refusing });
    const held = FIT * Number(COST);
    expect(await counted(limits)).toEqual(LEVELS.map(() => [0, held]));
    expect(await quotaOf(walletId)).toBe(PLENTY - held);
    await Promise.all(passed.map(({ settle }) => settle(COST)));
    expect(await counted(limits)).toEqual(LEVELS.map(() => [held, 0]));
    expect(await checkLedger(db())).toEqual([]);
    expect(await checkLimits(db())).toEqual([]);
  });

  test("the wallet is never below 0, and what it refuses is in no budget", async () => {
    const plenty = { token: PLENTY, seat: PLENTY, project: PLENTY, team: PLENTY };
    const { walletId, limits, reserve } = await tree(plenty, BigInt(TIGHT));
    const passed = (await many(reserve)).filter(({ verdict }) => verdict === "reserved");
    expect(passed).toHaveLength(FIT);
    expect(await quotaOf(walletId)).toBe(6);
    // They cost more than was set aside: the wallet gives what it has.
    await Promise.all(passed.map(({ settle }) => settle(COST + 1n)));
    expect(await quotaOf(walletId)).toBe(0);
    expect(await counted(limits)).toEqual(LEVELS.map(() => [TIGHT, 0]));
    expect(await checkLedger(db())).toEqual([]);
    expect(await checkLimits(db())).toEqual([]);
  });

  test("an estimate above the rest is refused at the last level and leaves the other three untouched; a smaller one passes", async () => {
    const { walletId, limits, reserve } = await tree({ token: 100, seat: 100, project: 100, team: 10 });
    expect((await reserve(0, 11n)).verdict).toMatchObject({ limitId: limits[3]?.limitId, canFit: false });
    expect(await counted(limits)).toEqual(LEVELS.map(() => [0, 0]));
    const first = await reserve(1, 8n);
    expect(first.verdict).toBe("reserved");
    expect((await reserve(2, 3n)).verdict).toMatchObject({ limitId: limits[3]?.limitId, canFit: true });
    expect(await counted(limits)).toEqual(LEVELS.map(() => [0, 8]));
    expect((await reserve(0, 2n)).verdict).toBe("reserved");
    expect(await quotaOf(walletId)).toBe(PLENTY - 10);
  });
});
