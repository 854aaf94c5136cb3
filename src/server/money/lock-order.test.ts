// No order of operations makes nodes wait for each other in a circle (requirements L07): groups of three nodes take wallets, tokens, channels
// and limits in whatever order calls name them, beside administrators who change limits and rename groups, and members who leave with their
// tokens and caps while these are used. PostgreSQL itself counts its deadlocks. Some operations here, a hundred thousand in `npm run soak`.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seatBy } from "#server/accounts/seats.ts";
import { systemClock } from "#server/clock.ts";
import type { Db, Store } from "#server/store/db.ts";
import { renameGroup } from "#server/store/groups.ts";
import { insertLimit } from "#server/store/limits.ts";
import { findMember, holdTeam, removeMember } from "#server/store/teams.ts";
import { deleteUser } from "#server/store/user-acts.ts";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createTestDatabase, seedChannel, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { seedTeam, seedTeamToken } from "#test/worlds/teams.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
import { checkLimits } from "./ledger-check-limits.ts";

const OPERATIONS = rounds(30_000, 300_000);
const IN_FLIGHT = 384;
const NODES = 3;
/** Members who leave and groups that are renamed at once: each has a connection of its node's few. */
const CHANGING = 2;
const WALLETS = 5;
const LIMITS = 12;
const SEED = 20_261_126;

/** One of two groups. */
const groupOf = (at: number) => (at % 2 === 0 ? "even" : "odd");

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
  const teams: { readonly id: number; readonly wallet_id: number }[] = [];
  const limitIds: number[] = [];
  const channelIds: number[] = [];
  const errors: unknown[] = [];
  let changing = 0;

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
      const group = groupOf(at);
      const { teamId, walletId } = await seedTeam(db(), ledger, { quota: 1_000_000_000n, group });
      wallets.push(walletId);
      teams.push({ id: teamId, wallet_id: walletId });
      for (let token = 0; token < 3; token += 1)
        parties.push({
          userId: walletId,
          tokenId: await seedTeamToken(db(), await seedUser(db()), walletId),
        });
      channelIds.push(await seedChannel(db()));
    }
    for (let at = 0; at < LIMITS; at += 1) {
      const amount = at % 4 === 0 ? 2_000 : 1_000_000_000;
      const subject_name = groupOf(at);
      const whose = { subject: "group", subject_id: at + 1, subject_name } as const;
      limitIds.push(await insertLimit(db(), newLimit({ ...whose, amount })));
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
    const kind = dice(44);
    if (kind >= 40 && changing < CHANGING) {
      changing += 1;
      return (kind > 40 ? leaving(dice, id) : regrouping(dice, id)).finally(() => {
        changing -= 1;
      });
    }
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
      await patiently(db().updateTable("limits").set({ amount }).where("id", "=", id).execute());
    }
    return 1;
  }

  /** Calls of a member with tokens and caps of his own, and his end in the team meanwhile, in one of the ways there are. */
  async function leaving(dice: Dice, id: string): Promise<number> {
    const at = dice(WALLETS);
    const team = teams[at] ?? expect.fail();
    const userId = await seedUser(db(), { group: "leavers" });
    const tokenIds: number[] = [];
    // The newest caps are of the oldest tokens: neither order follows from the other.
    for (let token = 0; token < 3; token += 1)
      tokenIds.push(await seedTeamToken(db(), userId, team.wallet_id));
    const seat = await findMember(db(), team.id, userId);
    const caps: number[] = [];
    for (let cap = 0; cap < 3; cap += 1) {
      const whose = { subject: "seat", subject_id: seat?.seat_id ?? 0 } as const;
      caps.push(await insertLimit(db(), newLimit({ ...whose, amount: 1_000_000 })));
    }
    const calls = Array.from({ length: 6 }, async (_, call) => {
      const ledger = pick(dice, ledgers);
      const requestId = `${id}-${call}`;
      const party = { userId: team.wallet_id, tokenId: pick(dice, tokenIds) };
      const limits = [...caps.map((limitId) => ({ limitId, holder: 0 })), ...refs(dice)];
      const order = { requestId, ...party, amount: 5n, modelName: "m", limits, zone: "UTC" };
      if ((await ledger.reserve(order)) === "reserved") await ledger.release(requestId);
    });
    const ways: ((tx: Db) => Promise<unknown>)[] = [
      async (tx: Db) => {
        await holdTeam(tx, team.id);
        const heir = pick(dice, parties).userId;
        await removeMember(tx, team, { userId, role: "member", heir: dice(2) === 0 ? 0 : heir, now: 1 });
      },
      (tx: Db) => seatBy(tx, { id: 0 }, { userId, told: new Map([[team.id, null]]), now: 1 }),
      (tx: Db) => deleteUser(tx, { id: userId, role: 1, status: 1 }, { name: `gone ${id}`, now: 1 }),
    ];
    await patiently(db().transaction().execute(pick(dice, ways)));
    await Promise.all(calls);
    return 14;
  }

  /** A group gets another name, and back, while calls of the wallets and limits that it names are made. */
  async function regrouping(dice: Dice, id: string): Promise<number> {
    const from = groupOf(dice(2));
    for (const renaming of [
      { from, to: id },
      { from: id, to: from },
    ])
      await patiently(
        db()
          .transaction()
          .execute((tx) => renameGroup(tx, renaming)),
      );
    return 2;
  }

  /** Behind many calls a change may wait for too long, and is refused; it must not be a circle that it waits in. */
  async function patiently(change: Promise<unknown>): Promise<void> {
    await change.catch((error: unknown) => expect(String(error)).toContain("lock timeout"));
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
        const count = await (dice(8) === 0 ? other(dice, id) : call(dice, id));
        // Not before it is there: the other workers go on counting meanwhile.
        done += count;
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
