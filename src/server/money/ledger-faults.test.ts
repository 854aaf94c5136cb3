// The ledger when its backend misbehaves: a ledger backend by script instead of a database.
import { expect, test, vi } from "vitest";
import { fakeClock } from "#server/clock.ts";
import type { SqliteStore } from "#server/store/db.ts";
import { StoreError } from "#server/store/fault.ts";
import { createTestDatabase } from "#test/worlds/stores.ts";
import { createLedger } from "./ledger.ts";
import type { Operation, Outcome } from "./operations.ts";
import { CHECKPOINT, decodeBatch, encodeOutcomes } from "./sqlite/wire.ts";

/** A real database for the leases, and a script for the groups. */
async function scripted(answer: (asked: readonly Operation[]) => Promise<readonly Outcome[]>) {
  const database = await createTestDatabase("sqlite");
  const store = await database.open();
  const errors: unknown[] = [];
  if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
  const fake: SqliteStore = {
    ...store,
    runInWriter: async (_, input) =>
      input === CHECKPOINT ? "" : encodeOutcomes(await answer(decodeBatch(String(input)).operations)),
  };
  const ledger = createLedger({
    store: fake,
    clock: fakeClock(),
    node: "n",
    onError: (error) => errors.push(error),
  });
  const end = async () => {
    await ledger.close();
    await store.close();
    await database.drop();
  };
  return { ledger, errors, store, end };
}

const order = { requestId: "r", userId: 1, tokenId: 0, amount: 1n, modelName: "m" };
const seen = { charge: 1n, promptTokens: 1, completionTokens: 1, channelId: 1 };
const gifts = {
  userId: 1,
  inviterId: 0,
  forNewUser: 1n,
  forInvitee: 0n,
  forInviter: 0n,
  display: { quotaPerUnit: 1, inCurrency: false },
};
const reserved: Outcome = { kind: "reserve", verdict: "reserved" };

test("an answer that does not fit the question is an error", async () => {
  const { ledger, end } = await scripted(() => Promise.resolve([{ kind: "release" }]));
  await expect(ledger.reserve(order)).rejects.toThrow("the ledger answered release to reserve");
  await end();
});

test("a checkpoint that is lost is reported, and the next one is tried", async () => {
  const answers: (() => Promise<readonly Outcome[]>)[] = [
    () => Promise.resolve([reserved]),
    () => Promise.reject(new StoreError("full", "no space")),
    () => Promise.resolve([{ kind: "checkpoint" }]),
    () => Promise.resolve([{ kind: "release" }]),
  ];
  const { ledger, errors, end } = await scripted(() => (answers.shift() ?? (() => Promise.resolve([])))());
  await ledger.reserve(order);
  ledger.checkpoint("r", seen);
  await expect.poll(() => errors.splice(0)).toMatchObject([{ kind: "full" }]);
  ledger.checkpoint("r", { ...seen, charge: -1n });
  await expect.poll(() => errors.splice(0)).toMatchObject([{ name: "RangeError" }]);
  ledger.checkpoint("r", seen);
  await expect.poll(() => answers).toHaveLength(1);
  await ledger.release("r");
  await end();
});

test.each(["timeout", "broken", "other"] as const)(
  "a reservation that is given up (%s) may stand, and is taken back",
  async (kind) => {
    const asked: unknown[] = [];
    const { ledger, errors, end } = await scripted(async (operations) => {
      asked.push(...operations);
      if (asked.length === 1) throw new StoreError(kind, "nobody knows");
      return [{ kind: "release" }];
    });
    await expect(ledger.reserve(order)).rejects.toMatchObject({ kind });
    await expect.poll(() => asked).toHaveLength(2);
    expect(asked[1]).toEqual({ kind: "release", requestId: "r", userId: 1, tokenId: 0 });
    await end();
    expect(errors).toEqual([]);
  },
);

test("what cannot be taken back is reported", async () => {
  const { ledger, errors, end } = await scripted(() => Promise.reject(new StoreError("other", "no")));
  await expect(ledger.reserve(order)).rejects.toThrow("no");
  await expect.poll(() => errors).toMatchObject([{ kind: "other" }]);
  // Nothing else that is given up is taken back.
  await expect(ledger.grantSignup(gifts)).rejects.toThrow("no");
  await end();
  expect(errors).toHaveLength(1);
});

test("an extension that another one overtook does not shrink what is known", async () => {
  const answers: (readonly Outcome[])[] = [
    [reserved],
    [
      { kind: "extend", granted: true },
      { kind: "extend", granted: true },
    ],
    [{ kind: "extend", granted: false }],
  ];
  const { ledger, end } = await scripted(() => Promise.resolve(answers.shift() ?? []));
  await ledger.reserve(order);
  expect(await Promise.all([ledger.extend("r", 9n), ledger.extend("r", 4n)])).toEqual([true, true]);
  expect(await ledger.extend("r", 1n)).toBe(false);
  await end();
});

test("no reservation without a lease; the next try takes it", async () => {
  const { ledger, store, errors, end } = await scripted(() => Promise.resolve([reserved]));
  await store.db.schema.alterTable("nodes").renameTo("nodes_away").execute();
  await expect(ledger.reserve(order)).rejects.toThrow("nodes");
  await store.db.schema.alterTable("nodes_away").renameTo("nodes").execute();
  expect(await ledger.reserve(order)).toBe("reserved");
  await store.db.schema.alterTable("nodes").renameTo("nodes_away").execute();
  await end();
  expect(errors).toHaveLength(1);
});

test("a lease that cannot be renewed is reported", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { errors, store, end } = await scripted(() => Promise.resolve([]));
  await store.db.schema.alterTable("nodes").renameTo("nodes_away").execute();
  vi.advanceTimersByTime(20_000);
  vi.useRealTimers();
  await expect.poll(() => errors).toHaveLength(1);
  await end();
});
