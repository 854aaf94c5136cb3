// What operations through the ledger cannot reach: several steps of one call in one group, and rows that are missing.
import { expect, test } from "vitest";
import { NOTHING_BOUGHT } from "./bought.ts";
import type { Operation } from "./operations.ts";
import { type Books, noLimits, type Reservation } from "./rows.ts";
import { applyOperations } from "./rules.ts";
import { addCall, addRollups, type Rollups, rollupRows, sumsOf } from "./rules-sums.ts";

const parties = { requestId: "r", userId: 1, tokenId: 2 };
const seen = { charge: 3n, promptTokens: 1, completionTokens: 1, channelId: 9 };

function books(change: Partial<Books> = {}): Books {
  return {
    users: new Map([
      [
        1,
        {
          ...{ id: 1, username: "u", status: 1, quota: 100n, usedQuota: 0n, requestCount: 0 },
          bought: NOTHING_BOUGHT,
        },
      ],
    ]),
    tokens: new Map([
      [
        2,
        {
          id: 2,
          userId: 1,
          payerId: 1,
          projectId: 0,
          name: "t",
          status: 1,
          isUnlimited: false,
          expiredTime: -1,
          isDeleted: false,
          accessedTime: 0,
          remainQuota: 100n,
          usedQuota: 0n,
        },
      ],
    ]),
    reservations: new Map(),
    booked: new Map(),
    commissions: new Map(),
    codes: new Map(),
    orders: new Map(),
    trades: new Map(),
    refunds: new Map(),
    limits: noLimits(),
    periods: new Map(),
    ...change,
  };
}

const held: Reservation = {
  ...parties,
  modelName: "m",
  createdAt: 0,
  node: "dead",
  isTokenLimited: true,
  holds: [],
  parts: [],
  amount: 10n,
  channelId: 0,
  seenCharge: 0n,
  seenPromptTokens: 0,
  seenCompletionTokens: 0,
};

const reserve: Operation = { kind: "reserve", ...parties, amount: 10n, modelName: "m" };
const settle: Operation = {
  kind: "settle",
  ...parties,
  channelId: 9,
  charge: 4n,
  usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
  log: null,
};

const apply = (given: Books, ...operations: Operation[]) =>
  applyOperations(given, { operations, nowSec: 3_601, node: "n" });

test("a call that begins and ends in one group leaves no reservation behind", () => {
  const given = books();
  const { outcomes, changes } = apply(
    given,
    reserve,
    { kind: "extend", ...parties, target: 15n },
    { kind: "checkpoint", ...parties, seen },
    settle,
    settle,
    { kind: "release", ...parties },
  );
  expect(outcomes.map((outcome) => outcome.kind)).toEqual([
    "reserve",
    "extend",
    "checkpoint",
    "settle",
    "settle",
    "release",
  ]);
  expect(outcomes[4]).toEqual({ kind: "settle", booking: { charged: 4n, shortfall: 0n } });
  expect([changes.inserted.size, changes.updated.size, changes.deleted.size]).toEqual([0, 0, 0]);
  expect([given.users.get(1)?.quota, given.tokens.get(2)?.remainQuota]).toEqual([96n, 96n]);
  expect(
    [...sumsOf(changes.rollups.values())].map((sum) => [sum.dimension, sum.key, sum.hour, sum.quota]),
  ).toEqual([
    ["all", "", 3_600, 4n],
    ["user", "1", 3_600, 4n],
    ["token", "t", 3_600, 4n],
    ["model", "m", 3_600, 4n],
    ["channel", "9", 3_600, 4n],
    ["model-channel", "m\n9", 3_600, 4n],
    ["token-model", "1 2\nm", 3_600, 4n],
  ]);
});

test("a reservation given back in the group that made it was never there", () => {
  const given = books();
  const { changes } = apply(given, reserve, { kind: "release", ...parties });
  expect([changes.inserted.size, changes.deleted.size, given.users.get(1)?.quota]).toEqual([0, 0, 100n]);
});

test("a stored reservation is changed or deleted, not both", () => {
  const { changes } = apply(
    books({ reservations: new Map([["r", { ...held }]]) }),
    { kind: "checkpoint", ...parties, seen },
    settle,
  );
  expect([changes.inserted.size, changes.updated.size, changes.deleted.size]).toEqual([0, 0, 1]);
});

test("two calls of a user in one group are added up", () => {
  const { changes } = apply(books(), settle, { ...settle, requestId: "s" });
  expect(changes.ledger.map((entry) => [entry.requestId, entry.amount])).toEqual([
    ["r", -4n],
    ["s", -4n],
  ]);
  expect([...changes.rollups.values()]).toMatchObject([{ quota: 8n, requests: 2, promptTokens: 2 }]);
  expect([...changes.users]).toMatchObject([{ quota: 92n, usedQuota: 8n, requestCount: 2 }]);
  expect([...changes.channels]).toEqual([[9, 8n]]);
});

test("without its user nothing moves", () => {
  const orphan = () => books({ users: new Map(), reservations: new Map([["r", { ...held }]]) });
  const operations: Operation[] = [
    { kind: "extend", ...parties, target: 15n },
    { kind: "recover", ...parties, channelId: 0, deadNode: "dead" },
    { kind: "release", ...parties },
  ];
  const { outcomes, changes } = apply(orphan(), ...operations);
  expect(outcomes).toEqual([
    { kind: "extend", granted: false },
    { kind: "recover", isClosed: false },
    { kind: "release" },
  ]);
  expect(changes.ledger).toEqual([]);
});

test("recovery leaves alone what is closed or another's", () => {
  const recover = (deadNode: string): Operation => ({ kind: "recover", ...parties, channelId: 0, deadNode });
  expect(apply(books(), recover("dead")).outcomes).toEqual([{ kind: "recover", isClosed: false }]);
  const given = books({ reservations: new Map([["r", { ...held }]]) });
  expect(apply(given, recover("alive")).outcomes).toEqual([{ kind: "recover", isClosed: false }]);
  expect(apply(given, recover("dead")).outcomes).toEqual([{ kind: "recover", isClosed: true }]);
});

test("a checkpoint, an extension or a release of nothing is nothing", () => {
  const { outcomes, changes } = apply(
    books(),
    { kind: "checkpoint", ...parties, seen },
    { kind: "extend", ...parties, target: 5n },
    { kind: "release", ...parties },
  );
  expect(outcomes).toEqual([{ kind: "checkpoint" }, { kind: "extend", granted: false }, { kind: "release" }]);
  expect([changes.users.size, changes.tokens.size]).toEqual([0, 0]);
});

test("an extension to what there is already is granted", () => {
  const given = books({ reservations: new Map([["r", { ...held }]]) });
  expect(apply(given, { kind: "extend", ...parties, target: 10n }).outcomes).toEqual([
    { kind: "extend", granted: true },
  ]);
  expect(given.users.get(1)?.quota).toBe(100n);
});

test("a call whose token is gone is bound by the user alone", () => {
  const given = books({ tokens: new Map(), reservations: new Map([["r", { ...held }]]) });
  const { outcomes, changes } = apply(given, { kind: "extend", ...parties, target: 20n }, settle);
  expect(outcomes[0]).toEqual({ kind: "extend", granted: true });
  expect(changes.ledger).toMatchObject([{ tokenId: 2, amount: -4n, tokenAmount: 0n }]);
  const back = books({ tokens: new Map(), reservations: new Map([["r", { ...held }]]) });
  apply(back, { kind: "release", ...parties });
  expect(back.users.get(1)?.quota).toBe(110n);
});

test("an operation on a user whose commission was not loaded is a mistake of the program", () => {
  const change = { userId: 1, kind: "withdraw", micro: { delta: -1n }, actorId: 1, reason: "" } as const;
  expect(() => apply(books(), { kind: "commission", requestId: "c", userId: 1, tokenId: 0, change })).toThrow(
    "was not loaded",
  );
});

test("an operation that is none is a mistake, not silence", () => {
  expect(() => apply(books(), { kind: "x", ...parties } as unknown as Operation)).toThrow(
    "unknown operation",
  );
});

/** What nothing is known of. */
const FREE = { cachedTokens: 0, cost: -1, saved: 0, group: "" };

test("costs are summed with what was charged for them alone, by group too, whichever parts they are in", () => {
  const tokens = { promptTokens: 2, completionTokens: 3, cachedTokens: 1, saved: 4 };
  const ids = { userId: 1, tokenId: 5, memberId: 0, projectId: 0, keyId: 0, channelId: 2 };
  const call = { ...ids, tokenName: "t", modelName: "a", ...tokens };
  const one: Rollups = new Map();
  addCall(one, { ...call, charged: 10n, cost: 7, group: "vip" }, 1);
  addCall(one, { ...call, charged: 100n, cost: -1, group: "vip" }, 1);
  const other: Rollups = new Map();
  addCall(other, { ...call, charged: 5n, cost: 2, group: "default" }, 2);
  addCall(other, { ...call, charged: 1n, cost: 0, group: "vip" }, 3);
  addRollups(one, other);
  const sums = [...sumsOf(one.values())];
  expect(sums.find(({ dimension }) => dimension === "model")).toMatchObject({
    quota: 116n,
    costedQuota: 16n,
    cost: 9,
    cachedTokens: 4,
    saved: 16,
    requests: 4,
  });
  const byGroup = sums.filter(({ dimension }) => dimension === "group");
  expect(byGroup.map(({ key, cost, costedQuota, quota }) => [key, cost, costedQuota, quota])).toEqual([
    ["vip", 7, 11n, 111n],
    ["default", 2, 5n, 5n],
  ]);
});

test("calls with keys are summed by key too, whichever parts they are in", () => {
  const tokens = { promptTokens: 2, completionTokens: 3, ...FREE };
  const call = { userId: 1, tokenId: 5, memberId: 0, projectId: 0, channelId: 2, tokenName: "t", ...tokens };
  const one: Rollups = new Map();
  addCall(one, { ...call, keyId: 7, charged: 10n, modelName: "a" }, 1);
  addCall(one, { ...call, keyId: 8, charged: 5n, modelName: "a" }, 1);
  addCall(one, { ...call, keyId: 0, charged: 1n, modelName: "a" }, 1);
  const other: Rollups = new Map();
  addCall(other, { ...call, keyId: 7, charged: 100n, modelName: "a" }, 2);
  addCall(other, { ...call, keyId: 7, charged: 1_000n, modelName: "b" }, 3);
  addRollups(one, other);
  const byKey = [...sumsOf(one.values())].filter(({ dimension }) => dimension === "key");
  expect(byKey.map(({ key, quota, requests }) => [key, quota, requests])).toEqual([
    ["7", 1_110n, 3],
    ["8", 5n, 1],
  ]);
});

test("calls of a team are summed by member and by project too, whichever parts they are in", () => {
  const tokens = { promptTokens: 2, completionTokens: 3, ...FREE };
  const call = { userId: 9, tokenId: 5, keyId: 0, channelId: 2, tokenName: "t", ...tokens };
  const one: Rollups = new Map();
  addCall(one, { ...call, memberId: 4, projectId: 6, charged: 10n, modelName: "a" }, 1);
  addCall(one, { ...call, memberId: 5, projectId: 0, charged: 5n, modelName: "a" }, 1);
  const other: Rollups = new Map();
  addCall(other, { ...call, memberId: 4, projectId: 7, charged: 100n, modelName: "a" }, 2);
  addCall(other, { ...call, memberId: 4, projectId: 6, charged: 1_000n, modelName: "b" }, 3);
  addRollups(one, other);
  const along = (name: string) =>
    [...sumsOf(one.values())]
      .filter(({ dimension }) => dimension === name)
      .map(({ key, quota, requests }) => [key, quota, requests]);
  expect(along("member")).toEqual([
    ["9 4", 1_110n, 3],
    ["9 5", 5n, 1],
  ]);
  expect(along("project")).toEqual([
    ["6", 1_010n, 2],
    ["7", 100n, 1],
  ]);
});

test("calls whose names have line breaks are summed up apart", () => {
  const tokens = { promptTokens: 1, completionTokens: 1, ...FREE };
  const ids = { userId: 1, tokenId: 5, memberId: 0, projectId: 0, channelId: 2, keyId: 0 };
  const call = { ...ids, charged: 1n, ...tokens };
  const rollups = new Map();
  addCall(rollups, { ...call, modelName: "a\nb", tokenName: "c" }, 1);
  addCall(rollups, { ...call, modelName: "a", tokenName: "b\nc" }, 1);
  expect(rollups.size).toBe(2);
});

test("calls are summed by token and model, also where two tokens have one name: by names they are one row", () => {
  const tokens = { promptTokens: 10, completionTokens: 3, ...FREE, cachedTokens: 4 };
  const ids = { userId: 1, tokenId: 5, memberId: 0, projectId: 0, keyId: 0, channelId: 2 };
  const call = { ...ids, charged: 1n, tokenName: "t", modelName: "a", ...tokens };
  const one: Rollups = new Map();
  addCall(one, call, 1);
  addCall(one, { ...call, tokenId: 6 }, 1);
  addCall(one, { ...call, channelId: 3 }, 2);
  const other: Rollups = new Map();
  addCall(other, call, 3);
  // Without a token, of two accounts.
  addCall(other, { ...call, tokenId: 0, tokenName: "" }, 3);
  addCall(other, { ...call, tokenId: 0, tokenName: "", userId: 2 }, 3);
  addRollups(one, other);
  const found = [...sumsOf(one.values())].filter(({ dimension }) => dimension === "token-model");
  expect(
    found.map(({ key, requests, promptTokens, cachedTokens, completionTokens }) => ({
      ...{ key, requests, promptTokens, cachedTokens, completionTokens },
    })),
  ).toEqual([
    { key: "1 5\na", requests: 3, promptTokens: 30, cachedTokens: 12, completionTokens: 9 },
    { key: "1 6\na", requests: 1, promptTokens: 10, cachedTokens: 4, completionTokens: 3 },
    { key: "1 0\na", requests: 1, promptTokens: 10, cachedTokens: 4, completionTokens: 3 },
    { key: "2 0\na", requests: 1, promptTokens: 10, cachedTokens: 4, completionTokens: 3 },
  ]);
  const rows = [...rollupRows(one.values())];
  expect(rows.map((row) => [row.userId, row.tokenName, row.channelId, row.requests])).toEqual([
    [1, "t", 2, 3],
    [1, "t", 3, 1],
    [1, "", 2, 1],
    [2, "", 2, 1],
  ]);
  // What is summed along the dimensions is not changed by it.
  expect([...one.values()].map(({ requests }) => requests)).toEqual([2, 1, 1, 1, 1]);
});
