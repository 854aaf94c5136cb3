// Which calls a plan pays for: by the name that the client asked for, in the group that the call is charged in.
import { expect, test } from "vitest";
import { paysFor } from "./plan-terms.ts";

const MODELS: readonly [readonly string[], string, boolean][] = [
  [[], "gpt-4", true],
  [["gpt-4"], "gpt-4", true],
  [["gpt-4"], "gpt-4o", false],
  [["gpt-4"], "GPT-4", false],
  [["gpt-4*"], "gpt-4o", true],
  [["gpt-4*"], "gpt-4", true],
  [["gpt-4*"], "my-gpt-4", false],
  [["claude-*", "gpt-4"], "gpt-4", true],
  // A channel may send it on under another name; the plan names what is asked for.
  [["upstream-name"], "gpt-4", false],
  [["*"], "anything", true],
];

const GROUPS: readonly [readonly string[], string, boolean][] = [
  [[], "default", true],
  [["default"], "default", true],
  [["vip"], "default", false],
  [["vip", "default"], "default", true],
  [["defaul"], "default", false],
  [["default "], "default", false],
  [["*"], "default", false],
];

const cases = MODELS.flatMap(([models, model, isOfModel]) =>
  GROUPS.map(([groups, group, isOfGroup]) => ({
    models,
    model,
    groups,
    group,
    expected: isOfModel && isOfGroup,
  })),
);

test.each(cases)("models $models in groups $groups: $model in $group is paid for: $expected", (one) => {
  const { models, model, groups, group, expected } = one;
  expect(paysFor({ models: [...models], groups: [...groups] }, model, group)).toBe(expected);
});
