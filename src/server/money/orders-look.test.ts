// Orders are looked at where something was heard of, with the result of reading all of them (requirements E15, Y64). On both databases.
import type { KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import type { OrderRow } from "#server/store/orders.ts";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { seedOrder } from "#test/worlds/order-rows.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines } from "#test/worlds/stores.ts";
import { forgetOrders, lookAtOrders } from "./orders-look.ts";

const BLOCKS = 4;

describe.each(engines)("a look at orders on %s", (engine) => {
  const { world, prove, fresh, hold, finish, claw } = useOrderWorld(engine);

  /** Rows beside those of the test, so that its orders stand in several blocks. */
  async function apart(first: { user_id: number; instance_id: number }, count: number) {
    const { user_id, instance_id } = first;
    const row = await seedOrder(world.db, { user_id, instance_id, next_check: 0 });
    const { id: _, ...rest } = row;
    const rows = Array.from({ length: count }, (__, index) => ({
      ...rest,
      order_no: `${rest.order_no}-${index}`,
    }));
    for (let start = 0; start < count; start += 250)
      await world.db
        .insertInto("orders")
        .values(rows.slice(start, start + 250))
        .execute();
  }

  /** A database of the same rows that has never been looked at, and how many statements it is asked. */
  function counted() {
    const asked = { statements: 0 };
    const plugin: KyselyPlugin = {
      transformQuery({ node }) {
        asked.statements += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    return { db: world.db.withPlugin(plugin), asked };
  }

  /** A payment, right or wrong, a refund that begins or ends, or one made elsewhere. */
  function happen(order: OrderRow, dice: Dice, name: string): Promise<unknown> {
    const amount = 1 + dice(500);
    const acts = [
      () => prove(order, { amountMinor: pick(dice, [2_999, 3_000, 3_000, 3_000]) }),
      () => hold(order, `r${name}`, amount),
      () => hold(order, `r${name}`, amount).then(() => finish(order, `r${name}`, dice(2) === 0)),
      () => claw(order, pick(dice, ["dispute", "elsewhere"]), `c${name}`, amount),
    ];
    return pick(dice, acts)();
  }

  const ordered = (sums: Awaited<ReturnType<typeof lookAtOrders>>["sums"]) =>
    sums.toSorted((a, b) => a.instance_id - b.instance_id);

  test("finds what reading all of them finds, after payments, refunds and disputes anywhere", async () => {
    const dice = createDice(64);
    const orders = [];
    for (let block = 0; block < BLOCKS; block += 1) {
      for (let turn = 0; turn < 6; turn += 1) orders.push(await fresh());
      await apart(orders.at(-1) ?? expect.fail(), 1_000);
    }
    await lookAtOrders(world.db, "sums");
    for (let round = 0; round < 12; round += 1) {
      for (let turn = 0; turn < 3; turn += 1) {
        await happen(pick(dice, orders), dice, `${round}-${turn}`);
      }
      if (round === 6) orders.push(await fresh());
      const some = await lookAtOrders(world.db, "sums");
      const all = await lookAtOrders(counted().db, "entries");
      expect(ordered(some.sums)).toEqual(ordered(all.sums));
      expect([some.mismatches, all.mismatches]).toEqual([[], []]);
    }
    expect((await lookAtOrders(world.db, "sums")).sums.length).toBeGreaterThan(2);
  });

  test("reads the newest orders and those that changed, however many there are", async () => {
    const old = await fresh();
    await apart(old, BLOCKS * 1_000);
    // More than the events that count as late.
    const { id: _, ...event } = {
      id: 0,
      instance_id: old.instance_id,
      kind: "notify",
      order_no: "of nobody",
      verdict: "unknown_order",
      is_open: 0,
      facts: "{}",
      body_sealed: "",
      created_at: 1,
    };
    const events = Array.from({ length: 1_100 }, (__, index) => ({ ...event, event_key: `late/${index}` }));
    for (let start = 0; start < events.length; start += 550)
      await world.db
        .insertInto("payment_events")
        .values(events.slice(start, start + 550))
        .execute();
    const { db, asked } = counted();
    const reads = async () => {
      asked.statements = 0;
      const { mismatches } = await lookAtOrders(db, "sums");
      return [asked.statements, mismatches.length];
    };
    const [first] = await reads();
    expect(first).toBeGreaterThanOrEqual(2 * BLOCKS);
    const [quiet] = await reads();
    // The newest numbers, what changed, and the last thousand.
    expect(quiet).toBe(4);
    await prove(old);
    expect(await reads()).toEqual([6, 0]);
    // What differs is told until it does not, also where nothing is heard of it any more.
    const edit = (credited_quota: number) =>
      world.db.updateTable("orders").set({ credited_quota }).where("id", "=", old.id).execute();
    await edit(1);
    expect((await reads())[1]).toBe(1);
    await world.db
      .insertInto("payment_events")
      .values(events.map((one) => ({ ...one, event_key: `again ${one.event_key}` })).slice(0, 550))
      .execute();
    await world.db
      .insertInto("payment_events")
      .values(events.map((one) => ({ ...one, event_key: `again ${one.event_key}` })).slice(550))
      .execute();
    expect((await reads())[1]).toBe(1);
    await edit(5_000_000);
    expect((await reads())[1]).toBe(0);
    expect(await reads()).toEqual([4, 0]);
    // Beside the ledger, long after: not until all are read again.
    await edit(1);
    expect((await reads())[1]).toBe(0);
    forgetOrders(db);
    expect((await reads())[1]).toBe(1);
    await edit(5_000_000);
  });
});
