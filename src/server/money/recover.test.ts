import { describe, expect, test } from "vitest";
import { bill, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedAccount, seedChannel } from "#test/worlds/stores.ts";
import { watchDead } from "./recover.ts";

describe.each(engines)("recovery on %s", (engine) => {
  const world = useLedgerWorld(engine);
  test("recovery charges the last checkpoint of a dead process and returns the rest", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 1000n });
    const channelId = await seedChannel(world.db);
    const { ledger: dead, node: deadNode } = world.boot();
    const [seen, unseen] = [order(account, 300n), order(account, 200n)];
    await dead.reserve(seen);
    await dead.reserve(unseen);
    const note = (charge: bigint) =>
      dead.checkpoint(seen.requestId, {
        charge,
        promptTokens: 9,
        completionTokens: Number(charge),
        channelId,
      });
    note(10n);
    note(20n);
    note(55n);
    await expect
      .poll(() =>
        world.db
          .selectFrom("reservations")
          .select("seen_charge")
          .where("request_id", "=", seen.requestId)
          .executeTakeFirst(),
      )
      .toEqual({ seen_charge: 55 });
    const alive = order(account, 100n);
    await world.ledger.reserve(alive);
    // The process is gone without a word: on PostgreSQL its lease runs out.
    await world.db.updateTable("nodes").set({ lease_until: 0 }).where("node", "=", deadNode).execute();
    expect(await world.ledger.recover()).toEqual({ closed: 2 });
    expect(await world.ledger.recover()).toEqual({ closed: 0 });
    expect(await world.openReservations(account)).toEqual([{ request_id: alive.requestId }]);
    expect(await world.balances(account)).toEqual({ quota: 845, used: 55, remain: 845, status: 1 });
    const logs = await world.logsOf(account);
    expect(logs.map((entry) => [entry.quota, entry.completion_tokens, entry.estimated]).sort()).toEqual([
      [0, 0, 1],
      [55, 55, 1],
    ]);
    // It was not dead after all: its settlement finds the books closed.
    expect(await dead.settle(bill(seen, 250n))).toEqual({ charged: 55n, shortfall: 0n });
    await dead.release(unseen.requestId);
    await world.ledger.release(alive.requestId);
    await dead.close();
  });

  test("what is kept outlives its process: any other resumes it, settles it once or returns all of it", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 1000n });
    const { ledger: dead, node: deadNode } = world.boot();
    const kept = { ...order(account, 300n), isKept: true } as const;
    const returned = { ...order(account, 200n), isKept: true } as const;
    expect(await dead.reserve(kept)).toBe("reserved");
    // Here there is nothing to take over: it holds it itself.
    await dead.resume(kept.requestId);
    dead.entrust(kept.requestId);
    expect(await dead.reserve(returned)).toBe("reserved");
    await world.db.updateTable("nodes").set({ lease_until: 0 }).where("node", "=", deadNode).execute();
    expect(await world.ledger.recover()).toEqual({ closed: 0 });
    expect(await world.openReservations(account)).toHaveLength(2);
    // This ledger has not resumed it.
    await world.ledger.release(returned.requestId);
    expect(await world.openReservations(account)).toHaveLength(2);
    for (const { requestId } of [kept, returned]) await world.ledger.resume(requestId);
    const settled = await Promise.all([world.ledger.settle(bill(kept, 250n)), dead.settle(bill(kept, 250n))]);
    expect(settled).toEqual(Array(2).fill({ charged: 250n, shortfall: 0n }));
    await world.ledger.release(returned.requestId);
    // Closed for good.
    for (const { requestId } of [kept, returned]) await world.ledger.resume(requestId);
    await world.ledger.release(returned.requestId);
    expect(await world.ledger.settle(bill(kept, 99n))).toEqual({ charged: 250n, shortfall: 0n });
    expect(await world.openReservations(account)).toEqual([]);
    expect(await world.balances(account)).toEqual({ quota: 750, used: 250, remain: 750, status: 1 });
    expect(await world.logsOf(account)).toHaveLength(1);
    await dead.close();
  });

  test("a call that its own live process cannot settle is closed by the same rule, once", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 1000n });
    const channelId = await seedChannel(world.db);
    const [seen, unseen, settled] = [order(account, 300n), order(account, 200n), order(account, 100n)];
    for (const each of [seen, unseen, settled]) await world.ledger.reserve(each);
    world.ledger.checkpoint(seen.requestId, { charge: 55n, promptTokens: 9, completionTokens: 5, channelId });
    await world.ledger.settle(bill(settled, 10n));
    for (const each of [seen, seen, unseen, settled]) await world.ledger.abandon(each.requestId);
    expect(await world.openReservations(account)).toEqual([]);
    expect(await world.balances(account)).toEqual({ quota: 935, used: 65, remain: 935, status: 1 });
    // What was known only later finds the books closed.
    expect(await world.ledger.settle(bill(seen, 250n))).toEqual({ charged: 55n, shortfall: 0n });
  });

  test("recovers thousands of open reservations within seconds", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 10n ** 9n });
    const dead = world.boot().ledger;
    const begun = performance.now();
    await Promise.all(Array.from({ length: 2_500 }, () => dead.reserve(order(account, 10n))));
    const reservingMs = performance.now() - begun;
    await dead.close();
    const started = performance.now();
    expect(await world.ledger.recover()).toEqual({ closed: 2_500 });
    // A machine too busy for that is measured by what it took to make them.
    expect(performance.now() - started).toBeLessThan(Math.max(4_000, 4 * reservingMs));
    expect(await world.balances(account)).toMatchObject({ quota: 10 ** 9, used: 0 });
  });

  test("a process never takes itself for dead, even when others did", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const { ledger, node } = world.boot();
    const held = order(account, 10n);
    await ledger.reserve(held);
    await world.db.deleteFrom("nodes").where("node", "=", node).execute();
    expect(await ledger.recover()).toEqual({ closed: 0 });
    expect(await ledger.settle(bill(held, 3n))).toEqual({ charged: 3n, shortfall: 0n });
    await ledger.close();
  });
});

test("that the database answers again is reported once", async () => {
  const told: string[] = [];
  let isAway = true;
  const stop = watchDead({
    ledger: { recover: () => (isAway ? Promise.reject(new Error("gone")) : Promise.resolve({ closed: 0 })) },
    events: { ledgerRecovered: () => undefined, databaseAnswers: () => told.push("back") },
    onError: () => told.push("gone"),
  });
  await expect.poll(() => told, { timeout: 10_000 }).toEqual(["gone"]);
  isAway = false;
  await expect.poll(() => told, { timeout: 10_000 }).toEqual(["gone", "back"]);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await stop();
  expect(told).toEqual(["gone", "back"]);
});
