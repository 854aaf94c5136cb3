// Whether the form of a channel names the models that calls would be refused for.
import { describe, expect, it } from "vitest";
import type { Option } from "#contract/option.ts";
import { unpricedModels } from "./values.ts";

const options: readonly Option[] = [
  { key: "ModelRatio", value: '{"gpt-4o":1.25,"gpt-5":0.6,"qwen-max":1}' },
  { key: "FallbackModelRatio", value: "" },
];

describe("the models of a channel without a price", () => {
  it("are those that no table knows under any of their names", () => {
    const models = ["gpt-4o", "gpt-5-high", "qwen-max-internet", "my-llm", "constructor"];
    expect(unpricedModels({ models, mapping: "" }, options)).toEqual(["my-llm", "constructor"]);
  });

  it("are served by the mapping too, and have the price of what they are mapped to", () => {
    const mapping = '{"my-llm":"gpt-4o","asked":"unknown"}';
    expect(unpricedModels({ models: ["my-llm"], mapping }, options)).toEqual(["asked"]);
    expect(unpricedModels({ models: ["my-llm"], mapping: '{"my-llm":' }, options)).toEqual(["my-llm"]);
  });

  it("are none where a ratio stands for them", () => {
    const [table = { key: "", value: "" }] = options;
    const fallback = [table, { key: "FallbackModelRatio", value: "1" }];
    expect(unpricedModels({ models: ["my-llm"], mapping: "" }, fallback)).toEqual([]);
  });
});
