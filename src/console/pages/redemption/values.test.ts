import { describe, expect, test } from "vitest";
import { RedemptionDraft } from "#contract/redemption.ts";
import { draftOf, updateOf, valuesOf } from "./values.ts";

describe("form values of a redemption code", () => {
  test("start with the defaults of the spec", () => {
    expect(valuesOf(undefined)).toEqual({ name: "", quota: 100_000, price: null, count: 1 });
  });

  test("are sent with integers and a trimmed name", () => {
    expect(draftOf({ name: " 活动 ", quota: 12.9, price: 0.29, count: 3.2 })).toEqual({
      name: "活动",
      quota: 12,
      price_minor: 29,
      count: 3,
    });
  });

  test("are refused by the contract when the name or an amount is missing", () => {
    expect(
      RedemptionDraft.safeParse(draftOf({ name: " ", quota: 1, price: null, count: 1 })).error?.issues[0]
        ?.message,
    ).toBe("请输入名称");
    expect(
      RedemptionDraft.safeParse(draftOf({ name: "a", quota: null, price: null, count: 1 })).success,
    ).toBe(false);
    expect(RedemptionDraft.safeParse(draftOf({ name: "a", quota: 1, price: null, count: 101 })).success).toBe(
      false,
    );
  });

  test("an update carries no count", () => {
    expect(updateOf(7, { name: "a", quota: 5, price: null, count: 1 })).toEqual({
      ...{ id: 7, name: "a", quota: 5 },
      price_minor: -1,
    });
    const code = { id: 7, user_id: 1, key: "", status: 1, name: "a", quota: 5, price_minor: 2_950 };
    const times = { created_time: 1, redeemed_time: 0, count: 0, used_user_id: 0 };
    expect(valuesOf({ ...code, ...times }).price).toBe(29.5);
  });
});
