import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fakeClock, systemClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { buildIndexes } from "#server/store/late-indexes.ts";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import type { Coord } from "./coord.ts";
import { countSlots, LEASE_MS, SLOT_INDEX, SlotLeases, sweepSlots } from "./leases.ts";
import { openCoord } from "./open.ts";

/** How far apart the clocks of nodes may be, as they know the database's. */
const SKEW_MS = 50;
const HOUR_MS = 3_600_000;

// SQLite has the engine for one process: all three nodes are the same one then.
describe.each(engines)("coord for %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  let here: Coord;
  let there: Coord;
  let yonder: Coord;
  const errors: unknown[] = [];

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    const onError = (error: unknown) => errors.push(error);
    here = await openCoord({ store, clock: systemClock, node: "here", onError });
    const another = (node: string) =>
      engine === "sqlite" ? Promise.resolve(here) : openCoord({ store, clock: systemClock, node, onError });
    there = await another("there");
    yonder = await another("yonder");
  });

  afterAll(async () => {
    await here.close();
    await there.close();
    await yonder.close();
    await store.close();
    await database.drop();
  });

  /** Each of the three in turn. */
  const nodeOf = (index: number) => [here, there, yonder][index % 3] ?? here;

  test("tells every subscriber once, the sender at once, and none that stopped listening", async () => {
    const heard: string[] = [];
    const listen = (name: string) => (payload: string) => heard.push(`${name} ${payload}`);
    const stops = [here.subscribe("tokens", listen("here")), there.subscribe("tokens", listen("there"))];
    here.subscribe("users", listen("users"));
    const published = here.publish("tokens", "7");
    expect(heard).toContain("here 7");
    await published;
    await expect.poll(() => heard.toSorted()).toEqual(["here 7", "there 7"]);
    for (const stop of stops) stop();
    await here.publish("tokens", "8");
    await sleep(50);
    expect(heard).toHaveLength(2);
  });

  test("a handler that fails does not keep a message from the others", async () => {
    const heard: string[] = [];
    const stops = [
      here.subscribe("channels", () => {
        throw new Error("broken handler");
      }),
      here.subscribe("channels", (payload) => heard.push(payload)),
    ];
    await here.publish("channels", "");
    expect(heard).toEqual([""]);
    expect(errors.splice(0)).toMatchObject([{ message: "broken handler" }]);
    for (const stop of stops) stop();
  });

  test("lets one at a time work, and the next one after a failure", async () => {
    let release = () => {};
    const first = here.lock("job", () => new Promise<string>((resolve) => (release = () => resolve("done"))));
    await expect.poll(() => there.isLocked("job")).toBe(true);
    for (const node of [here, there])
      expect([await node.isLocked("job"), await node.isLocked("other job")]).toEqual([true, false]);
    expect(await there.lock("job", () => Promise.resolve("twice"))).toBeUndefined();
    expect(await here.lock("job", () => Promise.resolve("twice"))).toBeUndefined();
    expect(await there.lock("other job", () => Promise.resolve("other"))).toBe("other");
    release();
    expect(await first).toBe("done");
    for (const node of [here, there]) expect(await node.isLocked("job")).toBe(false);
    await expect(there.lock("job", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    expect(await there.lock("job", () => Promise.resolve("next"))).toBe("next");
  });

  test("counts a burst over all nodes, then refills evenly", async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => nodeOf(index).count("burst", 300_000, 3)),
    );
    const refused = all.filter((counted) => !counted.allowed);
    expect(refused).toHaveLength(9);
    // Nodes know the database's clock within some ms: one that is behind another is told, within the burst, to wait for just that long.
    const atOnce = refused.filter(({ retryAfterMs }) => retryAfterMs <= SKEW_MS);
    const inTime = ({ retryAfterMs }: { retryAfterMs: number }) =>
      retryAfterMs > 90_000 && retryAfterMs <= 100_000 + SKEW_MS;
    expect(refused.filter(inTime)).toHaveLength(9 - atOnce.length);
    for (const node of [here, there, yonder]) {
      const afterwards = await node.count("burst", 300_000, 3);
      expect([afterwards.allowed, inTime(afterwards)]).toEqual([false, true]);
    }
    expect(await here.count("someone else", 300_000, 3)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    expect((await here.count("quick", 1_000, 1)).allowed).toBe(true);
    expect((await there.count("quick", 1_000, 1)).allowed).toBe(false);
    await expect.poll(async () => (await there.count("quick", 1_000, 1)).allowed).toBe(true);
  });

  test.each([39, 70, 700])("lets the last one of a burst of %i through", async (limit) => {
    let allowed = 0;
    const clock = fakeClock();
    const node = await openCoord({ store, clock, node: "still", onError: (error) => errors.push(error) });
    for (let time = 0; time <= limit; time += 1)
      if ((await node.count(`burst of ${limit}`, 3_600_000, limit)).allowed) allowed += 1;
    expect(allowed).toBe(limit);
    await node.close();
  });

  test("an event may be worth several; what it did not use comes back, and what it used beyond is owed", async () => {
    const clock = fakeClock();
    const node = await openCoord({ store, clock, node: "worth", onError: (error) => errors.push(error) });
    const take = (worth: number) => node.count("tokens", 60_000, 60_000, worth);
    expect(await take(60_010)).toMatchObject({ allowed: false });
    expect(await take(50_000)).toMatchObject({ allowed: true, fullAfterMs: 50_000 });
    const refused = await take(20_000);
    expect(refused.allowed).toBe(false);
    expect(Math.abs(refused.retryAfterMs - 10_000)).toBeLessThan(20);
    await node.uncount("tokens", 60_000, 60_000, 45_000);
    expect(await take(20_000)).toMatchObject({ allowed: true, fullAfterMs: 25_000 });
    clock.advance(10_000);
    // 45,000 are left.
    expect((await node.fullAfter(["tokens"])).get("tokens")).toBe(15_000);
    clock.advance(-10_000);
    await node.uncount("tokens", 60_000, 60_000, -30_000.5);
    expect((await take(10_000)).allowed).toBe(false);
    await node.close();
  });

  test("takes back what it counted, and never more than was counted", async () => {
    const count = async () => (await here.count("undone", 300_000, 3)).allowed;
    await there.uncount("undone", 300_000, 3);
    expect([await count(), await count(), await count(), await count()]).toEqual([true, true, true, false]);
    await there.uncount("undone", 300_000, 3);
    expect([await count(), await count()]).toEqual([true, false]);
    await here.uncount("undone", 300_000, 0);
    expect(await count()).toBe(false);
  });

  test("a burst of one key lets the questions of other keys through, and ends early once it is refused", async () => {
    let counted = 0;
    const burst = Array.from({ length: 1_000 }, async () => {
      await here.count("most", HOUR_MS, 100_000);
      counted += 1;
    });
    await Promise.all([here.count("once", HOUR_MS, 10), here.hold("once", 10)]);
    // Behind the burst they would come after all of it; how much of it is counted by then depends on what else the machine does.
    if (engine === "postgres") expect(counted).toBeLessThan(burst.length);
    await Promise.all(burst);
    const slots = await Promise.all(Array.from({ length: 1_000 }, () => here.hold("most", 100)));
    expect(slots.filter((leave) => leave !== undefined)).toHaveLength(100);
    for (const leave of slots) leave?.();
    await expect.poll(() => there.hold("most", 1)).toBeDefined();
  });

  test("no caller waits longer because the clock was set, by an hour back or forth", async () => {
    const clock = fakeClock();
    const node = await openCoord({ store, clock, node: "steps", onError: (error) => errors.push(error) });
    const count = () => node.count("steps", 300_000, 3);
    for (let time = 0; time < 3; time += 1) await count();
    expect((await count()).allowed).toBe(false);
    expect(await node.remember("steps", 60_000)).toBe(true);
    clock.advance(-HOUR_MS);
    const refused = await count();
    expect(refused.allowed).toBe(false);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(100_000);
    expect(await node.remember("steps", 60_000)).toBe(false);
    clock.advance(60_001);
    expect(await node.remember("steps", 60_000)).toBe(true);
    clock.advance(40_000);
    expect([(await count()).allowed, (await count()).allowed]).toEqual([true, false]);
    clock.advance(HOUR_MS);
    expect((await count()).allowed).toBe(true);
    expect(await node.remember("steps", 60_000)).toBe(true);
    await node.close();
  });

  test("a limit of 0 is none", async () => {
    for (let round = 0; round < 5; round += 1) {
      expect(await here.count("unlimited", 1_000, 0)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    }
  });

  test("gives out as many slots as there are, over all nodes, and each again when it is given back", async () => {
    const holds = Array.from({ length: 30 }, (_, index) => nodeOf(index).hold("slots", 5));
    const leaves = (await Promise.all(holds)).filter((leave) => leave !== undefined);
    expect(leaves).toHaveLength(5);
    expect(await here.hold("slots", 5)).toBeUndefined();
    expect(await here.hold("other slots", 1)).toBeDefined();
    leaves[0]?.();
    leaves[0]?.();
    await expect.poll(() => there.hold("slots", 5)).toBeDefined();
    expect(await here.hold("slots", 5)).toBeUndefined();
    // A limit that is raised or lowered counts from now on; 0 is none.
    expect(await there.hold("slots", 6)).toBeDefined();
    expect(await there.hold("slots", 3)).toBeUndefined();
    expect(await there.hold("slots", 0)).toBeDefined();
  });

  if (engine === "postgres")
    test("frees the slots of a process that died, and keeps those of one that is alive", async () => {
      const pass = (ms: number) =>
        sql`UPDATE coord_marks SET until_ms = until_ms - ${ms} WHERE key LIKE 'place:alive:%'`.execute(
          store.db,
        );
      const onError = (error: unknown) => errors.push(error);
      if (store.dialect !== "postgres") throw new Error("no PostgreSQL");
      const [dead, alive] = [0, 1].map(() => new SlotLeases({ db: store.db, onError }));
      expect(await dead?.take("alive", 2)).toBeDefined();
      const leave = await alive?.take("alive", 2);
      await pass(LEASE_MS - 10_000);
      await alive?.renew();
      await sweepSlots(store.db);
      expect(await alive?.take("alive", 2)).toBeUndefined();
      await pass(10_000);
      expect(await alive?.take("alive", 2)).toBeDefined();
      expect(await alive?.take("alive", 2)).toBeUndefined();
      leave?.();
      await expect.poll(() => dead?.take("alive", 2)).toBeDefined();
      dead?.close();
      alive?.close();
    });

  if (engine === "postgres")
    test("slots are counted along their index where it is built, and are the same number", async () => {
      const leaves = await Promise.all(Array.from({ length: 7 }, () => here.hold("counted:1", 9)));
      await here.hold("counted:1:1", 9);
      const counted = async () =>
        Object.fromEntries(await there.heldOf(["counted:1", "counted:1:1", "counted"]));
      expect(await counted()).toEqual({ "counted:1": 7, "counted:1:1": 1 });
      if (store.dialect !== "postgres") throw new Error("no PostgreSQL");
      expect(await buildIndexes(store.patient, [SLOT_INDEX])).toEqual(["coord_slots"]);
      expect(await counted()).toEqual({ "counted:1": 7, "counted:1:1": 1 });
      const plan = await store.db.transaction().execute(async (tx) => {
        // So few rows are read sooner than any index.
        await sql`SET LOCAL enable_seqscan = off`.execute(tx);
        await sql`SET LOCAL enable_bitmapscan = off`.execute(tx);
        const { rows } = await sql`EXPLAIN ${countSlots(["place:counted:1"])}`.execute(tx);
        return JSON.stringify(rows);
      });
      expect(plan).toContain("Index Scan using coord_slots");
      for (const leave of leaves) leave?.();
    });

  if (engine === "postgres")
    test("a node whose clock is ahead takes no slot that is held", async () => {
      const clock = fakeClock(systemClock.now() + HOUR_MS);
      const ahead = await openCoord({ store, clock, node: "ahead", onError: (error) => errors.push(error) });
      expect(await here.hold("skewed", 1)).toBeDefined();
      expect(await ahead.hold("skewed", 1)).toBeUndefined();
      await ahead.close();
    });

  if (engine === "postgres")
    test.each([HOUR_MS, -HOUR_MS])(
      "a node whose clock is %i ms ahead counts and remembers with the others, in the same windows",
      async (aheadMs) => {
        const clock = fakeClock(systemClock.now() + aheadMs);
        const other = await openCoord({
          store,
          clock,
          node: "other",
          onError: (error) => errors.push(error),
        });
        const key = `windows ${aheadMs}`;
        const allowed: boolean[] = [];
        for (const node of [here, other, here, other, here, other])
          allowed.push((await node.count(key, HOUR_MS / 2, 3)).allowed);
        expect(allowed).toEqual([true, true, true, false, false, false]);
        for (const node of [here, other]) {
          const { retryAfterMs } = await node.count(key, HOUR_MS / 2, 3);
          expect(retryAfterMs).toBeGreaterThan(HOUR_MS / 6 - 60_000);
          expect(retryAfterMs).toBeLessThanOrEqual(HOUR_MS / 6);
        }
        await other.uncount(key, HOUR_MS / 2, 3);
        expect([(await here.count(key, HOUR_MS / 2, 3)).allowed]).toEqual([true]);
        expect(await here.remember(key, 60_000)).toBe(true);
        expect(await other.remember(key, 60_000)).toBe(false);
        expect(await other.remember(`${key} too`, 60_000)).toBe(true);
        expect(await here.remember(`${key} too`, 60_000)).toBe(false);
        await other.close();
      },
    );

  test("tells what is counted and held, over all nodes, and takes nothing by that", async () => {
    const minute = 60_000;
    await here.count("seen", minute, 60, 30);
    const leave = await there.hold("seen place", 3);
    await here.hold("seen place", 3);
    for (let look = 0; look < 2; look += 1) {
      const full = await there.fullAfter(["seen", "never seen"]);
      expect([...full.keys()]).toEqual(["seen"]);
      expect(full.get("seen")).toBeGreaterThan(minute / 2 - 5_000);
      // The clocks of nodes differ a little from the database.
      expect(full.get("seen")).toBeLessThan(minute / 2 + 5_000);
      const held = await here.heldOf(["seen place", "other place"]);
      expect([held.get("seen place"), held.get("other place") ?? 0]).toEqual([2, 0]);
    }
    leave?.();
    await expect.poll(async () => (await here.heldOf(["seen place"])).get("seen place")).toBe(1);
    expect([await here.fullAfter([]), await here.heldOf([])].map(({ size }) => size)).toEqual([0, 0]);
  });

  test("remembers until the time is over", async () => {
    expect(await here.remember("code", 1_000)).toBe(true);
    expect(await there.remember("code", 1_000)).toBe(false);
    expect(await there.remember("other code", 1_000)).toBe(true);
    await expect.poll(() => there.remember("code", 1_000)).toBe(true);
    const tries = await Promise.all(Array.from({ length: 20 }, () => here.remember("race", 60_000)));
    expect(tries.filter(Boolean)).toHaveLength(1);
  });

  if (engine === "postgres")
    test("comes back after a lost connection and says that all may have changed", async () => {
      const heard: string[] = [];
      const stop = there.subscribe("options", (payload) => heard.push(payload));
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'tollgate coord'`.execute(store.db);
      await expect.poll(() => heard).toContain("");
      heard.length = 0;
      await vi.waitFor(async () => {
        await here.publish("options", "again");
        expect(heard).toContain("again");
      }, 10_000);
      stop();
      errors.length = 0;
    });

  if (engine === "postgres")
    test("what could not be told at once is told later", async () => {
      let isAway = false;
      const flaky = store.db.withPlugin({
        transformQuery({ node }) {
          if (isAway) throw new Error("the line broke");
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      const failures: unknown[] = [];
      const onError = (error: unknown) => failures.push(error);
      const other = await openCoord({
        store: { ...store, db: flaky },
        clock: systemClock,
        node: "flaky",
        onError,
      });
      const heard: string[] = [];
      const stop = here.subscribe("tokens", (payload) => heard.push(payload));
      isAway = true;
      for (const payload of ["7", "8", "7"]) await other.publish("tokens", payload);
      isAway = false;
      await expect.poll(() => heard.toSorted()).toEqual(["7", "8"]);
      expect(failures).not.toEqual([]);
      stop();
      await other.close();
    });

  if (engine === "postgres")
    test("says now and then that all may have changed: a node that died told no other", async () => {
      const syncing = await openCoord({ store, clock: systemClock, node: "syncing", syncMs: 20 });
      const heard: string[] = [];
      syncing.subscribe("tokens", (payload) => heard.push(payload));
      await expect.poll(() => heard.length).toBeGreaterThan(1);
      expect(new Set(heard)).toEqual(new Set([""]));
      await syncing.close();
    });

  if (engine === "postgres")
    test("hears nothing in what is not ours", async () => {
      const heard: string[] = [];
      const stop = here.subscribe("options", (payload) => heard.push(payload));
      for (const text of ["", "not json", "{}", "null", '{"node":"x"}']) {
        await sql`SELECT pg_notify('tollgate', ${text})`.execute(store.db);
      }
      await there.publish("options", "real");
      await expect.poll(() => heard).toEqual(["real"]);
      stop();
    });
});
