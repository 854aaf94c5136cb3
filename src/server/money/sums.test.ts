import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import type { Store } from "#server/store/db.ts";
import {
  createTestDatabase,
  engines,
  seedAccount,
  seedChannel,
  type TestDatabase,
} from "#test/worlds/stores.ts";
import { checkLedger } from "./ledger-check.ts";
import { advanceSums } from "./sums.ts";

const NO_LOG = null;

describe.each(engines)("the sums of the ledger on %s", (engine) => {
  const clock = fakeClock(1_800_000_000_000);
  let database: TestDatabase;
  let store: Store;
  let ledger: Ledger;
  let serial = 0;

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    ledger = createLedger({ store, clock, node: "sums" });
  });
  afterAll(async () => {
    await ledger.close();
    await store.close();
    await database.drop();
  });

  const advance = async () => {
    // Twice with time between: what another process might still be writing is left for later.
    clock.advance(60_000);
    await advanceSums({ db: store.db, store, clock });
    clock.advance(60_000);
    await advanceSums({ db: store.db, store, clock });
  };
  async function pay(account: { userId: number; tokenId: number }, channelId: number, charge: bigint) {
    serial += 1;
    const requestId = `sums-${serial}`;
    await ledger.reserve({ requestId, ...account, amount: charge, modelName: "m" });
    await ledger.settle({
      requestId,
      ...account,
      channelId,
      charge,
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
      log: NO_LOG,
    });
  }

  test("books that agree agree with both, before and after entries were added up", async () => {
    const account = await seedAccount(store.db, ledger, { quota: 10_000n, remain: 5_000n });
    const channelId = await seedChannel(store.db);
    for (let turn = 0; turn < 3; turn += 1) {
      await pay(account, channelId, 7n);
      expect(await checkLedger(store.db, "sums")).toEqual([]);
      await advance();
      expect(await checkLedger(store.db, "sums")).toEqual([]);
      expect(await checkLedger(store.db, "entries")).toEqual([]);
    }
    const { last_id } = await store.db
      .selectFrom("ledger_sums_head")
      .select("last_id")
      .executeTakeFirstOrThrow();
    expect(last_id).toBeGreaterThan(0);
    const sums = await store.db
      .selectFrom("ledger_sums")
      .select(["spent", "calls"])
      .where("scope", "=", "channel")
      .where("id", "=", channelId)
      .executeTakeFirstOrThrow();
    expect(sums).toEqual({ spent: 21, calls: 3 });
  });

  test("a step back of the clock does not stop the adding up until it is what it was", async () => {
    const head = () => store.db.selectFrom("ledger_sums_head").select("last_id").executeTakeFirstOrThrow();
    await advance();
    await seedAccount(store.db, ledger, { quota: 10_000n, remain: 5_000n });
    const { last_id: before } = await head();
    clock.advance(-7_200_000);
    await advance();
    await advance();
    clock.advance(7_200_000);
    expect((await head()).last_id).toBeGreaterThan(before);
    expect(await checkLedger(store.db, "sums")).toEqual([]);
  });

  test("a row that was changed by hand is named", async () => {
    const account = await seedAccount(store.db, ledger, { quota: 10_000n, remain: 5_000n });
    await advance();
    await sql`UPDATE users SET quota = quota + 1 WHERE id = ${account.userId}`.execute(store.db);
    await sql`UPDATE tokens SET used_quota = 3 WHERE id = ${account.tokenId}`.execute(store.db);
    expect(await checkLedger(store.db, "sums")).toEqual([
      { table: "users", id: account.userId, column: "quota", stored: 10_001, expected: 10_000 },
      { table: "tokens", id: account.tokenId, column: "used_quota", stored: 3, expected: 0 },
    ]);
  });
});
