import { describe, expect, test } from "vitest";
import { bill, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedAccount, seedChannel, seedToken, seedUser } from "#test/worlds/stores.ts";
import { checkLedger } from "./ledger-check.ts";

describe.each(engines)("adjustments on %s", (engine) => {
  const world = useLedgerWorld(engine);

  /** What only an import or a broken program writes beside the ledger. */
  const writeEntry = (parts: {
    readonly user_id: number;
    readonly amount: number;
    readonly token_id?: number;
    readonly token_amount?: number;
    readonly request_id?: string;
  }) =>
    world.db
      .insertInto("ledger")
      .values({
        created_at: 1,
        kind: "opening",
        token_id: 0,
        channel_id: 0,
        token_amount: 0,
        request_id: null,
        shortfall: 0,
        actor_id: 0,
        detail: "",
        ...parts,
      })
      .execute();

  test("turns an absolute balance into an entry with the difference", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 10n });
    const target = { userId: account.userId, actorId: 7, reason: "修改额度" };
    expect(await world.ledger.adjust({ ...target, kind: "adjust", quota: { target: 30n } })).toEqual({
      outcome: "done",
      before: 100n,
      after: 30n,
    });
    const entries = await world.db.selectFrom("ledger").selectAll().orderBy("id", "desc").limit(1).execute();
    expect(entries[0]).toMatchObject({
      kind: "adjust",
      amount: -70,
      token_amount: 0,
      actor_id: 7,
      detail: "修改额度",
    });
    expect(await world.ledger.adjust({ ...target, kind: "adjust", quota: { delta: -31n } })).toEqual({
      outcome: "below_zero",
    });
    const whole = { target: BigInt(Number.MAX_SAFE_INTEGER) };
    expect(await world.ledger.adjust({ ...target, kind: "adjust", quota: whole })).toMatchObject({
      outcome: "done",
    });
    await world.ledger.adjust({ ...target, kind: "adjust", quota: { target: 30n } });
    const most = { delta: BigInt(Number.MAX_SAFE_INTEGER) };
    expect(await world.ledger.adjust({ ...target, kind: "grant", quota: most })).toEqual({
      outcome: "too_large",
    });
    expect(
      await world.ledger.adjust({ ...target, userId: 999_999, kind: "grant", quota: { delta: 1n } }),
    ).toEqual({
      outcome: "not_found",
    });
    expect(await world.ledger.adjust({ ...target, kind: "token-adjust", quota: { delta: 1n } })).toEqual({
      outcome: "not_found",
    });
    const stranger = await seedToken(world.db, await seedUser(world.db));
    const others = { ...target, tokenId: stranger, kind: "token-adjust", quota: { delta: 1n } } as const;
    expect(await world.ledger.adjust(others)).toEqual({ outcome: "not_found" });
  });

  test("does an adjustment once per operation id", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const gift = {
      ...account,
      kind: "grant",
      quota: { delta: 5n },
      actorId: 1,
      reason: "赠送",
      operationId: "gift-1",
    } as const;
    expect(await world.ledger.adjust(gift)).toMatchObject({ outcome: "done" });
    expect(await Promise.all([world.ledger.adjust(gift), world.ledger.adjust(gift)])).toEqual([
      { outcome: "repeated" },
      { outcome: "repeated" },
    ]);
    expect(await world.balances(account)).toMatchObject({ quota: 105 });
  });

  test("a balance imported below zero may rise but not fall, and pays nothing", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    await world.db.updateTable("users").set({ quota: -50 }).where("id", "=", account.userId).execute();
    await writeEntry({ user_id: account.userId, amount: -50, request_id: `import-user-${account.userId}` });
    expect(await checkLedger(world.db)).toEqual([]);
    expect(await world.ledger.reserve(order(account, 1n))).toBe("user_quota");
    expect(await world.ledger.settle(bill(order(account, 0n), 5n))).toEqual({ charged: 0n, shortfall: 5n });
    const change = { userId: account.userId, kind: "adjust", actorId: 1, reason: "" } as const;
    expect(await world.ledger.adjust({ ...change, quota: { delta: -1n } })).toEqual({
      outcome: "below_zero",
    });
    expect(await world.ledger.adjust({ ...change, quota: { delta: 10n } })).toMatchObject({
      outcome: "done",
      after: -40n,
    });
  });

  test("a balance below zero that was not imported is reported, although the ledger agrees", async () => {
    const { userId, tokenId } = await seedAccount(world.db, world.ledger, { quota: 10n, remain: 10n });
    await world.db.updateTable("users").set({ quota: -50 }).where("id", "=", userId).execute();
    await world.db.updateTable("tokens").set({ remain_quota: -7 }).where("id", "=", tokenId).execute();
    await writeEntry({ user_id: userId, amount: -60, token_id: tokenId, token_amount: -17 });
    const below = [
      { table: "users", id: userId, column: "quota", stored: -50, expected: 0 },
      { table: "tokens", id: tokenId, column: "remain_quota", stored: -7, expected: 0 },
    ];
    expect(await checkLedger(world.db)).toEqual(below);
    expect(await checkLedger(world.db, "sums")).toEqual(below);
    const change = { userId, actorId: 1, reason: "" };
    await world.ledger.adjust({ ...change, kind: "adjust", quota: { target: 0n } });
    await world.ledger.adjust({ ...change, kind: "token-adjust", tokenId, quota: { target: 0n } });
    expect(await checkLedger(world.db)).toEqual([]);
  });

  test("entries of the ledger can be neither changed nor removed", async () => {
    await seedAccount(world.db, world.ledger, { quota: 100n });
    await expect(world.db.updateTable("ledger").set({ amount: 1 }).execute()).rejects.toThrow("append-only");
    await expect(world.db.deleteFrom("ledger").execute()).rejects.toThrow("append-only");
  });

  test("the checker finds a number that a statement beside the ledger changed", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 10n });
    const channelId = await seedChannel(world.db);
    await world.db.updateTable("users").set({ quota: 101 }).where("id", "=", account.userId).execute();
    await world.db.updateTable("tokens").set({ used_quota: 5 }).where("id", "=", account.tokenId).execute();
    await world.db.updateTable("channels").set({ used_quota: 5 }).where("id", "=", channelId).execute();
    expect(await checkLedger(world.db)).toEqual([
      { table: "users", id: account.userId, column: "quota", stored: 101, expected: 100 },
      { table: "tokens", id: account.tokenId, column: "used_quota", stored: 5, expected: 0 },
      { table: "channels", id: channelId, column: "used_quota", stored: 5, expected: 0 },
    ]);
    await world.db.updateTable("users").set({ quota: 100 }).where("id", "=", account.userId).execute();
    await world.db.updateTable("tokens").set({ used_quota: 0 }).where("id", "=", account.tokenId).execute();
    await world.db.updateTable("channels").set({ used_quota: 0 }).where("id", "=", channelId).execute();
  });
});
