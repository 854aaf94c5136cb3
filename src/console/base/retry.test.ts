import { describe, expect, it } from "vitest";
import { callbackSchedule, withRetries } from "./retry.ts";

async function run(failures: number) {
  const slept: number[] = [];
  const told: (number | undefined)[] = [];
  let calls = 0;
  const act = async () => {
    calls += 1;
    if (calls <= failures) throw new Error(`failure ${calls}`);
    return "in";
  };
  const done = await withRetries(act, callbackSchedule, {
    sleep: async (ms) => void slept.push(ms),
    onFailure: (_error, attempt) => told.push(attempt),
  });
  return { slept, told, calls, done };
}

describe("the retries of the GitHub callback (requirements B4)", () => {
  it("needs none when the first call succeeds", async () => {
    expect(await run(0)).toEqual({ slept: [], told: [], calls: 1, done: { result: "in" } });
  });

  it("waits 2 s times the number of the attempt", async () => {
    expect(await run(2)).toEqual({ slept: [2000, 4000], told: [1, 2], calls: 3, done: { result: "in" } });
  });

  it("gives up after the last one", async () => {
    expect(await run(9)).toEqual({ slept: [2000, 4000], told: [1, 2, undefined], calls: 3, done: undefined });
  });
});
