// Rates by the published vector (requirements L06): GCRA with a burst of its limit, over one node to the millisecond, and over three nodes of one
// PostgreSQL whose clocks are hours apart.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock, systemClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import type { Coord } from "./coord.ts";
import { openCoord } from "./open.ts";

const HOUR_MS = 3_600_000;

describe.each(engines)("rates on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  const errors: unknown[] = [];

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
    expect(errors).toEqual([]);
  });

  /** When an event of three a minute comes, and how long it has to wait; 0 = it passes. Unit: ms. */
  const VECTOR = [
    ...[0, 0, 0].map((atMs) => [atMs, 0] as const),
    [0, 20_000],
    [1_000, 19_000],
    [20_000, 0],
    [20_001, 19_999],
    [40_000, 0],
    [60_000, 0],
    ...[120_000, 120_000, 120_000].map((atMs) => [atMs, 0] as const),
    [120_000, 20_000],
  ] as const;

  test("three a minute pass and wait as the vector says", async () => {
    const clock = fakeClock();
    const node = await openCoord({ store, clock, node: "vector", onError: (error) => errors.push(error) });
    const startMs = clock.now();
    for (const [atMs, waitMs] of VECTOR) {
      clock.advance(startMs + atMs - clock.now());
      const { allowed, retryAfterMs } = await node.count("vector", 60_000, 3);
      expect([atMs, allowed]).toEqual([atMs, waitMs === 0]);
      expect(Math.abs(retryAfterMs - waitMs), `at ${atMs}`).toBeLessThan(20);
    }
    await node.close();
  });

  test("several are counted up to the first that has no room, or none when one cannot be asked", async () => {
    const node = await openCoord({ store, clock: systemClock, node: "each" });
    const event = (key: string, worth = 1, limit = 3) => ({ key, windowMs: 300_000, limit, worth });
    const allowed = async (...events: ReturnType<typeof event>[]) =>
      (await node.countEach(events)).map((counted) => counted.allowed);
    expect(await allowed()).toEqual([]);
    expect(await allowed(event("a"), event("b", 2), event("free", 9, 0))).toEqual([true, true, true]);
    // The second has no room any more: the first is counted, the last is not asked.
    expect(await allowed(event("a"), event("b", 2), event("c"))).toEqual([true, false]);
    const taken = await node.fullAfter(["a", "b", "c", "d"]);
    expect([...taken.keys()].toSorted()).toEqual(["a", "b"]);
    expect([await allowed(event("a")), await allowed(event("a"))]).toEqual([[true], [false]]);
    if (engine === "postgres") {
      const broken = event("a key that the database refuses: \0");
      await expect(allowed(event("d"), event("free", 9, 0), broken)).rejects.toThrow();
      await expect.poll(async () => (await node.fullAfter(["d"])).size).toBe(0);
    }
    await node.close();
  });

  if (engine === "postgres")
    test("three a minute pass as the vector says over three nodes, of which one is an hour early and one late", async () => {
      let passedMs = 0;
      const nodes: Coord[] = [];
      for (const [at, shiftMs] of [0, HOUR_MS, -HOUR_MS].entries()) {
        const now = () => systemClock.now() + shiftMs + passedMs;
        const clock = { now, seconds: () => Math.floor(now() / 1_000) };
        nodes.push(await openCoord({ store, clock, node: `shifted${at}` }));
      }
      for (const [index, [atMs, waitMs]] of VECTOR.entries()) {
        // A little later each time: what nodes know of the database's clock is not exact to the millisecond.
        passedMs = atMs + index * 300;
        const { allowed, retryAfterMs } = await (nodes[index % 3] ?? expect.fail()).count(
          "shifted",
          60_000,
          3,
        );
        expect([index, allowed]).toEqual([index, waitMs === 0]);
        expect(retryAfterMs).toBeLessThanOrEqual(waitMs);
      }
      for (const node of nodes) await node.close();
    });
});
