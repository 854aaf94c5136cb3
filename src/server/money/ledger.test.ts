import { describe, expect, test } from "vitest";
import { statLogs } from "#server/store/log-stats.ts";
import { findToken, updateToken } from "#server/store/tokens.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { bill, logPart, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedAccount, seedChannel } from "#test/worlds/stores.ts";

describe.each(engines)("ledger on %s", (engine) => {
  const world = useLedgerWorld(engine);
  test("sets aside from user and token, and books the difference with everything that belongs to it", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 600n });
    const channelId = await seedChannel(world.db);
    const held = order(account, 500n);
    expect(await world.ledger.reserve(held)).toBe("reserved");
    expect(await world.balances(account)).toEqual({ quota: 500, used: 0, remain: 100, status: 1 });
    const cost = { cost: 90_000, saved: 500, group: "vip" };
    expect(await world.ledger.settle({ ...bill(held, 120n), channelId, cost })).toEqual({
      charged: 120n,
      shortfall: 0n,
    });
    expect(await world.balances(account)).toEqual({ quota: 880, used: 120, remain: 480, status: 1 });
    const user = await getUser(world.db, account.userId);
    const token = await findToken(world.db, account.tokenId);
    expect(user.request_count).toBe(1);
    expect(token).toMatchObject({ used_quota: 120, accessed_time: world.clock.seconds() });
    const [entry] = await world.logsOf(account);
    expect(entry).toMatchObject({
      user_id: account.userId,
      username: user.username,
      token_id: account.tokenId,
      token_name: token?.name,
      type: 2,
      quota: 120,
      prompt_tokens: 10,
      completion_tokens: 5,
      channel_id: channelId,
      request_id: held.requestId,
      content: "模型倍率 1",
      elapsed_time: 12,
      created_at: world.clock.seconds(),
      cost: 90_000,
    });
    const group = await world.db
      .selectFrom("log_sums")
      .selectAll()
      .where("dimension", "=", "group")
      .execute();
    expect(group).toMatchObject([{ key: "vip", quota: 120, cost: 90_000, costed_quota: 120, saved: 500 }]);
    expect(await statLogs(world.db, { userId: account.userId })).toEqual({
      quota: 120,
      tokens: 15,
      requests: 1,
    });
    expect(await world.openReservations(account)).toEqual([]);
  });

  test.each([
    ["the user has less", 499n, 1000n, {}, "user_quota"],
    ["the token has less", 1000n, 499n, {}, "token_quota"],
    ["the token is exhausted", 1000n, 0n, { status: 4 }, "token_quota"],
    ["the token is disabled", 1000n, 1000n, { status: 2 }, "token_unusable"],
    ["the token has expired", 1000n, 1000n, { expired_time: 1_700_000_000 }, "token_unusable"],
    ["the token was marked as expired", 1000n, 1000n, { status: 3 }, "token_unusable"],
    ["there is enough", 500n, 500n, {}, "reserved"],
    ["the token expires later", 500n, 500n, { expired_time: 1_900_000_000 }, "reserved"],
  ] as const)("answers when %s", async (...[, quota, remain, change, verdict]) => {
    const account = await seedAccount(world.db, world.ledger, { quota, remain });
    await updateToken(world.db, { id: account.tokenId, userId: account.userId, change });
    expect(await world.ledger.reserve(order(account, 500n))).toBe(verdict);
  });

  test("marks a token whose time has run out", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 10n, remain: 10n });
    const change = { expired_time: world.clock.seconds() + 5 };
    await updateToken(world.db, { id: account.tokenId, userId: account.userId, change });
    world.clock.advance(5_000);
    expect(await world.ledger.reserve(order(account, 1n))).toBe("token_unusable");
    expect((await world.balances(account)).status).toBe(3);
  });

  test("refuses users who are disabled or unknown, and tokens that are deleted or another's", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 10n });
    const other = await seedAccount(world.db, world.ledger, { quota: 10n });
    expect(await world.ledger.reserve(order({ userId: 999_999, tokenId: 0 }, 1n))).toBe("user_disabled");
    expect(await world.ledger.reserve(order({ userId: account.userId, tokenId: 999_999 }, 1n))).toBe(
      "token_unusable",
    );
    expect(await world.ledger.reserve(order({ userId: account.userId, tokenId: other.tokenId }, 1n))).toBe(
      "token_unusable",
    );
    await world.db.updateTable("tokens").set({ deleted_at: 5 }).where("id", "=", account.tokenId).execute();
    expect(await world.ledger.reserve(order(account, 1n))).toBe("token_unusable");
    await updateUserProfile(world.db, account.userId, { status: 2 });
    expect(await world.ledger.reserve(order(account, 1n))).toBe("user_disabled");
  });

  test("an amount no user can have is refused, a negative one is an error", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 10n });
    expect(await world.ledger.reserve(order(account, 2n ** 70n))).toBe("user_quota");
    await expect(world.ledger.reserve(order(account, -1n))).rejects.toThrow(RangeError);
    await expect(world.ledger.settle(bill(order(account, 1n), -1n))).rejects.toThrow(RangeError);
    await expect(world.ledger.extend("x", -1n)).rejects.toThrow(RangeError);
  });

  test("a call without a token is bound by the user alone", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 10n });
    const held = order({ userId, tokenId: 0 }, 10n);
    expect(await world.ledger.reserve(held)).toBe("reserved");
    expect(await world.ledger.settle(bill(held, 4n))).toEqual({ charged: 4n, shortfall: 0n });
    expect((await getUser(world.db, userId)).quota).toBe(6);
  });

  test("an unlimited token counts what it used", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const held = order(account, 50n);
    await world.ledger.reserve(held);
    await world.ledger.settle(bill(held, 30n));
    expect(await findToken(world.db, account.tokenId)).toMatchObject({
      used_quota: 30,
      remain_quota: 0,
      status: 1,
    });
  });

  test("never drives user or token below zero; the rest is a shortfall that the log tells", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 70n });
    const held = order(account, 50n);
    await world.ledger.reserve(held);
    expect(await world.ledger.settle(bill(held, 100n))).toEqual({ charged: 70n, shortfall: 30n });
    expect(await world.balances(account)).toEqual({ quota: 930, used: 70, remain: 0, status: 4 });
    const [entry] = await world.logsOf(account);
    expect(entry?.content).toBe("模型倍率 1（余额不足，少收 30）");
    const poor = await seedAccount(world.db, world.ledger, { quota: 60n });
    const second = order(poor, 50n);
    await world.ledger.reserve(second);
    expect(await world.ledger.settle(bill(second, 2n ** 80n))).toEqual({
      charged: 60n,
      shortfall: BigInt(Number.MAX_SAFE_INTEGER),
    });
  });

  test("settles once, however often and however parallel it is asked, also after a restart", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1000n, remain: 1000n });
    const held = order(account, 100n);
    await world.ledger.reserve(held);
    const bookings = await Promise.all(
      Array.from({ length: 100 }, (_, index) => world.ledger.settle(bill(held, BigInt(index)))),
    );
    expect(new Set(bookings.map((booking) => booking.charged))).toEqual(new Set([0n]));
    const later = world.boot().ledger;
    expect(await later.settle(bill(held, 77n))).toEqual({ charged: 0n, shortfall: 0n });
    await expect(later.reserve({ ...held, amount: 5n })).rejects.toThrow("was settled before");
    await later.close();
    expect((await getUser(world.db, account.userId)).request_count).toBe(1);
  });

  test("reserving again with the same id changes nothing", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 100n });
    const held = order(account, 60n);
    expect(await world.ledger.reserve(held)).toBe("reserved");
    expect(await world.ledger.reserve(held)).toBe("reserved");
    expect(await world.balances(account)).toMatchObject({ quota: 40, remain: 40 });
  });

  test("a call that was not reserved is charged from what there is", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 20n });
    expect(await world.ledger.settle(bill(order(account, 0n), 30n))).toEqual({
      charged: 20n,
      shortfall: 10n,
    });
    expect(await world.balances(account)).toEqual({ quota: 80, used: 20, remain: 0, status: 4 });
    await expect(world.ledger.settle(bill(order({ userId: 999_999, tokenId: 0 }, 0n), 1n))).rejects.toThrow(
      "does not exist",
    );
  });

  test("books without a visible log when that is switched off", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const held = order(account, 60n);
    await world.ledger.reserve(held);
    await world.ledger.settle({ ...bill(held, 10n), log: null });
    await world.ledger.settle({ ...bill(order(account, 0n), 0n), log: null });
    expect(await world.logsOf(account)).toEqual([]);
    expect(await statLogs(world.db, { userId: account.userId, modelName: "gpt-4o" })).toEqual({
      quota: 10,
      tokens: 15,
      requests: 1,
    });
    expect((await getUser(world.db, account.userId)).request_count).toBe(2);
  });

  test("keeps the failed attempts beside the text, whatever is added to that", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n, remain: 10n });
    const held = order(account, 10n);
    await world.ledger.reserve(held);
    const log = { ...logPart, trail: "999:upstream_500,998:do_request_failed" };
    await world.ledger.settle({ ...bill(held, 15n), log });
    await world.ledger.settle(bill(order(account, 0n), 0n));
    const [plain, entry] = await world.logsOf(account);
    expect(entry).toMatchObject({
      content: "模型倍率 1（余额不足，少收 5）",
      trail: [
        { channelId: 999, channelName: "", error: "upstream_500" },
        { channelId: 998, channelName: "", error: "do_request_failed" },
      ],
    });
    expect(plain).toMatchObject({ content: "模型倍率 1", trail: [] });
  });

  test("stores whatever an upstream reported and a caller typed", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    const held = { ...order(account, 0n), modelName: `odd\u0000${"x".repeat(500)}` };
    await world.ledger.reserve(held);
    const usage = { promptTokens: 1.5, completionTokens: Number.NaN, cachedTokens: -7 };
    const oddLog = {
      ...logPart,
      content: "a\u0000b",
      model_name: held.modelName,
      elapsed_time: -1,
      is_stream: 7,
      estimated: 3,
    };
    await world.ledger.settle({ ...bill(held, 1n), usage, log: oddLog });
    const [entry] = await world.logsOf(account);
    expect(entry).toMatchObject({
      prompt_tokens: 1,
      completion_tokens: 0,
      cached_tokens: 0,
      elapsed_time: 0,
      is_stream: 1,
      estimated: 1,
      content: "ab",
      model_name: `odd${"x".repeat(197)}`,
    });
  });

  test.each([
    ["the user has for 37", 37n * 20n + 19n, undefined],
    ["the token has for 37", 10n ** 12n, 37n * 20n + 19n],
  ])("of 1,000 parallel calls exactly as many are let through as %s", async (_case, quota, remain) => {
    const account = await seedAccount(world.db, world.ledger, {
      quota,
      ...(remain !== undefined && { remain }),
    });
    const orders = Array.from({ length: 1_000 }, () => order(account, 20n));
    const other = world.boot().ledger;
    const verdicts = await Promise.all(
      orders.map((held, index) => (index % 2 ? world.ledger : other).reserve(held)),
    );
    const through = orders.filter((_, index) => verdicts[index] === "reserved");
    expect(through).toHaveLength(37);
    expect(new Set(verdicts)).toEqual(
      new Set(["reserved", remain === undefined ? "user_quota" : "token_quota"]),
    );
    await Promise.all(
      through.map((held, index) => (index % 2 ? world.ledger : other).settle(bill(held, 20n))),
    );
    const left = await world.balances(account);
    expect(remain === undefined ? left.quota : left.remain).toBe(19);
    await other.close();
  });
});
