// The laws of teams' wallets (requirements O01, O02): the wallet of the moment pays, the person never, whichever wallet or
// person a token belongs to meanwhile; a plain model that keeps every call, beside the real ledger.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { updateToken } from "#server/store/tokens.ts";
import { bill, type LedgerWorld, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, seedAccount } from "#test/worlds/stores.ts";
import { moveToken, seedTeam, seedTeamToken } from "#test/worlds/teams.ts";
import { checkLedger } from "./ledger-check.ts";

const display = { quotaPerUnit: 500_000, inCurrency: true };
let serial = 0;
const nextId = () => `move-${++serial}-${Date.now()}`;

const stepArbitrary = fc.record({
  kind: fc.constantFrom(
    ...(["reserve", "reserve", "reserve", "settle", "settle", "release", "extend", "move"] as const),
  ),
  amount: fc.nat(60),
  which: fc.nat(7),
  to: fc.nat(5),
});

interface Step {
  readonly kind: "reserve" | "settle" | "release" | "extend" | "move";
  readonly amount: number;
  readonly which: number;
  readonly to: number;
}

interface ModelCall {
  readonly requestId: string;
  readonly userId: number;
  readonly tokenId: number;
  held: bigint;
}

describe.each(engines)("wallets of teams on %s", (engine) => {
  const world = useLedgerWorld(engine);

  test("the wallet pays, and the person's quota is neither touched nor looked at", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 7n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 1_000n });
    const tokenId = await seedTeamToken(world.db, userId, walletId);
    const held = order({ userId: walletId, tokenId }, 600n);
    expect(await world.ledger.reserve(held)).toBe("reserved");
    expect(await world.ledger.reserve(order({ userId: walletId, tokenId }, 401n))).toBe("user_quota");
    expect(await world.ledger.settle(bill(held, 150n))).toEqual({ charged: 150n, shortfall: 0n });
    expect(await quotaOf(world, walletId)).toBe(850n);
    expect(await quotaOf(world, userId)).toBe(7n);
    const entry = { user_id: walletId, actor_id: userId, token_id: tokenId, amount: -150 };
    expect(
      await world.db
        .selectFrom("ledger")
        .select(["user_id", "actor_id", "token_id", "amount"])
        .where("request_id", "=", held.requestId)
        .executeTakeFirst(),
    ).toEqual(entry);
    expect(
      await world.db
        .selectFrom("logs")
        .select(["user_id", "member_id"])
        .where("request_id", "=", held.requestId)
        .executeTakeFirst(),
    ).toEqual({ user_id: walletId, member_id: userId });
  });

  test("neither the person nor another team can be made to pay for a token", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 1_000n });
    const other = await seedTeam(world.db, world.ledger, { quota: 1_000n });
    const tokenId = await seedTeamToken(world.db, userId, walletId);
    expect(await world.ledger.reserve(order({ userId, tokenId }, 1n))).toBe("token_unusable");
    expect(await world.ledger.reserve(order({ userId: other.walletId, tokenId }, 1n))).toBe("token_unusable");
  });

  test("a call that runs when its token changes hands is booked where it was taken", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 500n });
    const heir = await seedAccount(world.db, world.ledger, { quota: 500n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 500n });
    const personal = order(account, 300n);
    expect(await world.ledger.reserve(personal)).toBe("reserved");
    await moveToken(world.db, account.tokenId, { wallet_id: walletId });
    const team = order({ userId: walletId, tokenId: account.tokenId }, 300n);
    expect(await world.ledger.reserve(team)).toBe("reserved");
    await moveToken(world.db, account.tokenId, { wallet_id: walletId, user_id: heir.userId });
    await world.ledger.settle(bill(personal, 100n));
    await world.ledger.settle(bill(team, 40n));
    expect(await quotaOf(world, account.userId)).toBe(400n);
    expect(await quotaOf(world, walletId)).toBe(460n);
    expect(await quotaOf(world, heir.userId)).toBe(500n);
    expect(await checkLedger(world.db, "sums")).toEqual([]);
  });

  test("of many calls at once exactly as many are reserved as the wallet has quota for", async () => {
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 105n });
    const tokens: number[] = [];
    for (let member = 0; member < 4; member += 1) {
      const { userId } = await seedAccount(world.db, world.ledger, { quota: 1n });
      tokens.push(await seedTeamToken(world.db, userId, walletId));
    }
    const calls = Array.from({ length: 80 }, (_, n) =>
      order({ userId: walletId, tokenId: tokens[n % 4] ?? 0 }, 10n),
    );
    const verdicts = await Promise.all(calls.map((call) => world.ledger.reserve(call)));
    expect(verdicts.filter((verdict) => verdict === "reserved")).toHaveLength(10);
    expect(await quotaOf(world, walletId)).toBe(5n);
    for (const [n, call] of calls.entries())
      if (verdicts[n] === "reserved") await world.ledger.release(call.requestId);
    expect(await quotaOf(world, walletId)).toBe(105n);
  });

  const moved = async (fromId: number, toId: number, amount: bigint | null, operationId = nextId()) =>
    world.ledger.transfer({
      operationId,
      fromId,
      toId,
      amount,
      actorId: 1,
      sent: "转出",
      received: "转入",
      display,
    });

  test("a transfer is done once, by two entries, or not at all", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 100n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 0n });
    const once = nextId();
    for (let turn = 0; turn < 3; turn += 1)
      expect(await moved(userId, walletId, 60n, once)).toEqual({ outcome: "done", amount: 60n });
    expect([await quotaOf(world, userId), await quotaOf(world, walletId)]).toEqual([40n, 60n]);
    const entries = world.db
      .selectFrom("ledger")
      .select(["user_id", "amount", "kind"])
      .where("request_id", "like", `${once}%`)
      .orderBy("amount");
    expect(await entries.execute()).toEqual([
      { user_id: userId, amount: -60, kind: "transfer" },
      { user_id: walletId, amount: 60, kind: "transfer" },
    ]);
    const refused: [number, number, bigint | null, string][] = [
      [userId, walletId, 41n, "short"],
      [userId, walletId, 0n, "short"],
      [userId, userId, 1n, "not_found"],
      [userId, 987_654_321, 1n, "not_found"],
      [987_654_321, walletId, 1n, "not_found"],
    ];
    for (const [from, to, amount, outcome] of refused)
      expect(await moved(from, to, amount)).toEqual({ outcome });
    expect(await moved(walletId, userId, null)).toEqual({ outcome: "done", amount: 60n });
    expect(await moved(walletId, userId, null)).toEqual({ outcome: "short" });
    await expect(moved(userId, walletId, -1n)).rejects.toThrow(RangeError);
    expect([await quotaOf(world, userId), await quotaOf(world, walletId)]).toEqual([100n, 0n]);
  });

  test("nothing goes to an account that is gone, or that could not hold it", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 100n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: BigInt(Number.MAX_SAFE_INTEGER) });
    expect(await moved(userId, walletId, 1n)).toEqual({ outcome: "too_large" });
    await world.db.updateTable("users").set({ status: 3 }).where("id", "=", walletId).execute();
    expect(await moved(userId, walletId, 1n)).toEqual({ outcome: "not_found" });
    // Its own quota can go: so a team is closed.
    expect(await moved(walletId, userId, 5n)).toEqual({ outcome: "done", amount: 5n });
    await moved(walletId, (await seedAccount(world.db, world.ledger, { quota: 0n })).userId, null);
  });

  test("of many transfers at once exactly as many are done as there is quota for", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 105n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 0n });
    const answers = await Promise.all(Array.from({ length: 40 }, () => moved(userId, walletId, 10n)));
    expect(answers.filter(({ outcome }) => outcome === "done")).toHaveLength(10);
    // To and fro at once: both accounts are locked in one order.
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 === 0 ? moved(userId, walletId, 3n) : moved(walletId, userId, 3n),
      ),
    );
    expect((await quotaOf(world, userId)) + (await quotaOf(world, walletId))).toBe(105n);
    expect(await checkLedger(world.db)).toEqual([]);
  });

  test("a team's token is not one of its person's own", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 1n });
    const { walletId } = await seedTeam(world.db, world.ledger, { quota: 1n });
    const tokenId = await seedTeamToken(world.db, userId, walletId);
    expect(await updateToken(world.db, { id: tokenId, userId, change: { status: 2 } })).toBe(false);
  });

  test("laws hold whatever happens in whatever order", async () => {
    const run = async (steps: readonly Step[]) => {
      const model = new Model(world);
      await model.begin();
      for (const step of steps) {
        await model.take(step);
        for (const [id, balance] of model.balances) expect(await quotaOf(world, id)).toBe(balance);
      }
      expect(await checkLedger(world.db)).toEqual([]);
      for (const { requestId } of model.open) await world.ledger.release(requestId);
    };
    await fc.assert(fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 25 }), run), {
      seed: 20_261_125,
      numRuns: rounds(8, 200),
      endOnFailure: true,
    });
  });
});

async function quotaOf({ db }: LedgerWorld, id: number): Promise<bigint> {
  const row = await db.selectFrom("users").select("quota").where("id", "=", id).executeTakeFirstOrThrow();
  return BigInt(row.quota);
}

/** Two people with a token each and two wallets, and what every account has after each step. */
class Model {
  readonly #world: LedgerWorld;
  readonly balances = new Map<number, bigint>();
  readonly open: ModelCall[] = [];
  /** Token id → who pays for it now. */
  readonly #payers = new Map<number, number>();
  readonly #people: { userId: number; tokenId: number }[] = [];
  readonly #wallets: number[] = [];

  constructor(world: LedgerWorld) {
    this.#world = world;
  }

  async begin(): Promise<void> {
    const { db, ledger } = this.#world;
    for (let n = 0; n < 2; n += 1) {
      const person = await seedAccount(db, ledger, { quota: 40n });
      const { walletId } = await seedTeam(db, ledger, { quota: 120n });
      this.#people.push(person);
      this.#wallets.push(walletId);
      this.#payers.set(person.tokenId, person.userId);
      this.balances.set(person.userId, 40n).set(walletId, 120n);
    }
  }

  async take({ kind, amount, which, to }: Step): Promise<void> {
    const tokenId = this.#people[which % 2]?.tokenId ?? 0;
    if (kind === "reserve") return this.#reserve(tokenId, BigInt(amount));
    if (kind === "move") return this.#move(tokenId, to);
    const call = this.open[which % Math.max(this.open.length, 1)];
    if (call === undefined) return;
    if (kind === "extend") return this.#extend(call, BigInt(amount));
    this.open.splice(this.open.indexOf(call), 1);
    if (kind === "settle") return this.#settle(call, BigInt(amount));
    await this.#world.ledger.release(call.requestId);
    this.#add(call.userId, call.held);
  }

  #has(id: number): bigint {
    return this.balances.get(id) ?? 0n;
  }

  #add(id: number, amount: bigint): void {
    this.balances.set(id, this.#has(id) + amount);
  }

  async #reserve(tokenId: number, amount: bigint): Promise<void> {
    const userId = this.#payers.get(tokenId) ?? 0;
    const call = order({ userId, tokenId }, amount);
    const fits = this.#has(userId) >= amount;
    expect(await this.#world.ledger.reserve(call)).toBe(fits ? "reserved" : "user_quota");
    if (!fits) return;
    this.#add(userId, -amount);
    this.open.push({ requestId: call.requestId, userId, tokenId, held: amount });
  }

  async #move(tokenId: number, to: number): Promise<void> {
    const walletId = this.#wallets[to % 2] ?? 0;
    const userId = this.#people[to % 3 === 0 ? 0 : 1]?.userId ?? 0;
    await moveToken(this.#world.db, tokenId, { wallet_id: walletId, user_id: userId });
    this.#payers.set(tokenId, walletId);
  }

  async #extend(call: ModelCall, more: bigint): Promise<void> {
    const fits = this.#has(call.userId) >= more;
    expect(await this.#world.ledger.extend(call.requestId, more)).toBe(fits);
    if (!fits) return;
    this.#add(call.userId, -more);
    call.held += more;
  }

  async #settle(call: ModelCall, charge: bigint): Promise<void> {
    const payable = this.#has(call.userId) + call.held;
    const charged = charge < payable ? charge : payable;
    const booking = await this.#world.ledger.settle(bill(call, charge));
    expect(booking).toEqual({ charged, shortfall: charge - charged });
    this.#add(call.userId, call.held - charged);
  }
}
