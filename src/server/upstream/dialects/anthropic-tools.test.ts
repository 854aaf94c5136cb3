import { expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { anthropic } from "./anthropic.ts";

const wire = providerOf(14) ?? expect.fail("no row for Anthropic");

function encode(request: Partial<HubRequest> & Pick<HubRequest, "model">) {
  const whole: HubRequest = {
    isStream: false,
    messages: [{ role: "user", parts: [{ kind: "text", text: "hi" }] }],
    ...request,
  };
  const target = { baseUrl: "", other: "", model: whole.model, apiVersion: "", isStream: false };
  return anthropic.encode(whole, { wire, target });
}

const tools = ["a", "b"].map(
  (name) => ({ kind: "function", name, description: undefined, parameters: undefined }) as const,
);

it.each(["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-fable-5-2", "claude-opus-6"])(
  "leaves the choice to %s, which refuses forced calls, and keeps its thinking",
  (model) => {
    const reasoning = { effort: "low", budgetTokens: undefined, isShown: undefined } as const;
    const ask = (toolChoice: NonNullable<HubRequest["toolChoice"]>) =>
      encode({ model, tools, reasoning, toolChoice });
    for (const choice of [
      { kind: "any" },
      { kind: "tool", name: "a" },
      { kind: "subset", names: ["a"], isRequired: true },
    ] as const) {
      const { body, dropped } = ask(choice);
      expect(body).toMatchObject({ tool_choice: { type: "auto" }, output_config: { effort: "low" } });
      expect(dropped).toEqual(["tool_choice"]);
    }
    expect(ask({ kind: "none" }).body["tool_choice"]).toEqual({ type: "none" });
    expect(ask({ kind: "auto" }).dropped).toEqual([]);
  },
);

it.each([
  ["claude-opus-5", { type: "disabled" }],
  ["claude-sonnet-5", { type: "disabled" }],
  ["claude-haiku-5-5", { type: "disabled" }],
  ["claude-fable-5", undefined],
  ["claude-opus-4-8", undefined],
])("a forced tool switches off the default thinking of %s, where possible", (model, thinking) => {
  const { body, dropped } = encode({ model, tools, toolChoice: { kind: "any" } });
  expect(body["tool_choice"]).toEqual({ type: "any" });
  expect(body["thinking"]).toEqual(thinking);
  expect(dropped).toEqual([]);
});
