// What other statements see of the ledger on SQLite, where calls are in a journal before they reach the tables.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import type { SqliteStore, Store } from "#server/store/db.ts";
import { createTestDatabase, seedAccount, type TestDatabase } from "#test/worlds/stores.ts";
import { createSqliteBackend } from "./backend.ts";
import { encodeOutcomes } from "./wire.ts";

let database: TestDatabase;
let store: Store;
let ledger: Ledger;
let account: { userId: number; tokenId: number };
let errors: unknown[];
let serial = 0;

beforeEach(async () => {
  database = await createTestDatabase("sqlite");
  store = await database.open();
  errors = [];
  ledger = createLedger({ store, clock: systemClock, node: "n", onError: (error) => errors.push(error) });
  account = await seedAccount(store.db, ledger, { quota: 1_000_000n, remain: 1_000_000n });
});

afterEach(async () => {
  await ledger.close();
  await store.close();
  await database.drop();
});

async function call(charge: bigint): Promise<void> {
  const requestId = `teller-${++serial}`;
  const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
  await ledger.reserve({ requestId, ...account, amount: charge, modelName: "m" });
  await ledger.settle({ requestId, ...account, channelId: 0, charge, usage, log: null });
}

const used = async () => {
  const { used_quota } = await store.db
    .selectFrom("users")
    .select("used_quota")
    .where("id", "=", account.userId)
    .executeTakeFirstOrThrow();
  return used_quota;
};

/** Another program that opened the file. */
function elsewhere(): DatabaseSync {
  return new DatabaseSync(join(database.options.dataDir, "tollgate.db"), { timeout: 5_000 });
}

test("a query after a call was answered sees it, whatever transactions begin and end meanwhile", async () => {
  let isOver = false;
  const busy = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      await store.db.transaction().execute((tx) => tx.deleteFrom("options").where("key", "=", "").execute());
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });
  for (let spent = 3; spent <= 900; spent += 3) {
    await call(3n);
    expect(await used()).toBe(spent);
  }
  isOver = true;
  await Promise.all(busy);
}, 30_000);

test("work is put off for later readers before anything is answered, ahead of the answer too", () => {
  const story: string[] = [];
  const stub = {
    flushBeforeUse: () => story.push("left"),
    runInWriter(_: URL, __: unknown, onEarly: (value: unknown) => void) {
      onEarly(encodeOutcomes([undefined, { kind: "reserve", verdict: "reserved" }]));
      return new Promise(() => undefined);
    },
  } as unknown as SqliteStore;
  const backend = createSqliteBackend(stub, systemClock);
  story.length = 0;
  void backend.run({ operations: [], nowSec: 1, node: "n" }, (index) => story.push(`told ${index}`));
  expect(story).toEqual(["left", "told 1"]);
});

test("a transaction sees what was answered before it began, and reads on beside itself", async () => {
  await call(5n);
  await store.db.transaction().execute(async (tx) => {
    const inside = await tx
      .selectFrom("users")
      .select("used_quota")
      .where("id", "=", account.userId)
      .execute();
    expect(inside).toEqual([{ used_quota: 5 }]);
    expect(await used()).toBe(5);
  });
});

test("another program that reads the file sees a call a second later, though no other statement asks", async () => {
  await call(5n);
  const file = elsewhere();
  const stored = () => file.prepare("SELECT used_quota FROM users WHERE id = ?").get(account.userId);
  expect(stored()).toEqual({ used_quota: 0 });
  await expect.poll(() => stored()).toEqual({ used_quota: 5 });
  file.close();
});

test("when calls cannot reach the tables the operator is told, and they do when that is over", async () => {
  const file = elsewhere();
  file.exec("CREATE TRIGGER t BEFORE UPDATE ON users BEGIN SELECT RAISE(ABORT, 'not now'); END");
  await call(5n);
  await expect.poll(() => errors).toHaveLength(1);
  expect(errors).toMatchObject([{ kind: "constraint", message: "not now" }]);
  expect(await used()).toBe(0);
  file.exec("DROP TRIGGER t");
  file.close();
  await call(5n);
  expect(await used()).toBe(10);
});
