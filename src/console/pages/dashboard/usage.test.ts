import { describe, expect, it } from "vitest";
import { daysUntil, OTHERS, rankModels, sum, sumByDay } from "./usage.ts";

function row(Day: string, ModelName: string, Quota: number) {
  return { Day, ModelName, Quota, RequestCount: 1, PromptTokens: 10, CompletionTokens: 5 };
}

describe("usage by day and model", () => {
  it("names seven UTC days, oldest first", () => {
    const days = daysUntil(Date.UTC(2026, 10, 20, 0, 5) / 1000);
    expect(days).toHaveLength(7);
    expect([days[0], days[6]]).toEqual(["2026-11-14", "2026-11-20"]);
  });

  it("sums each day, with zeros for days without calls", () => {
    const rows = [row("2026-11-19", "a", 3), row("2026-11-19", "b", 4)];
    expect(sumByDay(rows, ["2026-11-18", "2026-11-19"]).map(({ quota }) => quota)).toEqual([0, 7]);
    expect(sum(rows)).toEqual({ quota: 7, requests: 2, prompt: 20, completion: 10 });
  });

  it("ranks models and puts what is beyond the eighth together", () => {
    const rows = Array.from({ length: 11 }, (_none, at) => row("2026-11-20", `m${at}`, at + 1));
    const models = rankModels(rows);
    expect(models).toHaveLength(9);
    expect(models[0]).toMatchObject({ name: "m10", quota: 11 });
    expect(models[8]).toMatchObject({ name: OTHERS, quota: 1 + 2 + 3, colour: "black" });
    expect(models.reduce((total, { share }) => total + share, 0)).toBeCloseTo(1);
  });

  it("has no models and no shares without rows", () => {
    expect(rankModels([])).toEqual([]);
  });
});
