// The form of the rules of routing: nothing of a rule is lost in it, and what a rule excludes is told as the relay would do it.
import { expect, test } from "vitest";
import type { RouteRule } from "#contract/route-rule.ts";
import {
  hiddenBy,
  NEW_RULE,
  outcomeOf,
  type RuledChannel,
  readRules,
  ruleFault,
  ruleOf,
  ruleValues,
  textFault,
  writeRules,
} from "./rule-values.ts";

const FULL: RouteRule = {
  name: "长文本",
  models: ["claude-*", "gpt-4"],
  groups: ["vip"],
  teams: [3],
  kib_over: 0,
  kib_up_to: 200,
  only: [3, 7],
};

test("a rule comes out of the form as it went in", () => {
  for (const rule of [FULL, { name: "a", avoid: [1] }, { name: "b", models: ["*"], only: [2] }]) {
    expect(ruleOf(ruleValues(rule))).toEqual(rule);
    expect(readRules(JSON.stringify([rule]))).toEqual([ruleValues(rule)]);
    expect(JSON.parse(writeRules([ruleValues(rule)]))).toEqual([rule]);
  }
  // A new rule's fields that the administrator left alone are not there.
  expect(ruleOf({ name: " a ", channels: [1] })).toEqual({ name: "a", only: [1] });
});

test("a fault stands at its field", () => {
  const rules = [
    { ...NEW_RULE, name: "a", models: ["gp*t"], channels: [1] },
    { ...NEW_RULE, name: " a" },
  ];
  expect(ruleFault(rules, 0, "models")).toBe("模型名里的 * 只能在末尾");
  expect(ruleFault(rules, 0, "channels")).toBeUndefined();
  expect(ruleFault(rules, 1, "channels")).toBe("渠道列表不能为空");
  expect([ruleFault(rules, 0, "name"), ruleFault(rules, 1, "name")]).toEqual(
    Array(2).fill("规则的名称不能重复"),
  );
  expect(ruleFault([NEW_RULE], 0, "name")).toBe("规则须有名称");
  expect(textFault("[{")).toContain("路由规则");
  expect(textFault(JSON.stringify([FULL]))).toBeUndefined();
  expect(readRules("[{")).toBeUndefined();
});

const channel = (
  id: number,
  models: string[],
  group = ["default"],
  more: Partial<RuledChannel> = {},
): RuledChannel => ({
  ...{ id, name: `c${id}`, status: 1, models, group, model_mapping: "" },
  ...more,
});
const CHANNELS = [
  channel(1, ["gpt-4", "claude-3"]),
  channel(2, ["gpt-4"], ["vip"]),
  channel(3, ["gpt-4"], ["default"], { status: 2 }),
  channel(4, ["other"], ["default", "vip"], { model_mapping: '{"claude-3":"x"}' }),
  channel(5, ["other"], ["default"], { model_mapping: "no JSON" }),
];

test.each<[string, Omit<RouteRule, "name">, number[], number[], string[]]>([
  ["for all", { only: [1, 2, 4] }, [1, 2, 4, 5], [5], []],
  ["for a model by its name or its mapping", { models: ["claude-*"], avoid: [1] }, [1, 4], [1], []],
  ["that leaves a model none", { only: [4] }, [1, 2, 4, 5], [1, 2, 5], ["gpt-4"]],
  ["that leaves one group of a model none", { models: ["gpt-4"], only: [1] }, [1, 2], [2], ["gpt-4"]],
  ["for a group", { groups: ["vip"], avoid: [2] }, [2, 4], [2], ["gpt-4"]],
  [
    "that names a channel which is off",
    { models: ["gpt-4"], groups: ["default"], only: [3] },
    [1],
    [1],
    ["gpt-4"],
  ],
  ["for a model that no channel has", { models: ["unknown"], only: [1] }, [], [], []],
])("a rule %s tells what it excludes", (_, rule, ...[able, excluded, lost]) => {
  const outcome = outcomeOf({ name: "a", ...rule }, CHANNELS);
  expect(outcome.able.map(({ id }) => id)).toEqual(able);
  expect(outcome.excluded.map(({ id }) => id)).toEqual(excluded);
  expect(outcome.lost).toEqual(lost);
});

test("a rule behind one for every call is never reached", () => {
  const all = { name: "all", models: ["gpt-*", "*"], only: [1] };
  const some = { name: "some", kib_over: 4, only: [1] };
  expect(hiddenBy([some, all, some], 2)).toBe(all);
  expect(hiddenBy([some, all, some], 1)).toBeUndefined();
  expect(hiddenBy([{ name: "any", avoid: [1] }, some], 1)).toMatchObject({ name: "any" });
});
