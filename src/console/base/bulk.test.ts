import { describe, expect, test } from "vitest";
import { bulkText, runAll } from "./bulk.ts";
import { ApiFault, bindSignedOut } from "./faults.ts";

describe("acting on many rows", () => {
  test("goes in order, one at a time, and counts", async () => {
    const seen: number[] = [];
    const steps: number[] = [];
    const result = await runAll(
      [1, 2, 3],
      async (item) => {
        seen.push(item);
        if (item === 2) throw new ApiFault("refused", "不行");
      },
      (behind) => steps.push(behind),
    );
    expect([seen, steps]).toEqual([
      [1, 2, 3],
      [0, 1, 2],
    ]);
    expect(result).toEqual({ done: 2, failures: [{ item: 2, reason: "不行" }] });
  });

  test("ends with the session", async () => {
    let ended = 0;
    bindSignedOut(() => {
      ended += 1;
    });
    const { done, failures } = await runAll([1, 2, 3], async (item) => {
      if (item === 2) throw new ApiFault("signed-out", "", { status: 401 });
    });
    expect([ended, done, failures.map(({ item }) => item)]).toEqual([1, 1, [2, 3]]);
  });

  test("tells the numbers", () => {
    const failures = [1, 2].map((item) => ({ item, reason: "不行" }));
    expect(bulkText("删除", "渠道", { done: 3, failures: [] })).toBe("已删除 3 个渠道");
    expect(bulkText("启用", "渠道", { done: 1, failures })).toBe("启用成功 1 个，失败 2 个渠道");
  });
});
