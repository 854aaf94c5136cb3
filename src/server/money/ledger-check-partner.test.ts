// What the checker reports when rows of the partner plan were changed, or entries written, by statements beside the ledger.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { codeTerms } from "#test/worlds/ledger-world.ts";
import {
  createTestDatabase,
  engines,
  seedRedemption,
  seedUser,
  type TestDatabase,
} from "#test/worlds/stores.ts";
import { createLedger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";

describe.each(engines)("the checker of the partner plan on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  const findings = async () =>
    (await checkLedger(store.db)).map(({ table, id, column, stored, expected }) => [
      `${table}.${column}`,
      id,
      stored,
      expected,
    ]);

  /** Writes an entry that no operation of the ledger has written. */
  async function forge(entry: { kind: string; user_id: number; amount: number; redemption_id: number }) {
    const rest = { created_at: 1, token_id: 0, channel_id: 0, token_amount: 0, shortfall: 0, actor_id: 0 };
    await store.db
      .insertInto("ledger")
      .values({ ...rest, detail: "", request_id: `${entry.kind}${entry.redemption_id}`, ...entry })
      .execute();
  }

  test("finds commissions, codes and gifts that are not as booked, and nothing else", async () => {
    const { db } = store;
    const ledger = createLedger({ store, clock: systemClock, node: "checker" });
    const inviterId = await seedUser(db);
    const userId = await seedUser(db, { inviter_id: inviterId });
    const honest = await seedRedemption(db, { quota: 1_000 });
    await ledger.redeem({
      operationId: "honest",
      userId,
      redemptionId: honest,
      giverId: inviterId,
      inviterId,
      terms: codeTerms,
      display: { quotaPerUnit: 500_000, inCurrency: true },
    });
    // One that was imported as used names no user, and its quota is part of an imported balance.
    const imported = await seedRedemption(db, { quota: 7, status: 3 });
    expect(await findings()).toEqual([]);

    await db.updateTable("users").set({ invite_commission_micro: 51 }).where("id", "=", inviterId).execute();
    const claimed = await seedRedemption(db, { quota: 7 });
    await db
      .updateTable("redemptions")
      .set({ status: 3, used_user_id: userId })
      .where("id", "=", claimed)
      .execute();
    const open = await seedRedemption(db, { quota: 9 });
    await forge({ kind: "redeem", user_id: userId, amount: 0, redemption_id: open });
    const other = await seedRedemption(db, { quota: 11, status: 3 });
    await forge({ kind: "redeem", user_id: userId, amount: 0, redemption_id: other });
    await forge({ kind: "redeem", user_id: userId, amount: 7, redemption_id: imported });
    await forge({ kind: "adjust", user_id: userId, amount: -7, redemption_id: 0 });
    await forge({ kind: "gift", user_id: userId, amount: 0, redemption_id: other });
    expect(await findings()).toEqual([
      ["users.invite_commission_micro", inviterId, 51, 50],
      ["redemptions.used_user_id", imported, 0, userId],
      ["redemptions.status", claimed, 3, 1],
      ["redemptions.status", open, 1, 3],
      ["redemptions.quota", other, 11, 0],
      ["redemptions.gift", other, 0, 0],
    ]);
    await ledger.close();
  });
});
