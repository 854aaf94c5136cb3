import { expect, it } from "vitest";
import { User } from "#contract/user.ts";
import { isAdmin, isRoot, mayOpen, roleLabel } from "./session.ts";

const user = (role: number) => User.parse({ id: 1, username: "u", display_name: "", role, status: 1 });

it("opens pages by role", () => {
  expect(mayOpen("public", undefined)).toBe(true);
  expect(mayOpen("user", undefined)).toBe(false);
  expect(mayOpen("user", user(1))).toBe(true);
  expect(mayOpen("admin", user(1))).toBe(false);
  expect(mayOpen("admin", user(10))).toBe(true);
  expect(isAdmin(undefined)).toBe(false);
  expect(isRoot(user(99))).toBe(false);
});

it("names roles", () => {
  expect([1, 10, 100, 0].map(roleLabel)).toEqual(["普通用户", "管理员", "超级管理员", "未知身份"]);
});
