// One code and many users at once: on both databases, and on three nodes over one PostgreSQL.
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { yuanText } from "#contract/yuan.ts";
import { getUser } from "#server/store/users.ts";
import { codeTerms, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, seedRedemption, seedUser } from "#test/worlds/stores.ts";
import type { RedeemOrder } from "./partner-operations.ts";

const ROUNDS = rounds(25, 1_000);

const display = { quotaPerUnit: 500_000, inCurrency: true };
let serial = 0;

function order(parts: Partial<RedeemOrder> & Pick<RedeemOrder, "userId" | "redemptionId">): RedeemOrder {
  serial += 1;
  return { operationId: `race${serial}`, giverId: null, inviterId: 0, terms: codeTerms, display, ...parts };
}

describe.each(engines)("races for a code on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const worth = async (id: number) => {
    const { quota, invite_commission_micro } = await getUser(world.db, id);
    return { quota, cash: yuanText(invite_commission_micro) };
  };
  const code = (quota: number) => seedRedemption(world.db, { quota });

  test("200 redemptions of one code by 50 users at once: one success, and the sums are exact", async () => {
    const users = await Promise.all(Array.from({ length: 50 }, () => seedUser(world.db)));
    const inviterId = await seedUser(world.db);
    const nodes = Array.from({ length: engine === "postgres" ? 2 : 0 }, () => world.boot().ledger);
    const ledgers = [world.ledger, ...nodes];
    for (let round = 0; round < ROUNDS; round += 1) {
      const redemptionId = await code(1_000_000);
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const ledger = ledgers[index % ledgers.length] ?? world.ledger;
          const userId = users[(index * 7) % 50] ?? 0;
          const giverId = index % 2 ? (users[(index * 7 + 1) % 50] ?? 0) : null;
          return (await ledger.redeem(order({ userId, redemptionId, inviterId, giverId }))).outcome;
        }),
      );
      expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "used_code")).toHaveLength(199);
    }
    const [paid] = await world.db
      .selectFrom("ledger")
      .select((select) => [
        sql<number>`cast(count(*) as bigint)`.as("codes"),
        sql<number>`cast(sum(${select.ref("amount")}) as bigint)`.as("quota"),
      ])
      .where("kind", "=", "redeem")
      .where("user_id", "in", users)
      .execute();
    expect(paid).toEqual({ codes: ROUNDS, quota: ROUNDS * 1_000_000 });
    expect(await worth(inviterId)).toEqual({ quota: 0, cash: yuanText(BigInt(ROUNDS) * 50_000n) });
    const gifts = await world.db
      .selectFrom("ledger")
      .select("amount")
      .where("kind", "=", "gift")
      .where("user_id", "in", users)
      .execute();
    const balances = await world.db.selectFrom("users").select("quota").where("id", "in", users).execute();
    expect(balances.reduce((sum, { quota }) => sum + quota, 0)).toBe(
      ROUNDS * 1_000_000 + gifts.reduce((sum, { amount }) => sum + amount, 0),
    );
    expect(gifts.every(({ amount }) => amount === 50_000)).toBe(true);
    await Promise.all(nodes.map((ledger) => ledger.close()));
  }, 600_000);

  test("what cannot be written to the last line is not written at all, and can be tried again", async () => {
    const inviterId = await seedUser(world.db);
    const userId = await seedUser(world.db, { inviter_id: inviterId });
    const redemptionId = await code(1_000);
    const wanted = order({ userId, redemptionId, giverId: inviterId, inviterId });
    // The log is written last, after code, balances and ledger.
    await sql`ALTER TABLE logs RENAME COLUMN content TO content_away`.execute(world.db);
    await expect(world.ledger.redeem(wanted)).rejects.toThrow("content");
    expect(await worth(userId)).toEqual({ quota: 0, cash: "0" });
    expect(await worth(inviterId)).toEqual({ quota: 0, cash: "0" });
    const entries = world.db.selectFrom("ledger").select("id").where("redemption_id", "=", redemptionId);
    expect(await entries.execute()).toEqual([]);
    await sql`ALTER TABLE logs RENAME COLUMN content_away TO content`.execute(world.db);
    expect((await world.ledger.redeem(wanted)).outcome).toBe("done");
    expect(await worth(userId)).toEqual({ quota: 1_050, cash: "0" });
  });
});
