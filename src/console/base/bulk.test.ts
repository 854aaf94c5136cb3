import { describe, expect, test } from "vitest";
import { runAll, tellBulk } from "./bulk.ts";
import { ApiFault, bindSignedOut } from "./faults.ts";
import { takeToasts } from "./toast.ts";

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
    expect(result).toEqual({ done: 2, failed: 1, reason: "不行" });
  });

  test("ends with the session", async () => {
    let ended = 0;
    bindSignedOut(() => {
      ended += 1;
    });
    const result = await runAll([1, 2, 3], async (item) => {
      if (item === 2) throw new ApiFault("signed-out", "", { status: 401 });
    });
    expect([ended, result.done, result.failed]).toEqual([1, 1, 2]);
  });

  test("tells the number, and the reason of the first failure", () => {
    takeToasts();
    tellBulk("删除", "渠道", { done: 3, failed: 0, reason: "" });
    tellBulk("启用", "渠道", { done: 1, failed: 2, reason: "不行" });
    expect(takeToasts().map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "success 已删除 3 个渠道",
      "error 启用成功 1 个，失败 2 个渠道：不行",
    ]);
  });
});
