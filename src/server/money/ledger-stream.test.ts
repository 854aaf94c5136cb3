import { describe, expect, test } from "vitest";
import { insertLimit } from "#server/store/limits.ts";
import { bill, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { engines, seedAccount } from "#test/worlds/stores.ts";
import type { LimitRefusal } from "./operations.ts";

describe.each(engines)("streams on %s", (engine) => {
  const world = useLedgerWorld(engine);
  test("an exhausted token works again when something comes back to it", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 100n });
    const [first, second, third] = [order(account, 40n), order(account, 40n), order(account, 20n)];
    for (const held of [first, second, third]) expect(await world.ledger.reserve(held)).toBe("reserved");
    await world.ledger.settle(bill(first, 40n));
    expect((await world.balances(account)).status).toBe(4);
    await world.ledger.release(second.requestId);
    expect(await world.balances(account)).toMatchObject({ status: 1, remain: 40 });
    await world.ledger.settle(bill(third, 60n));
    expect(await world.balances(account)).toMatchObject({ status: 4, remain: 0 });
    const target = { userId: account.userId, tokenId: account.tokenId, actorId: 1, reason: "充值" };
    await world.ledger.adjust({ ...target, kind: "token-adjust", quota: { target: 5n } });
    expect(await world.balances(account)).toMatchObject({ status: 1, remain: 5 });
    await world.ledger.adjust({ ...target, kind: "token-adjust", quota: { delta: -5n } });
    expect(await world.balances(account)).toMatchObject({ status: 4, remain: 0 });
  });

  test("extends while there is something, from user and token", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 60n });
    const held = order(account, 30n);
    await world.ledger.reserve(held);
    expect(await world.ledger.extend(held.requestId, 20n)).toBe(true);
    expect(await world.balances(account)).toMatchObject({ quota: 50, remain: 10 });
    expect(await world.ledger.extend(held.requestId, 20n)).toBe(false);
    expect(await world.balances(account)).toMatchObject({ quota: 50, remain: 10 });
    expect(await world.ledger.extend(held.requestId, 2n ** 60n)).toBe(false);
    expect(await world.ledger.extend("unknown", 1n)).toBe(false);
    await world.ledger.settle(bill(held, 50n));
    expect(await world.balances(account)).toMatchObject({ quota: 50, used: 50, remain: 10 });
    const free = await seedAccount(world.db, world.ledger, { quota: 100n });
    const open2 = order(free, 30n);
    await world.ledger.reserve(open2);
    expect(await world.ledger.extend(open2.requestId, 71n)).toBe(false);
    expect(
      await Promise.all([
        world.ledger.extend(open2.requestId, 10n),
        world.ledger.extend(open2.requestId, 10n),
      ]),
    ).toEqual([true, true]);
    await world.ledger.release(open2.requestId);
    expect(await world.ledger.extend(open2.requestId, 1n)).toBe(false);
  });

  test("extends to the very last unit of user and token", async () => {
    const byUser = await seedAccount(world.db, world.ledger, { quota: 100n });
    const byToken = await seedAccount(world.db, world.ledger, { quota: 1_000n, remain: 100n });
    for (const account of [byUser, byToken]) {
      const held = order(account, 30n);
      await world.ledger.reserve(held);
      expect(await world.ledger.extend(held.requestId, 71n)).toBe(false);
      expect(await world.ledger.extend(held.requestId, 70n)).toBe(true);
      expect(await world.ledger.settle(bill(held, 100n))).toEqual({ charged: 100n, shortfall: 0n });
    }
  });

  test("tells which limit has no room for more, and nothing where it is user or token", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    const [wide, tight] = [
      await insertLimit(world.db, newLimit({ amount: 500 })),
      await insertLimit(world.db, newLimit({ amount: 100, time_window: "day" })),
    ];
    const limits = [wide, tight].map((limitId) => ({ limitId, holder: 0 }));
    const held = { ...order(account, 30n), limits, zone: "UTC" };
    expect(await world.ledger.reserve(held)).toBe("reserved");
    const told: LimitRefusal[] = [];
    const hear = { zone: "UTC", hear: (refusal: LimitRefusal) => told.push(refusal) };
    expect(await world.ledger.extend(held.requestId, 70n, hear)).toBe(true);
    expect(await world.ledger.extend(held.requestId, 2_000n, hear)).toBe(false);
    expect(told).toEqual([]);
    expect(await world.ledger.extend(held.requestId, 1n, hear)).toBe(false);
    const midnight = (Math.floor(world.clock.seconds() / 86_400) + 1) * 86_400;
    expect(told).toEqual([
      { limitId: tight, holder: 0, amount: 100n, used: 100n, resetsAt: midnight, canFit: true },
    ]);
    expect(await world.ledger.extend(held.requestId, 1n)).toBe(false);
    await world.ledger.release(held.requestId);
  });

  test("an extension of what another node closed is refused", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const held = order(account, 30n);
    await world.ledger.reserve(held);
    const other = world.boot().ledger;
    await other.settle(bill(held, 10n));
    expect(await world.ledger.extend(held.requestId, 10n)).toBe(false);
    await world.ledger.release(held.requestId);
    await other.close();
    expect(await world.balances(account)).toMatchObject({ quota: 90 });
  });

  test("releases everything, once, and nothing after settling", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 100n });
    const held = order(account, 60n);
    await world.ledger.reserve(held);
    await Promise.all([world.ledger.release(held.requestId), world.ledger.release(held.requestId)]);
    await world.ledger.release(held.requestId);
    expect(await world.balances(account)).toMatchObject({ quota: 100, used: 0, remain: 100 });
    const second = order(account, 60n);
    await world.ledger.reserve(second);
    await Promise.all([world.ledger.settle(bill(second, 10n)), world.ledger.release(second.requestId)]);
    expect(await world.balances(account)).toMatchObject({ quota: 90, remain: 90 });
  });

  test("a checkpoint of an unknown or closed call is nothing", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const seen = { charge: 1n, promptTokens: 1, completionTokens: 1, channelId: 0 };
    world.ledger.checkpoint("unknown", seen);
    const held = order(account, 10n);
    await world.ledger.reserve(held);
    world.ledger.checkpoint(held.requestId, { ...seen, charge: 2n ** 70n });
    world.ledger.checkpoint(held.requestId, seen);
    await world.ledger.settle(bill(held, 3n));
    expect(await world.balances(account)).toMatchObject({ quota: 97 });
  });
});
