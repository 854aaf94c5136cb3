import { describe, expect, it } from "vitest";
import {
  claudeCodeSample,
  codexSample,
  continueSample,
  curlSample,
  environmentSample,
  geminiCliSample,
  nodeSample,
  pythonSample,
} from "./samples.ts";

const input = { server: "https://gate.example", key: "sk-abc", model: 'o"dd/model' };
const all = [
  claudeCodeSample,
  codexSample,
  continueSample,
  curlSample,
  environmentSample,
  geminiCliSample,
  nodeSample,
  pythonSample,
];

describe("samples", () => {
  it.each(all)("%o names server and key, and no address holds the key (requirements H08)", (sample) => {
    const text = sample(input);
    expect(text).toContain("sk-abc");
    expect(text.match(/https?:\/\/[^\s"]+/g)?.every((address) => !address.includes("sk-"))).toBe(true);
    expect(text).toContain("https://gate.example");
  });

  it("of Claude Code are its settings, with the address before /v1", () => {
    expect(JSON.parse(claudeCodeSample(input))).toEqual({
      env: {
        ANTHROPIC_BASE_URL: "https://gate.example",
        ANTHROPIC_AUTH_TOKEN: "sk-abc",
        ANTHROPIC_MODEL: 'o"dd/model',
      },
    });
  });

  it("of Codex name a provider that speaks responses and where its key is", () => {
    expect(codexSample(input).split("\n")).toEqual([
      '# 启动前先设置：export GATEWAY_API_KEY="sk-abc"',
      'model = "o\\"dd/model"',
      'model_provider = "gateway"',
      "",
      "[model_providers.gateway]",
      'name = "gateway"',
      'base_url = "https://gate.example/v1"',
      'env_key = "GATEWAY_API_KEY"',
      'wire_api = "responses"',
    ]);
  });

  it("of the Gemini CLI are its environment, with the address before the version", () => {
    expect(geminiCliSample({ ...input, model: "gemini-2.5-pro" }).split("\n")).toEqual([
      'GOOGLE_GEMINI_BASE_URL="https://gate.example"',
      'GEMINI_API_KEY="sk-abc"',
      'GEMINI_MODEL="gemini-2.5-pro"',
    ]);
  });

  it("of Continue list one model of an OpenAI-compatible provider", () => {
    expect(continueSample(input)).toContain(`models:
  - name: "o\\"dd/model"
    provider: openai
    model: "o\\"dd/model"
    apiBase: "https://gate.example/v1"
    apiKey: "sk-abc"`);
  });
});
