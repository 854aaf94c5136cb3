import { expect, it } from "vitest";
import { User } from "#contract/user.ts";
import { isAdmin, isRoot, may, mayOpen, roleLabel } from "./session.ts";

const user = (role: number) => User.parse({ id: 1, username: "u", display_name: "", role, status: 1 });

it("opens pages by role", () => {
  expect(mayOpen({ access: "public" }, undefined)).toBe(true);
  expect(mayOpen({ access: "user" }, undefined)).toBe(false);
  expect(mayOpen({ access: "user" }, user(1))).toBe(true);
  expect(mayOpen({ access: "admin" }, user(1))).toBe(false);
  expect(mayOpen({ access: "admin" }, user(10))).toBe(true);
  expect(isAdmin(undefined)).toBe(false);
  expect(isRoot(user(99))).toBe(false);
});

it("opens pages of administrators by permission, where the server tells any", () => {
  const page = { access: "admin", permission: "channel.read" } as const;
  const bound = { ...user(10), permissions: ["user.read"] };
  expect(mayOpen(page, bound)).toBe(false);
  expect(mayOpen(page, { ...bound, permissions: ["channel.read"] })).toBe(true);
  expect(mayOpen(page, user(10))).toBe(true);
  expect(mayOpen(page, user(1))).toBe(false);
  expect(mayOpen({ access: "user" }, bound)).toBe(true);
  expect([may(bound, "user.read"), may(bound, "audit.read"), may(undefined, "user.read")]).toEqual([
    true,
    false,
    false,
  ]);
});

it("names roles", () => {
  expect([1, 10, 100, 0].map(roleLabel)).toEqual(["普通用户", "管理员", "超级管理员", "未知身份"]);
});
