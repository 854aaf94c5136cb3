import { expect, it } from "vitest";
import { Role } from "#contract/user.ts";
import { logPath, ownLogPath } from "./log-path.ts";

const filters = { token_name: "a & b", type: 2 };

it("names the filters as the page of the log reads them", () => {
  expect(logPath(filters)).toBe("/log?token_name=a+%26+b&type=2");
});

it("of one's own entries names the user for administrators only, whose log shows all users", () => {
  const own = `${logPath(filters)}&username=wang`;
  expect(ownLogPath({ username: "wang", role: Role.admin }, filters)).toBe(own);
  expect(ownLogPath({ username: "wang", role: Role.root }, filters)).toBe(own);
  expect(ownLogPath({ username: "wang", role: Role.user }, filters)).toBe(logPath(filters));
  expect(ownLogPath(undefined, filters)).toBe(logPath(filters));
});
