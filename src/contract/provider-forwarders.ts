// Provider rows: custom bases, knowledge bases and resellers, nearly all plain forwarders of OpenAI's wire. Data only.
// Facts: vendors/openrouter, vendors/resellers, vendors/balances, requirements T2, W13.
import type { Paths, Provider } from "./provider.ts";
import { openaiPaths, vendor } from "./provider-paths.ts";

const { chat, completions, embeddings, responses, models } = openaiPaths;

/** Resellers and custom bases forward everything; some of them also rerank. */
const forwarderPaths: Paths = { ...openaiPaths, rerank: "/v1/rerank" };

/** What all plain forwarders share: OpenAI's wire, no deviation (vendors/resellers). */
const forwarder = { ...vendor, kind: "proxy", paths: forwarderPaths } as const;

/** What a reseller says is left where OpenAI's own console asked for it. */
const grants = { probe: "field", url: "/dashboard/billing/credit_grants" } as const;

export const forwarders: readonly Provider[] = [
  {
    ...forwarder,
    type: 8,
    slug: "custom",
    video: "openai",
    batch: "/v1",
    label: "自定义渠道",
    kind: "custom",
    color: "pink",
    baseUrl: "",
    baseUrlHint: "任何兼容 OpenAI 接口的地址，例如：https://example.com",
    balance: { probe: "openai-billing", unit: "usd" },
  },
  {
    ...vendor,
    type: 22,
    slug: "fastgpt",
    label: "知识库：FastGPT",
    kind: "knowledge",
    color: "blue",
    baseUrl: "https://fastgpt.run/api/openapi",
    baseUrlHint: "现用地址 https://cloud.fastgpt.cn/api，私有部署为 {地址}/api",
    keyHint: "按照如下格式输入：APIKey-AppId，例如：fastgpt-xxxxxxxx-64f335d84283f05518e9e041",
    paths: { chat },
    // Usage is 1/1/1 or zeros; errors come as {code, statusText, message} with 200 or 500. Source: vendors/fastgpt.
    quirks: {
      usageUnreliable: true,
      errorIn200: "status-text",
      answerEvents: ["", "answer", "fastAnswer"],
      faultStatus: { "514": 401 },
    },
  },
  {
    ...vendor,
    type: 21,
    slug: "aiproxy-library",
    label: "知识库：AI Proxy",
    kind: "knowledge",
    color: "purple",
    baseUrl: "https://api.aiproxy.io",
    other: { label: "知识库 ID", fallback: "", hint: "请输入知识库 ID，例如：123456", required: true },
    dialect: "aiproxy",
    paths: { chat: "/api/library/ask" },
    quirks: { usageUnreliable: true },
  },
  {
    ...vendor,
    type: 20,
    slug: "openrouter",
    label: "代理：OpenRouter",
    kind: "proxy",
    color: "black",
    baseUrl: "https://openrouter.ai/api",
    paths: { chat, completions, embeddings, responses, messages: "/v1/messages", models },
    // Attribution headers. Source: vendors/openrouter.
    quirks: {
      headers: { "HTTP-Referer": "ServerAddress", "X-Title": "SystemName" },
      // Other models than the one that is billed, and what is paid by the piece.
      priceFields: ["models", "route", "plugins"],
      // "No endpoints found that support the native `namespace` tool type." Source: openai/codex issue 32318, 2026-07.
      functionToolsOnly: { but: ["openai/"] },
    },
    // Source: vendors/balances.
    balance: { probe: "field", url: "/v1/credits", field: "data.total_credits", minus: "data.total_usage" },
  },
  {
    ...forwarder,
    type: 2,
    slug: "api2d",
    label: "代理：API2D",
    color: "blue",
    baseUrl: "https://oa.api2d.net",
  },
  {
    ...forwarder,
    type: 5,
    slug: "openai-sb",
    label: "代理：OpenAI-SB",
    color: "brown",
    baseUrl: "https://api.openai-sb.com",
    balance: {
      probe: "field",
      unit: "cny/10000",
      url: "/sb-api/user/status",
      field: "data.credit",
      key: "query:api_key",
    },
  },
  {
    ...forwarder,
    type: 7,
    slug: "ohmygpt",
    label: "代理：OhMyGPT",
    color: "violet",
    baseUrl: "https://api.ohmygpt.com",
  },
  {
    ...forwarder,
    type: 10,
    slug: "aiproxy",
    label: "代理：AI Proxy",
    color: "purple",
    baseUrl: "https://api.aiproxy.io",
    balance: {
      probe: "field",
      unit: "quota",
      url: "https://aiproxy.io/api/report/getUserOverview",
      field: "data.totalPoints",
      key: "header:Api-Key",
    },
  },
  {
    ...forwarder,
    type: 4,
    slug: "closeai",
    label: "代理：CloseAI",
    color: "teal",
    baseUrl: "https://api.closeai-proxy.xyz",
    baseUrlHint: "现用地址 https://api.openai-proxy.org",
    balance: { ...grants, unit: "cny", field: "total_available" },
  },
  {
    ...forwarder,
    type: 6,
    slug: "openai-max",
    label: "代理：OpenAI Max",
    color: "green",
    baseUrl: "https://api.openaimax.com",
  },
  {
    ...forwarder,
    type: 9,
    slug: "ails",
    label: "代理：AI.LS",
    color: "yellow",
    baseUrl: "https://api.caipacity.com",
  },
  {
    ...forwarder,
    type: 12,
    slug: "api2gpt",
    label: "代理：API2GPT",
    color: "orange",
    baseUrl: "https://api.api2gpt.com",
    balance: { ...grants, unit: "cny", field: "total_remaining" },
  },
  {
    ...forwarder,
    type: 13,
    slug: "aigc2d",
    label: "代理：AIGC2D",
    color: "red",
    baseUrl: "https://api.aigc2d.com",
    balance: { ...grants, unit: "quota", field: "total_available" },
  },
];
