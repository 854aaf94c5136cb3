import { expect, it } from "vitest";
import { completions } from "./completions.ts";
import { responses } from "./responses.ts";

const context = { model: "m", isStream: false };

// Old completions, as the hub reads them.
it.each([{ logprobs: 1 }, { logprobs: 0 }, { echo: true }, { suffix: "s" }, { best_of: 2 }])(
  "a completion with %j is refused on chat-only wires",
  (wish) => {
    const [name] = Object.keys(wish);
    expect(() => completions.parse({ prompt: "p", ...wish }, context)).toThrow(
      expect.objectContaining({ what: name }),
    );
  },
);

it("other members of a completion are reported as dropped", () => {
  const plain = { prompt: "p", best_of: 1, echo: false, suffix: null, logprobs: null };
  expect(completions.parse(plain, context).dropped).toEqual([]);
  expect(completions.parse({ ...plain, made_up: 1, service_tier: "flex" }, context).dropped).toEqual([
    "made_up",
    "service_tier",
  ]);
});

it("a prompt stored at OpenAI is refused elsewhere", () => {
  expect(() => responses.parse({ input: "i", prompt: { id: "pmpt_1" } }, context)).toThrow(
    expect.objectContaining({ what: "prompt" }),
  );
});
