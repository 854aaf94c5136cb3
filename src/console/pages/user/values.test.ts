import { describe, expect, test } from "vitest";
import { User } from "#contract/user.ts";
import { UserUpdate } from "#contract/user-admin.ts";
import {
  cutName,
  groupsOf,
  isOwed,
  isProtected,
  isWithdrawable,
  mayEdit,
  updateOf,
  valuesOf,
  withdrawableRule,
} from "./values.ts";

const user: User = User.parse({
  id: 5,
  username: "lihua",
  display_name: "李华",
  role: 1,
  status: 1,
  email: "l@example.com",
  quota: -3,
  invite_commission_balance: "25",
});

describe("withdrawals", () => {
  test("are of what is owed, however little", () => {
    expect(["0", "0.000001", "25", "?"].map(isOwed)).toEqual([false, true, true, false]);
  });

  test("start at what is paid out at once", () => {
    const owed = (invite_commission_balance: string) => isWithdrawable({ invite_commission_balance }, 100);
    expect([owed("99.999999"), owed("100"), owed("0"), owed("?")]).toEqual([false, true, false, false]);
  });

  test("are at least 100 yuan and no more than is owed", () => {
    const fault = (text: string) => withdrawableRule("120.5", 100).safeDecode(text).error?.issues[0]?.message;
    expect(fault("120.5")).toBeUndefined();
    expect(fault("99")).toBe("提现金额不能少于 100 元");
    expect(fault("120.500001")).toBe("返现余额不足");
    expect(fault("-1")).toMatch(/金额须为/);
  });
});

describe("the user list", () => {
  test("cuts names after 15 characters", () => {
    expect(cutName("a".repeat(15))).toBe("a".repeat(15));
    expect(cutName("a".repeat(16))).toBe(`${"a".repeat(15)}…`);
    expect(cutName("😀".repeat(16))).toBe(`${"😀".repeat(15)}…`);
  });

  test("reads groups as a comma list", () => {
    expect(groupsOf("vip, svip,")).toEqual(["vip", "svip"]);
    expect(groupsOf("")).toEqual([]);
  });

  test("protects super administrators, and lets no administrator edit peers", () => {
    expect(isProtected({ role: 100 })).toBe(true);
    expect(isProtected({ role: 10 })).toBe(false);
    expect(mayEdit(10, { role: 10 })).toBe(false);
    expect(mayEdit(10, { role: 1 })).toBe(true);
    expect(mayEdit(100, { role: 100 })).toBe(true);
  });
});

describe("an edit of a user", () => {
  test("sends no amount that was not changed, also a negative one", () => {
    const update = updateOf(user, valuesOf(user));
    expect(update).toEqual({ id: 5 });
    expect(UserUpdate.safeParse(update).success).toBe(true);
  });

  test("sends only what was changed: another administrator may have changed the rest meanwhile", () => {
    const edited = { ...valuesOf(user), group: "vip", display_name: " 李华 ", password: "a-new-password" };
    expect(updateOf(user, edited)).toEqual({ id: 5, group: "vip", password: "a-new-password" });
  });

  test("sends changed amounts with what they were", () => {
    const values = { ...valuesOf(user), quota: 500.9, commission: "0", remark: " 提现 " };
    expect(updateOf(user, values)).toMatchObject({
      quota: 500,
      original_quota: -3,
      invite_commission_balance: "0",
      original_invite_commission_balance: "25",
      remark: "提现",
    });
  });

  test("clears bindings and changes the role only when asked", () => {
    expect(updateOf(user, { ...valuesOf(user), role: 10, cleared: ["email", "id"] })).toMatchObject({
      role: 10,
      email: "",
    });
    expect(updateOf(user, valuesOf(user))).not.toHaveProperty("github_id");
  });
});
