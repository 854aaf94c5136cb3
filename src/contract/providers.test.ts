// Promises of the provider catalogue: complete, unique, and true to requirements B3, B5, B9.
import { describe, expect, it } from "vitest";
import { editsFor, type Provider, wireOf } from "./provider.ts";
import { ownedBy, providerModels } from "./provider-models.ts";
import { providerOf, providers } from "./providers.ts";

/** Source: requirements B3: the form's list, then its proxies. */
const specOrder = [
  1, 14, 3, 11, 24, 28, 15, 17, 18, 16, 19, 25, 23, 26, 27, 29, 30, 31, 8, 22, 21, 20, 2, 5, 7, 10, 4, 6, 9,
  12, 13,
];
const colors = [
  "green",
  "black",
  "olive",
  "orange",
  "blue",
  "violet",
  "teal",
  "red",
  "pink",
  "purple",
  "brown",
  "yellow",
];
const openaiWire = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 19, 20, 22, 25, 26, 28, 29, 31];

function row(type: number): Provider {
  const found = providerOf(type);
  if (found === undefined) throw new Error(`no row for type ${type}`);
  return found;
}

function wire(type: number, target: Partial<Parameters<typeof wireOf>[1]>) {
  return wireOf(row(type), { key: "k", baseUrl: "", other: "", model: "m", ...target });
}

describe("the catalogue", () => {
  it("has every type of the spec exactly once, in the order of its list", () => {
    expect(providers.slice(0, specOrder.length).map(({ type }) => type)).toEqual(specOrder);
    expect(providerOf(99)).toBeUndefined();
  });

  it("has the newer types after them, under One API's numbers or our own from 101 on", () => {
    const newer = providers.slice(specOrder.length).map(({ type, slug }) => [slug, type] as const);
    expect(Object.fromEntries(newer)).toEqual({
      stepfun: 32,
      bedrock: 33,
      coze: 34,
      cohere: 35,
      deepseek: 36,
      cloudflare: 37,
      together: 39,
      volcengine: 40,
      novita: 41,
      vertex: 42,
      relay: 43,
      siliconflow: 44,
      xai: 45,
      "baidu-v2": 47,
      "xunfei-v2": 48,
      "ali-bailian": 49,
      "openai-compatible": 50,
      "gemini-openai": 51,
      dify: 101,
      kling: 102,
      vidu: 103,
    });
    expect(new Set(providers.map(({ type }) => type)).size).toBe(providers.length);
  });

  it("gives every row a label, a slug of its own, a key hint, a chat path and an address", () => {
    expect(new Set(providers.map(({ slug }) => slug)).size).toBe(providers.length);
    expect(new Set(providers.map(({ label }) => label)).size).toBe(providers.length);
    for (const provider of providers) {
      expect(provider.slug, provider.slug).toMatch(/^[a-z0-9-]+$/);
      expect(provider.keyHint, provider.slug).not.toBe("");
      if (provider.video === undefined || provider.paths.chat !== undefined)
        expect(provider.paths.chat, provider.slug).toMatch(/^\//);
      const isOpen = [3, 8, 43, 50].includes(provider.type);
      expect(provider.baseUrl, provider.slug).toMatch(isOpen ? /^$/ : /^(https?|wss):\/\/[^/].*[^/]$/);
      for (const path of Object.values(provider.paths)) expect(path).toMatch(/^\/[^\s?]*$/);
    }
  });

  it("uses all twelve colours and never one twice in a row", () => {
    expect(new Set(providers.map(({ color }) => color))).toEqual(new Set(colors));
    for (const [index, { color }] of providers.entries()) expect(providers[index + 1]?.color).not.toBe(color);
  });

  it("shows the key formats of requirements B5", () => {
    expect(row(15).keyHint).toContain("APIKey|SecretKey");
    expect(row(18).keyHint).toContain("APPID|APISecret|APIKey");
    expect(row(22).keyHint).toContain("APIKey-AppId");
    expect(row(23).keyHint).toContain("AppId|SecretId|SecretKey");
    for (const provider of providers) {
      if (provider.keyParts) expect(provider.keyHint).toContain(provider.keyParts.join("|"));
    }
    const isOptional = providers.filter(({ keyOptional }) => keyOptional).map(({ slug }) => slug);
    expect(isOptional).toEqual(["ollama", "openai-compatible"]);
  });

  it("knows the default of `other` for Azure and Spark, and demands a library id", () => {
    expect(row(3).other?.fallback).toBe("2023-06-01-preview");
    expect(row(18).other?.fallback).toBe("v2.1");
    expect(row(21).other?.required).toBe(true);
    expect(row(1).other).toBeUndefined();
  });

  it("speaks OpenAI's wire for 21 types of the spec", () => {
    const found = providers
      .slice(0, specOrder.length)
      .filter(({ dialect }) => dialect === "openai" || dialect === "azure")
      .map(({ type }) => type);
    expect(found.sort((a, b) => a - b)).toEqual(openaiWire);
    expect(row(3)).toMatchObject({ dialect: "azure", signer: "azure-key" });
    expect(row(16).signer).toBe("zhipu-jwt");
    const others = openaiWire.filter((number) => number !== 3 && number !== 16);
    for (const type of others) expect(row(type).signer).toBe("bearer");
  });

  it("shows a balance exactly where requirements B9 does", () => {
    const units = providers.flatMap(({ type, balance }) =>
      balance?.unit ? [[type, balance.unit] as const] : [],
    );
    expect(Object.fromEntries(units)).toEqual({
      1: "usd",
      8: "usd",
      4: "cny",
      12: "cny",
      5: "cny/10000",
      10: "quota",
      13: "quota",
      43: "usd",
    });
  });
});

describe("the wire of a channel", () => {
  it("is the row itself when no alternate matches", () => {
    expect(wire(1, {})).toBe(row(1));
    expect(wire(15, { key: "a|b" })).toBe(row(15));
    expect(wire(18, { key: "a|b|c" })).toBe(row(18));
  });

  it("follows the look of the key, the address, the model and `other`", () => {
    expect(wire(15, { key: "bce-v3/ALTAK-x/y" })).toMatchObject({
      dialect: "openai",
      signer: "bearer-app-id",
      baseUrl: "https://qianfan.baidubce.com",
    });
    expect(wire(15, { key: "a|b", baseUrl: "https://qianfan.baidubce.com/" }).dialect).toBe("openai");
    expect(wire(18, { key: "password" }).baseUrl).toBe("https://spark-api-open.xf-yun.com");
    expect(wire(16, { model: "chatglm_turbo" })).toMatchObject({ dialect: "zhipu", quirks: {} });
    expect(wire(23, { key: "sk-1" })).toMatchObject({ dialect: "openai", signer: "bearer" });
    expect(wire(24, { baseUrl: "https://g.example/v1beta/openai/" })).toMatchObject({ dialect: "openai" });
    expect(wire(11, { model: "gemini-2.5-flash" }).dialect).toBe("gemini");
    expect(wire(3, { other: "v1" }).paths.chat).toBe("/openai/v1/chat/completions");
    expect(wire(3, { baseUrl: "https://r.openai.azure.com/openai/v1" }).paths.chat).toBe(
      "/v1/chat/completions",
    );
    expect(wire(27, { model: "abab6.5s-chat" }).paths.chat).toBe("/v1/text/chatcompletion_v2");
    expect(wire(27, { model: "abab6.5s-chat", baseUrl: "https://api.minimax.cn" }).paths.chat).toBe(
      "/v1/chat/completions",
    );
    expect(wire(27, { model: "MiniMax-M3" })).toMatchObject({ paths: { chat: "/v1/chat/completions" } });
    expect(wire(27, { model: "MiniMax-M3" }).quirks?.endsWithWholeReply).toBeUndefined();
    expect(wire(27, { model: "MiniMax-M3" }).quirks?.errorIn200).toBe("base-resp");
  });

  it("never carries its test along", () => {
    expect(Object.keys(wire(23, { key: "sk-1" })).sort()).toEqual(["baseUrl", "dialect", "paths", "signer"]);
  });
});

describe("body edits", () => {
  it("are none for a row or a model that needs none, so that the bytes pass", () => {
    expect(editsFor(undefined, "gpt-4o")).toBeUndefined();
    expect(editsFor(row(1).quirks, "gpt-4o")).toBeUndefined();
    expect(editsFor(row(20).quirks, "openai/gpt-5")).toBeUndefined();
  });

  it("add those of the model to those of the row", () => {
    const renameFields = { max_tokens: "max_completion_tokens" };
    const sampling = ["temperature", "top_p", "logprobs", "top_logprobs"];
    expect(editsFor(row(1).quirks, "gpt-5-mini")).toEqual({ renameFields, dropFields: sampling });
    expect(editsFor(row(1).quirks, "gpt-5.1")).toEqual({ renameFields, dropWhenThinking: sampling });
    const efforts = ["low", "medium", "high", "xhigh"];
    expect(editsFor(row(1).quirks, "gpt-6.2-astra")).toEqual({ renameFields, dropFields: sampling, efforts });
    for (const model of ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra", "gpt-5.6-luna", "gpt-5.5"])
      expect(editsFor(row(3).quirks, model)).toEqual({
        renameFields,
        dropWhenThinking: sampling,
        thinksUnasked: true,
        efforts: ["none", ...efforts],
      });
    expect(editsFor(row(1).quirks, "gpt-5-chat-latest")).toEqual({ renameFields });
    expect(editsFor(row(3).quirks, "o4-mini")).toEqual({ renameFields, dropFields: ["temperature"] });
    expect(editsFor(row(25).quirks, "moonshot-v1-8k")).toEqual({
      clampTemperature: [0, 1],
      spaceForEmpty: true,
    });
    const sampled = ["temperature", "top_p"];
    expect(editsFor(row(28).quirks, "mistral-large-latest")?.dropFields).toContain("reasoning_effort");
    expect(editsFor(row(28).quirks, "mistral-large-4-0")?.dropFields).not.toContain("reasoning_effort");
    expect(editsFor(row(25).quirks, "kimi-k2.6")).toMatchObject({
      dropFields: sampled,
      effortAsThinking: true,
    });
    const levels = ["low", "high", "max"];
    const k3 = editsFor(row(25).quirks, "kimi-k3.1-pro");
    expect(k3).toMatchObject({ dropFields: sampled, efforts: levels });
    expect(k3?.effortAsThinking).toBeUndefined();
    expect(editsFor(row(16).quirks, "glm-5.3-flash")?.efforts).toEqual(levels);
    expect(editsFor(row(16).quirks, "glm-5.2")).toMatchObject({ effortAsThinking: true });
    // Thoughts pass: after a call of tools every later turn must carry them, the answer's as well.
    expect(editsFor(row(36).quirks, "deepseek-flash")).toEqual({ effortAsThinking: "none" });
    expect(editsFor(row(26).quirks, "Baichuan4")).toEqual({
      clampTemperature: [0, 1],
      rejectsZeroPenalties: true,
    });
    expect(editsFor(row(27).quirks, "MiniMax-M3")?.zeroAs).toBe(0.01);
  });
});

describe("default models", () => {
  it("exist for every type, each name once per list", () => {
    expect(Object.keys(providerModels).map(Number)).toEqual(
      providers.map(({ type }) => type).sort((a, b) => a - b),
    );
    const isFree = Object.entries(providerModels).filter(([, list]) => list.length === 0);
    expect(isFree.map(([type]) => Number(type))).toEqual([34, 101, 102, 103]);
    for (const list of Object.values(providerModels)) {
      expect(new Set(list).size).toBe(list.length);
      for (const name of list) expect(name).toMatch(/^\S+$/);
    }
  });

  it("are OpenAI's own for resellers, Azure, custom and knowledge bases", () => {
    for (const type of [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 21, 22, 43, 50])
      expect(providerModels[type]).toBe(providerModels[1]);
  });

  it("have an owner", () => {
    expect(ownedBy("gpt-4o")).toBe("openai");
    expect(ownedBy("claude-opus-5")).toBe("anthropic");
    expect(ownedBy("kimi-k3")).toBe("moonshot");
    expect(ownedBy("glm-5.1")).toBe("ali");
    // No longer offered to new channels, and owned as ever.
    const shutDown =
      "gpt-4 gpt-3.5-turbo-1106 gpt-3.5-turbo-instruct chatgpt-4o-latest gpt-5.3-chat-latest gpt-5.2-codex gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-codex-mini davinci-002 babbage-002 dall-e-2 dall-e-3";
    for (const model of shutDown.split(" ")) {
      expect(providerModels[1], model).not.toContain(model);
      expect(ownedBy(model), model).toBe("openai");
    }
    expect(ownedBy("deepseek-chat")).toBe("deepseek");
    expect(providerModels[17]).not.toContain("qwen-max");
    expect(providerModels[49]).not.toContain("qwen-max");
    expect(ownedBy("qwen-max")).toBe("ali");
    expect(providerModels[29]).not.toContain("llama-3.3-70b-versatile");
    expect(ownedBy("llama-3.3-70b-versatile")).toBe("groq");
    expect(providerModels[39]).not.toContain("moonshotai/Kimi-K2.6");
    expect(ownedBy("moonshotai/Kimi-K2.6")).toBe("together");
    expect(ownedBy("my-own")).toBe("custom");
    expect(ownedBy("constructor")).toBe("custom");
  });
});
