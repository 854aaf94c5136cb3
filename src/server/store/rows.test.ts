// Users, tokens, channels, options and sessions: what the functions of the store promise, on both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEW_CHANNEL } from "#test/seeds/channel-row.ts";
import {
  createTestDatabase,
  engines,
  seedChannel,
  seedToken,
  seedUser,
  type TestDatabase,
} from "#test/worlds/stores.ts";
import {
  countChannels,
  findChannel,
  findChannelKey,
  insertChannels,
  listChannels,
  listLiveChannels,
  removeChannel,
  removeChannelsByStatus,
  setChannelBalance,
  setChannelStatus,
  setChannelTest,
  updateChannel,
} from "./channels.ts";
import type { Db, Store } from "./db.ts";
import { isTaken } from "./fault.ts";
import { findOption, insertOptionOnce, listOptions, saveOption } from "./options.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  deleteSessionsOfUser,
  findSession,
  insertSession,
  touchSession,
} from "./sessions.ts";
import {
  countTokens,
  findToken,
  findTokenByKey,
  listTokens,
  removeToken,
  removeTokensOfUser,
  updateToken,
} from "./tokens.ts";
import {
  countUsers,
  findPasswordByUserId,
  findUserByAffCode,
  findUserById,
  findUserByLogin,
  findUserByName,
  findUserIdByAccessToken,
  getUser,
  listUsers,
  setUserStatus,
  updateUserProfile,
} from "./users.ts";

const first = { page: 0, size: 100 };

describe.each(engines)("rows on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  let db: Db;

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    db = store.db;
  });

  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  test("a user is found by id, name, address, code and access token, and by nothing empty", async () => {
    const id = await seedUser(db, {
      username: "alice",
      email: "alice@example.com",
      aff_code: "AAAA",
      access_token_hash: "hash-of-alice",
      password: "stored",
    });
    await expect(seedUser(db, { username: "alice2", email: "alice@example.com" })).rejects.toThrow();
    expect((await getUser(db, id)).username).toBe("alice");
    expect(await findUserById(db, id)).toEqual(await findUserByName(db, "alice"));
    expect((await findUserByLogin(db, "alice"))?.id).toBe(id);
    expect((await findUserByLogin(db, "alice@example.com"))?.id).toBe(id);
    expect((await findUserByAffCode(db, "AAAA"))?.id).toBe(id);
    expect(await findUserIdByAccessToken(db, "hash-of-alice")).toBe(id);
    expect(await findPasswordByUserId(db, id)).toBe("stored");
    for (const nobody of ["", "nobody", "nobody@example.com"])
      expect(await findUserByLogin(db, nobody)).toBeUndefined();
    expect(await findUserIdByAccessToken(db, "")).toBeUndefined();
    expect(await findPasswordByUserId(db, 999_999)).toBeUndefined();
    await expect(getUser(db, 999_999)).rejects.toThrow();
  });

  test("no row of a user carries the password or the access token", async () => {
    const id = await seedUser(db, { password: "secret", access_token_hash: "also secret" });
    const rows = [await getUser(db, id), ...(await listUsers(db, first))];
    for (const row of rows) expect(Object.keys(row)).not.toEqual(expect.arrayContaining(["password"]));
    expect(JSON.stringify(rows)).not.toContain("secret");
  });

  test("names, codes and bound accounts are unique, empty ones are not", async () => {
    await seedUser(db, { username: "bob", github_id: "77", aff_code: "BBBB" });
    for (const change of [{ username: "bob" }, { github_id: "77" }, { aff_code: "BBBB" }]) {
      expect(isTaken(await seedUser(db, change).catch((error: unknown) => error))).toBe(true);
    }
    await seedUser(db, { github_id: "", aff_code: "" });
    await seedUser(db, { github_id: "", aff_code: "" });
  });

  test("a profile changes as a whole or not at all, a status only from the expected one", async () => {
    const id = await seedUser(db);
    expect(await updateUserProfile(db, id, { display_name: "Neu", group: "vip" })).toBe(true);
    expect(await getUser(db, id)).toMatchObject({ display_name: "Neu", group: "vip" });
    expect(await updateUserProfile(db, id, {})).toBe(true);
    expect(await updateUserProfile(db, 999_999, {})).toBe(false);
    expect(await updateUserProfile(db, 999_999, { group: "vip" })).toBe(false);
    expect([await setUserStatus(db, id, 2, 3), await setUserStatus(db, id, 1, 2)]).toEqual([false, true]);
  });

  test("users are listed newest first, by a column, by keyword, without those of a status", async () => {
    const ids = [];
    for (const name of ["list_a", "list%b", "LIST_C"]) ids.push(await seedUser(db, { username: name }));
    await updateUserProfile(db, ids[2] ?? 0, { status: 3 });
    const names = async (args: object) =>
      (await listUsers(db, { ...first, ...args })).map((row) => row.username);
    expect(await names({ keyword: "list" })).toEqual(["LIST_C", "list%b", "list_a"]);
    expect(await names({ keyword: "list", exceptStatus: 3 })).toEqual(["list%b", "list_a"]);
    expect(await names({ keyword: "list_" })).toEqual(["LIST_C", "list_a"]);
    expect(await names({ keyword: "list%" })).toEqual(["list%b"]);
    expect(await names({ keyword: "%" })).toEqual([]);
    expect(await names({ keyword: String(ids[0]) })).toContain("list_a");
    expect(await names({ keyword: "list", order: "username" })).toEqual(["LIST_C", "list%b", "list_a"]);
    expect(await names({ keyword: "list", order: "status", desc: true })).toEqual([
      "LIST_C",
      "list%b",
      "list_a",
    ]);
    expect(await names({ keyword: "list", order: "password" })).toEqual(["LIST_C", "list%b", "list_a"]);
    expect(await countUsers(db, { keyword: "list" })).toBe(3);
    expect(await countUsers(db, {})).toBeGreaterThan(3);
    expect(await names({ keyword: "list", size: 1, page: 1 })).toEqual(["list%b"]);
    expect(await names({ keyword: "list", size: 100, page: 1_000_000 })).toEqual([]);
  });

  test("a token is found by its owner and by its key, until it is deleted", async () => {
    const userId = await seedUser(db, { group: "vip" });
    const id = await seedToken(db, userId, { key_hash: "key-1", name: "mine" });
    expect(await findToken(db, id, userId)).toMatchObject({ name: "mine", remain_quota: 0 });
    expect(await findToken(db, id, userId + 1)).toBeUndefined();
    expect(await findTokenByKey(db, "key-1")).toMatchObject({
      id,
      user_id: userId,
      group: "vip",
      user_status: 1,
    });
    expect(await updateToken(db, { id, userId: userId + 1, change: { name: "stolen" } })).toBe(false);
    expect(await updateToken(db, { id, userId, change: { name: "renamed" } })).toBe(true);
    expect(await updateToken(db, { id, userId, change: {} })).toBe(true);
    expect(await updateToken(db, { id: 999_999, userId, change: {} })).toBe(false);
    expect(await removeToken(db, { id, userId: userId + 1, now: 5 })).toBe(false);
    expect(await removeToken(db, { id, userId, now: 5 })).toBe(true);
    expect(await removeToken(db, { id, userId, now: 6 })).toBe(false);
    expect([await findToken(db, id), await findTokenByKey(db, "key-1")]).toEqual([undefined, undefined]);
    expect(isTaken(await seedToken(db, userId, { key_hash: "key-1" }).catch((error: unknown) => error))).toBe(
      true,
    );
    const [row] = await db
      .selectFrom("tokens")
      .select(["key_sealed", "deleted_at"])
      .where("id", "=", id)
      .execute();
    expect(row).toEqual({ key_sealed: "", deleted_at: 5 });
  });

  test("tokens are listed for their owner, unlimited ones above all numbers", async () => {
    const userId = await seedUser(db);
    const other = await seedUser(db);
    await seedToken(db, other, { name: "other" });
    const limited = await seedToken(db, userId, { name: "a limited" });
    await seedToken(db, userId, { name: "b unlimited", unlimited_quota: 1 });
    await seedToken(db, userId, { name: "c limited" });
    await db.updateTable("tokens").set({ remain_quota: 50 }).where("id", "=", limited).execute();
    const names = async (args: object) =>
      (await listTokens(db, { userId, ...first, ...args })).map((row) => row.name.charAt(0)).join("");
    expect(await names({})).toBe("cba");
    expect(await names({ order: "name" })).toBe("abc");
    expect(await names({ order: "remain_quota", desc: true })).toBe("bac");
    expect(await names({ order: "remain_quota" })).toBe("cab");
    expect(await names({ prefix: "B" })).toBe("b");
    expect(await countTokens(db, { userId })).toBe(3);
    expect(await countTokens(db, { userId, prefix: "a " })).toBe(1);
    await removeTokensOfUser(db, userId, 9);
    expect([await countTokens(db, { userId }), await countTokens(db, { userId: other })]).toEqual([0, 1]);
  });

  test("channels keep their key to themselves", async () => {
    const id = await seedChannel(db, { key_sealed: "v1:sealed", key_hash: "keyhash", name: "secretive" });
    const shown = [await findChannel(db, id), ...(await listChannels(db, first))];
    expect(JSON.stringify(shown)).not.toMatch(/v1:sealed|keyhash/);
    expect(await findChannelKey(db, id)).toBe("v1:sealed");
    expect((await listLiveChannels(db)).find((channel) => channel.id === id)?.key_sealed).toBe("v1:sealed");
    expect(await listChannels(db, { ...first, keyword: "whole key", keyHash: "keyhash" })).toMatchObject([
      { id },
    ]);
    expect(await removeChannel(db, id, 7)).toBe(true);
    expect(await removeChannel(db, id, 7)).toBe(false);
    expect([await findChannel(db, id), await findChannelKey(db, id)]).toEqual([undefined, undefined]);
    const [row] = await db
      .selectFrom("channels")
      .select(["key_sealed", "key_hash"])
      .where("id", "=", id)
      .execute();
    expect(row).toEqual({ key_sealed: "", key_hash: "" });
  });

  test("channels change, move between statuses once, and keep what a test found", async () => {
    const id = await seedChannel(db, { name: "mover" });
    const move = { from: [1], to: 3, reason: "invalid key", now: 42 };
    expect([await setChannelStatus(db, id, move), await setChannelStatus(db, id, move)]).toEqual([
      true,
      false,
    ]);
    expect(await findChannel(db, id)).toMatchObject({
      status: 3,
      status_reason: "invalid key",
      status_time: 42,
    });
    await setChannelTest(db, id, { responseTimeMs: 321, now: 43 });
    await setChannelBalance(db, id, { amount: 12.5, now: 44 });
    expect(await updateChannel(db, id, { priority: -5, models: "a,b" })).toBe(true);
    expect(await updateChannel(db, id, {})).toBe(true);
    expect(await updateChannel(db, 999_999, {})).toBe(false);
    expect(await findChannel(db, id)).toMatchObject({
      response_time: 321,
      test_time: 43,
      balance: 12.5,
      balance_updated_time: 44,
      priority: -5,
      models: "a,b",
    });
    expect((await listLiveChannels(db, 3)).map((channel) => channel.id)).toEqual([id]);
    expect(await removeChannelsByStatus(db, [2, 3], 50)).toBe(1);
  });

  test("channels are searched by id, name and order, and made all or none", async () => {
    const made = await insertChannels(
      db,
      Array.from({ length: 1_200 }, (_, index) => ({
        ...NEW_CHANNEL,
        key_hash: "",
        key_sealed: "",
        name: `batch${index}`,
        weight: index,
      })),
    );
    expect(made).toHaveLength(1_200);
    expect(await countChannels(db, { keyword: "batch" })).toBe(1_200);
    const heaviest = await listChannels(db, {
      page: 0,
      size: 2,
      keyword: "batch",
      order: "weight",
      desc: true,
    });
    expect(heaviest.map((channel) => channel.weight)).toEqual([1_199, 1_198]);
    expect(await listChannels(db, { ...first, keyword: String(made[7]) })).toMatchObject([
      { name: "batch7" },
    ]);
    expect(await countChannels(db, {})).toBeGreaterThanOrEqual(1_200);
  });

  test("options are written over, or once when asked so", async () => {
    await saveOption(db, "Notice", "one");
    await saveOption(db, "Notice", "two");
    expect(await findOption(db, "Notice")).toBe("two");
    expect(await findOption(db, "Unknown")).toBeUndefined();
    const tries = await Promise.all(["a", "b", "c"].map((value) => insertOptionOnce(db, "Once", value)));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect((await listOptions(db)).rows.map((option) => option.key)).toEqual(["Notice", "Once"]);
  });

  test("sessions end one by one, all but one, and by age", async () => {
    const user_id = await seedUser(db);
    for (const id_hash of ["s1", "s2", "s3", "s4"]) {
      await insertSession(db, { id_hash, user_id, created_at: 100, last_seen: 100 });
    }
    await touchSession(db, "s1", { lastSeen: 200, address: "a" });
    expect(await findSession(db, "s1")).toMatchObject({
      user_id,
      created_at: 100,
      last_seen: 200,
      address: "a",
    });
    await deleteSession(db, "s2");
    await deleteSessionsOfUser(db, user_id, "s1");
    expect([await findSession(db, "s2"), await findSession(db, "s3")]).toEqual([undefined, undefined]);
    await insertSession(db, { id_hash: "idle", user_id, created_at: 150, last_seen: 150 });
    await deleteExpiredSessions(db, { createdBefore: 100, seenBefore: 160 });
    expect([await findSession(db, "idle"), (await findSession(db, "s1"))?.last_seen]).toEqual([
      undefined,
      200,
    ]);
    await deleteExpiredSessions(db, { createdBefore: 101, seenBefore: 0 });
    expect(await findSession(db, "s1")).toBeUndefined();
    await insertSession(db, { id_hash: "last", user_id, created_at: 1, last_seen: 1 });
    await deleteSessionsOfUser(db, user_id);
    expect(await findSession(db, "last")).toBeUndefined();
  });
});
