// Calls of a time are told all, or as many as wanted from all of it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, engines, type TestDatabase } from "#test/worlds/stores.ts";
import type { Store } from "./db.ts";
import { readSample, type SampledCall } from "./log-sample.ts";
import { insertLogs, type NewLog } from "./logs.ts";
import { NO_CALL } from "./no-call.ts";

const START = 1_800_000_000;

describe.each(engines)("a sample of the log on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
    const row = (change: Partial<NewLog>): NewLog => ({
      ...{ ...NO_CALL, user_id: 1, username: "u", created_at: START, type: 2, content: "", quota: 0 },
      ...change,
    });
    const call = (at: number) =>
      row({
        ...{ model_name: at < 6_000 ? "early" : "late", quota: at, created_at: START + at * 10 },
        ...{ prompt_tokens: 3, completion_tokens: 2, cached_tokens: 1, token_kinds: "audio_input:1" },
      });
    // No call, and a call of before.
    await insertLogs(store.db, [row({ type: 4 }), row({ model_name: "old", created_at: START - 100_000 })]);
    for (let from = 0; from < 12_000; from += 500)
      await insertLogs(
        store.db,
        Array.from({ length: 500 }, (_, index) => call(from + index)),
      );
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  async function sample(most: number): Promise<SampledCall[]> {
    const heard: SampledCall[] = [];
    await readSample(store.db, { start: START, most }, (call) => heard.push(call));
    return heard;
  }

  test("is all of it where it is not more than wanted", async () => {
    const heard = await sample(50_000);
    expect(heard).toHaveLength(12_000);
    expect(new Set(heard.map(({ quota }) => quota)).size).toBe(12_000);
    expect(heard[7]).toEqual({
      ...{ model: "early", quota: 7, promptTokens: 3, completionTokens: 2, cachedTokens: 1 },
      kinds: "audio_input:1",
    });
  });

  test("is spread over the time where there is more", async () => {
    const heard = await sample(4_000);
    expect(heard.length).toBeGreaterThan(3_500);
    expect(heard.length).toBeLessThanOrEqual(4_000);
    const early = heard.filter(({ model }) => model === "early").length;
    expect(Math.abs(early / heard.length - 0.5)).toBeLessThan(0.1);
    expect(Math.max(...heard.map(({ quota }) => quota))).toBeGreaterThan(9_000);
  });

  test("is nothing where nothing was logged since", async () => {
    const heard: SampledCall[] = [];
    await readSample(store.db, { start: START + 1_000_000, most: 10 }, (call) => heard.push(call));
    expect(heard).toEqual([]);
  });
});
