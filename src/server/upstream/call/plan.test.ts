import { describe, expect, it } from "vitest";
import { type EndpointName, type Provider, providers } from "#contract/providers.ts";
import type { UpstreamTarget } from "./call.ts";
import { planCall } from "./plan.ts";

function rowOf(slug: string): Provider {
  const row = providers.find((provider) => provider.slug === slug);
  if (row === undefined) throw new Error(`no row ${slug}`);
  return row;
}

interface Shape {
  readonly slug: string;
  readonly baseUrl?: string;
  readonly key?: string;
  readonly other?: string;
  readonly endpoint?: EndpointName;
  readonly model?: string;
  readonly apiVersion?: string;
  readonly isBeyondChat?: true;
}

function planOf({ slug, baseUrl = "", key = "sk-key-of-channel", other = "", ...rest }: Shape) {
  const target: UpstreamTarget = { provider: rowOf(slug), key, baseUrl, other };
  const { endpoint = "chat", model = "gpt-4o", apiVersion = "", isBeyondChat = false } = rest;
  return planCall(target, { endpoint, model, apiVersion, isStream: false, isBeyondChat }, (name) =>
    name === "SystemName" ? "网关 Gate" : "",
  );
}

function urlOf(shape: Shape): string {
  const plan = planOf(shape);
  return plan.kind === "plan" ? plan.origin + plan.path : String(plan.code);
}

describe("addresses", () => {
  it.each<[Shape, string]>([
    [{ slug: "openai" }, "https://api.openai.com/v1/chat/completions"],
    [{ slug: "openai", baseUrl: "https://x.com/" }, "https://x.com/v1/chat/completions"],
    [{ slug: "openai", baseUrl: "https://x.com/v1" }, "https://x.com/v1/chat/completions"],
    [{ slug: "openai", baseUrl: "https://x.com/api/v3" }, "https://x.com/api/v3/chat/completions"],
    [
      { slug: "openai", baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/openai" },
      "https://gateway.ai.cloudflare.com/v1/acc/gw/openai/chat/completions",
    ],
    [{ slug: "openai", endpoint: "embeddings" }, "https://api.openai.com/v1/embeddings"],
    [
      { slug: "openai", endpoint: "realtime", model: "a b" },
      "https://api.openai.com/v1/realtime?model=a%20b",
    ],
    [
      { slug: "openai", endpoint: "realtime", baseUrl: "https://x.com/v1", model: "m" },
      "https://x.com/v1/realtime?model=m",
    ],
    [
      {
        slug: "azure",
        endpoint: "realtime",
        baseUrl: "https://r.openai.azure.com",
        other: "2024-10-01-preview",
      },
      "https://r.openai.azure.com/openai/realtime?deployment=gpt-4o&api-version=2024-10-01-preview",
    ],
    [
      { slug: "zhipu", endpoint: "realtime", model: "m" },
      "https://open.bigmodel.cn/api/paas/v4/realtime?model=m",
    ],
    [
      { slug: "ali-bailian", endpoint: "realtime", model: "m" },
      "https://dashscope.aliyuncs.com/api-ws/v1/realtime?model=m",
    ],
    [
      { slug: "azure", endpoint: "realtime", baseUrl: "https://r.openai.azure.com", other: "v1" },
      "https://r.openai.azure.com/openai/v1/realtime?model=gpt-4o",
    ],
    [
      { slug: "azure", endpoint: "realtime", baseUrl: "https://r.openai.azure.com/openai/v1" },
      "https://r.openai.azure.com/openai/v1/realtime?model=gpt-4o",
    ],
    [{ slug: "openai", model: "gpt-5-pro" }, "https://api.openai.com/v1/responses"],
    [
      {
        slug: "openai",
        model: "gpt-5-pro",
        baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/openai",
      },
      "https://gateway.ai.cloudflare.com/v1/acc/gw/openai/responses",
    ],
    [
      { slug: "azure", model: "gpt-5.1-codex", baseUrl: "https://r.openai.azure.com", other: "2024-10-21" },
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    [
      { slug: "azure", model: "gpt-5.1-codex", baseUrl: "https://r.openai.azure.com/openai/v1" },
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    [{ slug: "openai", model: "gpt-6-sol", isBeyondChat: true }, "https://api.openai.com/v1/responses"],
    [
      { slug: "azure", model: "gpt-6-sol", baseUrl: "https://r.openai.azure.com", isBeyondChat: true },
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    [
      {
        slug: "azure",
        model: "gpt-6-sol",
        baseUrl: "https://r.openai.azure.com/openai/v1",
        isBeyondChat: true,
      },
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    [
      {
        slug: "azure",
        model: "gpt-6-sol",
        baseUrl: "https://r.openai.azure.com",
        other: "v1",
        isBeyondChat: true,
      },
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    [
      {
        slug: "azure",
        model: "gpt-6-sol",
        baseUrl: "https://r.cognitiveservices.azure.com",
        other: "2025-04-01-preview",
        isBeyondChat: true,
      },
      "https://r.cognitiveservices.azure.com/openai/responses?api-version=2025-04-01-preview",
    ],
    [{ slug: "custom", baseUrl: "http://x.com:8080" }, "http://x.com:8080/v1/chat/completions"],
    [{ slug: "custom", baseUrl: "https://x.com/llm/chat/completions" }, "https://x.com/llm/chat/completions"],
    [{ slug: "custom", baseUrl: "https://x.com/{model}/go", model: "a/b" }, "https://x.com/a%2Fb/go"],
    [{ slug: "custom" }, "invalid_channel_address"],
    [{ slug: "volcengine" }, "https://ark.cn-beijing.volces.com/api/v3/chat/completions"],
    [
      { slug: "volcengine", baseUrl: "https://ark.cn-beijing.volces.com/api/v3" },
      "https://ark.cn-beijing.volces.com/api/v3/chat/completions",
    ],
    [
      { slug: "volcengine", model: "bot-1" },
      "https://ark.cn-beijing.volces.com/api/v3/bots/chat/completions",
    ],
    [
      { slug: "volcengine", baseUrl: "https://ark.cn-beijing.volces.com/api/coding", endpoint: "messages" },
      "https://ark.cn-beijing.volces.com/api/coding/v1/messages",
    ],
    [{ slug: "cohere" }, "https://api.cohere.com/v2/chat"],
    [{ slug: "cohere", endpoint: "rerank" }, "https://api.cohere.com/v2/rerank"],
    [
      { slug: "cohere", baseUrl: "https://api.cohere.com/compatibility/v1" },
      "https://api.cohere.com/compatibility/v1/chat/completions",
    ],
    [{ slug: "novita" }, "https://api.novita.ai/v3/openai/chat/completions"],
    [{ slug: "gemini-openai" }, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"],
    [
      { slug: "cloudflare", other: "acc1" },
      "https://api.cloudflare.com/client/v4/accounts/acc1/ai/v1/chat/completions",
    ],
    [
      { slug: "cloudflare", baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai" },
      "https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai/v1/chat/completions",
    ],
    [{ slug: "cloudflare", other: "a/b" }, "invalid_channel_address"],
    [{ slug: "deepseek", endpoint: "messages" }, "https://api.deepseek.com/anthropic/v1/messages"],
    [
      { slug: "deepseek", baseUrl: "https://api.deepseek.com/v1", endpoint: "messages" },
      "https://api.deepseek.com/anthropic/v1/messages",
    ],
    [{ slug: "ali-bailian" }, "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"],
    [
      { slug: "ali-bailian", endpoint: "messages" },
      "https://dashscope.aliyuncs.com/apps/anthropic/v1/messages",
    ],
    [{ slug: "xunfei-v2" }, "https://spark-api-open.xf-yun.com/v1/chat/completions"],
    [
      { slug: "xunfei-v2", baseUrl: "https://spark-api-open.xf-yun.com/x2" },
      "https://spark-api-open.xf-yun.com/x2/chat/completions",
    ],
    [
      { slug: "xunfei", key: "app|secret|key", baseUrl: "https://spark-api-open.xf-yun.com" },
      "https://spark-api-open.xf-yun.com/v1/chat/completions",
    ],
    [
      { slug: "bedrock", key: "AK|SK|us-east-1", model: "a.b-v1:0" },
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse",
    ],
    [
      { slug: "bedrock", key: "AK|SK|us-east-1", model: "eu.anthropic.claude-x-v1:0" },
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/eu.anthropic.claude-x-v1%3A0/invoke",
    ],
    [
      { slug: "bedrock", key: "AK|SK|us-east-1", model: "claude-opus-4-6" },
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/global.anthropic.claude-opus-4-6-v1/invoke",
    ],
    [{ slug: "bedrock", key: "AK|SK" }, "invalid_channel_key"],
    [
      { slug: "vertex", key: "AIza-1", model: "claude-sonnet-4-6@default" },
      "https://aiplatform.googleapis.com/v1/publishers/anthropic/models/claude-sonnet-4-6%40default:rawPredict",
    ],
    [
      { slug: "vertex", key: "AIza-1", endpoint: "count-tokens", model: "gemini-2.5-flash" },
      "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash:countTokens",
    ],
    [
      { slug: "vertex", key: "AIza-1", endpoint: "count-tokens", model: "claude-opus-5" },
      "unsupported_relay_mode",
    ],
    [
      { slug: "vertex", key: "AIza-1", model: "claude-sonnet-4-5-20250929" },
      "https://aiplatform.googleapis.com/v1/publishers/anthropic/models/claude-sonnet-4-5%4020250929:rawPredict",
    ],
    [{ slug: "vertex", key: "a|b" }, "invalid_channel_key"],
    [{ slug: "groq" }, "https://api.groq.com/openai/v1/chat/completions"],
    [{ slug: "openrouter" }, "https://openrouter.ai/api/v1/chat/completions"],
    [{ slug: "groq", endpoint: "embeddings" }, "unsupported_relay_mode"],
    [
      { slug: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
      "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    ],
    [
      { slug: "azure", baseUrl: "https://r.openai.azure.com" },
      "https://r.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2023-06-01-preview",
    ],
    [
      { slug: "azure", baseUrl: "https://r.openai.azure.com", other: "2024-10-21", model: "gpt-3.5-turbo" },
      "https://r.openai.azure.com/openai/deployments/gpt-35-turbo/chat/completions?api-version=2024-10-21",
    ],
    [
      {
        slug: "azure",
        baseUrl: "https://r.openai.azure.com",
        other: "2024-10-21",
        apiVersion: "2025-04-01-preview",
      },
      "https://r.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview",
    ],
    [
      {
        slug: "azure",
        endpoint: "responses",
        baseUrl: "https://r.cognitiveservices.azure.com",
        other: "2025-04-01-preview",
      },
      "https://r.cognitiveservices.azure.com/openai/responses?api-version=2025-04-01-preview",
    ],
    [
      { slug: "azure", endpoint: "images", baseUrl: "https://r.openai.azure.com", model: "dall-e-3" },
      "https://r.openai.azure.com/openai/deployments/dall-e-3/images/generations?api-version=2023-06-01-preview",
    ],
    [
      { slug: "azure", endpoint: "transcription", baseUrl: "https://r.openai.azure.com", model: "whisper" },
      "https://r.openai.azure.com/openai/deployments/whisper/audio/transcriptions?api-version=2023-06-01-preview",
    ],
    [
      { slug: "azure", baseUrl: "https://r.openai.azure.com", other: "v1" },
      "https://r.openai.azure.com/openai/v1/chat/completions",
    ],
    [
      { slug: "azure", baseUrl: "https://r.openai.azure.com/openai/v1" },
      "https://r.openai.azure.com/openai/v1/chat/completions",
    ],
  ])("%j → %s", (shape, url) => {
    expect(urlOf(shape)).toBe(url);
  });
});

describe("a plan", () => {
  const headersOf = (shape: Shape) => {
    const plan = planOf(shape);
    if (plan.kind === "fault") throw new Error(String(plan.code));
    const pairs: [string, string][] = [];
    for (let at = 0; at < plan.headers.length; at += 2)
      pairs.push([plan.headers[at] ?? "", plan.headers[at + 1] ?? ""]);
    return new Map(pairs);
  };

  it("signs as the row says, without what administrators paste around keys", () => {
    expect(headersOf({ slug: "openai", key: "  Bearer sk-a \n" }).get("authorization")).toBe("Bearer sk-a");
    const translated = headersOf({ slug: "openai", endpoint: "messages" });
    expect([translated.has("x-api-key"), translated.has("authorization")]).toEqual([false, true]);
    const azure = headersOf({ slug: "azure", baseUrl: "https://r.openai.azure.com", key: "k" });
    expect([azure.get("api-key"), azure.has("authorization")]).toEqual(["k", false]);
    const keyless = headersOf({ slug: "ollama", baseUrl: "http://localhost:11434/v1", key: "" });
    expect(keyless.has("authorization")).toBe(false);
  });

  it("fills a row's headers from options, in ASCII", () => {
    expect(headersOf({ slug: "openrouter" }).get("X-Title")).toBe(" Gate");
    expect(headersOf({ slug: "openrouter" }).has("HTTP-Referer")).toBe(false);
  });

  it("knows which upstreams take stream_options", () => {
    const takes = (shape: Shape) => {
      const plan = planOf(shape);
      return plan.kind === "plan" && plan.takesStreamOptions;
    };
    expect(takes({ slug: "openai" })).toBe(true);
    expect(takes({ slug: "mistral" })).toBe(false);
    const azure = { slug: "azure", baseUrl: "https://r.openai.azure.com" };
    expect(takes(azure)).toBe(false);
    expect(takes({ ...azure, other: "2024-10-21" })).toBe(true);
    expect(takes({ ...azure, other: "v1" })).toBe(true);
  });
});

it("calls a model by the name its wire has for it", () => {
  const model = (name: string) => {
    const plan = planOf({ slug: "xunfei-v2", model: name });
    return plan.kind === "plan" ? plan.target.model : "";
  };
  expect(["Spark-Max", "generalv3.5", "constructor"].map(model)).toEqual([
    "generalv3.5",
    "generalv3.5",
    "constructor",
  ]);
});
