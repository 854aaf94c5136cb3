import { expect, test } from "vitest";
import { faultyLine, rulesOf, rulesText } from "./rules.ts";

test("rules are written as lines and read back, whatever arrow is typed", () => {
  const rules = [
    { path: "groups", value: "vip users", group: "vip" },
    { path: "realm_access.roles", value: "a=b", group: "svip" },
  ];
  expect(rulesOf(rulesText(rules))).toEqual(rules);
  expect(rulesOf("groups=vip users->vip\n\n realm_access.roles = a=b → svip ")).toEqual(rules);
});

test("a line that is no rule is named", () => {
  expect(faultyLine("groups = a → b\n\ngroups = a")).toBe(3);
  expect(faultyLine("groups → b")).toBe(1);
  expect(faultyLine("\n")).toBeUndefined();
});
