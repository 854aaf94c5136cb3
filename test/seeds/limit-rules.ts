// Actions of chance on what limits the output, in all shapes that rules may have been stored in.
import fc from "fast-check";
import { rulesIn } from "#contract/rewrite.ts";

export const limitValue = fc.oneof(
  fc.integer({ min: -2, max: 200 }),
  fc.constantFrom<unknown>(65_536, "65536", null, 0, -1, 1e9, 2.5),
);
const length = fc.constantFrom(
  "max_tokens",
  "max_completion_tokens",
  "maxOutputTokens",
  "num_predict",
  "Max-Tokens",
);
const home = fc.constantFrom(
  "generationConfig",
  "generation_config",
  "options",
  "parameters",
  "metadata",
  "x",
);
export const limitObject = fc.dictionary(fc.oneof(length, fc.constantFrom("a", "b", "chat")), limitValue, {
  maxKeys: 3,
});
const path = fc.oneof(
  length.map((name) => `/${name}`),
  home.map((name) => `/${name}`),
  fc.tuple(home, fc.oneof(length, fc.constantFrom("*", "a", "chat"))).map((parts) => `/${parts.join("/")}`),
);
const action = fc.oneof(
  fc.record({
    op: fc.constantFrom("set", "default", "append", "prepend"),
    path,
    value: fc.oneof(limitValue, limitObject),
  }),
  fc.record({ op: fc.constantFrom("cap", "floor"), path, value: fc.integer({ min: -2, max: 300 }) }),
  fc.record({ op: fc.constant("remove"), path }),
  fc.record({ op: fc.constantFrom("rename", "copy"), path, to: path }),
);
/** Whether a channel is served that has it. */
function isServed(one: unknown): boolean {
  const config = JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: [one] }] } });
  return !("refusal" in rulesIn(config, { isStored: true }));
}
export const limitActions = fc.array(action.filter(isServed), { minLength: 1, maxLength: 5 });
export type LimitAction = ReturnType<typeof action.generate>["value"];
