import { expect, test } from "vitest";
import { faultyLine, rulesOf, rulesText } from "./rules.ts";

test("rules are written as lines and read back, whatever arrow is typed", () => {
  const none = { team_id: 0, team_role: "member", staff_set_id: 0 } as const;
  const rules = [
    { path: "groups", value: "vip users", group: "vip", ...none },
    { path: "realm_access.roles", value: "a=b", group: "svip", ...none },
    { path: "groups", value: "leads", group: "", ...none, team_id: 3, team_role: "manager" as const },
    { path: "groups", value: "audit", group: "", ...none, staff_set_id: 2 },
  ];
  expect(rulesOf(rulesText(rules))).toEqual(rules);
  const typed =
    "groups=vip users->vip\n\n realm_access.roles = a=b → svip \ngroups=leads->#3  manager\ngroups=audit->@2";
  expect(rulesOf(typed)).toEqual(rules);
});

test("a line that is no rule is named", () => {
  expect(faultyLine("groups = a → b\n\ngroups = a")).toBe(3);
  expect(faultyLine("groups → b")).toBe(1);
  expect(faultyLine("groups = a → #3 owner")).toBe(1);
  expect(faultyLine("groups = a → #0 member")).toBe(1);
  for (const wrong of ["@0", "@审计", "@", "#", "#3"])
    expect(faultyLine(`groups = a → ${wrong}`), wrong).toBe(1);
  expect(faultyLine("\n")).toBeUndefined();
});
