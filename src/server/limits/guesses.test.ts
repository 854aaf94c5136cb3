import { setImmediate as later } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import { openCoord } from "#server/coord/open.ts";
import type { Store } from "#server/store/db.ts";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import { createGuesses, type Guesses } from "./guesses.ts";

// SQLite has one process: both nodes share its coord then.
describe.each(engines)("guesses on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  let coords: Coord[];
  let here: Guesses;
  let there: Guesses;

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    const open = (node: string) => openCoord({ store, clock: systemClock, node });
    coords = engine === "sqlite" ? [await open("one")] : [await open("one"), await open("two")];
    [here, there] = [0, coords.length - 1].map((at) => createGuesses(coords[at] as Coord)) as [
      Guesses,
      Guesses,
    ];
  });
  afterAll(async () => {
    for (const coord of coords) await coord.close();
    await store.close();
    await database.drop();
  });

  const countingOf = (key: string, burst: number) => ({
    limit: { name: "test", key, burst, windowMs: 3_600_000, scope: "account", reason: "太多" } as const,
    subject: "",
  });
  let refusals = 0;
  const onRefused = () => {
    refusals += 1;
  };

  /** Guesses at once, on both nodes in turn; tells how many were evaluated. */
  async function burst(count: number, keys: readonly string[], isRight: (index: number) => boolean) {
    let seen = 0;
    const settled = await Promise.allSettled(
      Array.from({ length: count }, (_, index) =>
        (index % 2 ? here : there).guess({
          limits: keys.map((key) => countingOf(key, 5)),
          async evaluate() {
            seen += 1;
            await later();
            return isRight(index);
          },
          isWrong: (right) => !right,
          onRefused,
        }),
      ),
    );
    return { seen, refused: settled.filter(({ status }) => status === "rejected") };
  }

  test("a burst of wrong guesses over all nodes is evaluated as often as the limit allows", async () => {
    refusals = 0;
    const { seen, refused } = await burst(100, ["wrong"], () => false);
    expect([seen, refused.length, refusals]).toEqual([5, 95, 95]);
    expect(refused[0]).toMatchObject({ reason: { status: 429, publicMessage: "太多，请 12 分钟后再试" } });
  });

  test("right guesses wait for each other and cost nothing", async () => {
    const guess = () =>
      here.guess({
        limits: [countingOf("right", 5)],
        evaluate: async () => later(true),
        isWrong: () => false,
        onRefused,
      });
    expect(await Promise.all(Array.from({ length: 40 }, guess))).toEqual(Array(40).fill(true));
    expect((await burst(20, ["right"], () => false)).seen).toBe(5);
  });

  test("a limit without room costs the others nothing, and so does a guess that could not be evaluated", async () => {
    await burst(10, ["address"], () => false);
    expect((await burst(10, ["account", "address"], () => false)).seen).toBe(0);
    const broken = here.guess({
      limits: [countingOf("account", 5)],
      evaluate: () => Promise.reject(new Error("no answer")),
      isWrong: () => true,
      onRefused,
    });
    await expect(broken).rejects.toThrow("no answer");
    expect((await burst(10, ["account"], () => false)).seen).toBe(5);
  });
});
