// Provider rows: types that are younger than requirements B3, under One API's numbers; numbers from 101 on are our own. Data only.
// Facts: vendors/qianfan, vendors/dashscope, vendors/spark, vendors/claude-elsewhere, vendors/balances, vendors/newer-types, requirements T2.2.
import type { Paths, Provider } from "./provider.ts";
import { qianfan, sparkHttp, sparkX2Paths } from "./provider-china.ts";
import { openaiPaths, vendor } from "./provider-paths.ts";

const { chat, completions, embeddings, images, speech, transcription, responses, realtime, models } =
  openaiPaths;

/** What an unknown server of OpenAI's wire can be asked for; other formats are translated to its chat. */
const compatiblePaths: Paths = {
  chat,
  completions,
  embeddings,
  images,
  "image-edits": openaiPaths["image-edits"],
  speech,
  transcription,
  translation: openaiPaths.translation,
  moderation: openaiPaths.moderation,
  rerank: "/v1/rerank",
  models,
};

const cloudflareAccount = "/client/v4/accounts/{account}/ai";

/** One API's names. Source: vendors/bedrock. */
const llamaOnBedrock = {
  "llama3-8b-8192": "meta.llama3-8b-instruct-v1:0",
  "llama3-70b-8192": "meta.llama3-70b-instruct-v1:0",
} as const;

/** Anthropic's names; from 4.x on a profile of regions is a must. Source: vendors/bedrock. */
const claudeOnBedrock = {
  "claude-3-haiku-20240307": "anthropic.claude-3-haiku-20240307-v1:0",
  "claude-3-5-sonnet-20241022": "anthropic.claude-3-5-sonnet-20241022-v2:0",
  "claude-haiku-4-5-20251001": "global.anthropic.claude-haiku-4-5-20251001-v1:0",
  "claude-sonnet-4-5-20250929": "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
  "claude-opus-4-5-20251101": "global.anthropic.claude-opus-4-5-20251101-v1:0",
  "claude-opus-4-6": "global.anthropic.claude-opus-4-6-v1",
  "claude-sonnet-4-6": "global.anthropic.claude-sonnet-4-6",
  "claude-opus-4-7": "global.anthropic.claude-opus-4-7",
  "claude-opus-4-8": "global.anthropic.claude-opus-4-8",
  "claude-sonnet-5": "global.anthropic.claude-sonnet-5",
  "claude-opus-5": "global.anthropic.claude-opus-5",
  "claude-opus-5-5": "global.anthropic.claude-opus-5-5",
  "claude-sonnet-5-5": "global.anthropic.claude-sonnet-5-5",
  "claude-haiku-5-5": "global.anthropic.claude-haiku-5-5",
  "claude-fable-5-1": "global.anthropic.claude-fable-5-1",
} as const;

/** The same for Vertex AI, which tells versions by an @. Source: vendors/vertex. */
const claudeOnVertex = {
  "claude-3-5-sonnet-20241022": "claude-3-5-sonnet-v2@20241022",
  "claude-haiku-4-5-20251001": "claude-haiku-4-5@20251001",
  "claude-sonnet-4-5-20250929": "claude-sonnet-4-5@20250929",
  "claude-opus-4-6": "claude-opus-4-6@default",
  "claude-sonnet-4-6": "claude-sonnet-4-6@default",
  "claude-opus-4-8": "claude-opus-4-8@default",
  "claude-sonnet-5": "claude-sonnet-5@default",
} as const;

export const newerTypes: readonly Provider[] = [
  {
    ...vendor,
    type: 36,
    slug: "deepseek",
    label: "DeepSeek",
    color: "black",
    baseUrl: "https://api.deepseek.com",
    paths: { chat, models, messages: "/anthropic/v1/messages" },
    // Once tools were called, all later turns must carry the thoughts, the answer's as well; elsewhere they are ignored. Thinking is
    // switched off by `thinking` alone. Source: api-docs.deepseek.com, thinking mode, 2026-11.
    quirks: { keepsThoughts: true, effortAsThinking: "none" },
    balance: { probe: "field", url: "/user/balance", field: "balance_infos.currency=CNY.total_balance" },
  },
  {
    ...vendor,
    type: 44,
    slug: "siliconflow",
    label: "硅基流动",
    color: "violet",
    baseUrl: "https://api.siliconflow.cn",
    baseUrlHint: "https://api.siliconflow.cn，国际站 https://api.siliconflow.com",
    paths: {
      chat,
      embeddings,
      images,
      speech,
      transcription,
      rerank: "/v1/rerank",
      messages: "/v1/messages",
      models,
    },
    balance: { probe: "field", url: "/v1/user/info", field: "data.totalBalance" },
  },
  {
    ...vendor,
    type: 40,
    slug: "volcengine",
    video: "ark",
    label: "火山方舟（豆包）",
    color: "blue",
    baseUrl: "https://ark.cn-beijing.volces.com",
    paths: {
      chat: "/api/v3/chat/completions",
      embeddings: "/api/v3/embeddings",
      images: "/api/v3/images/generations",
      responses: "/api/v3/responses",
    },
    alternates: [
      { when: { modelPrefixes: ["bot-"] }, paths: { chat: "/api/v3/bots/chat/completions" } },
      // The coding plan has an address of its own.
      {
        when: { baseEnds: ["/api/coding"] },
        paths: { chat: "/v3/chat/completions", messages: "/v1/messages" },
      },
    ],
  },
  {
    ...vendor,
    type: 45,
    slug: "xai",
    label: "xAI",
    color: "olive",
    baseUrl: "https://api.x.ai",
    paths: { chat, images, responses, realtime, models },
    // Source: vendors/newer-types.
    quirks: { reasoningBeside: true, functionToolsOnly: { but: [] } },
  },
  {
    ...vendor,
    type: 35,
    slug: "cohere",
    label: "Cohere",
    color: "green",
    baseUrl: "https://api.cohere.com",
    dialect: "cohere",
    paths: { chat: "/v2/chat", embeddings: "/v2/embed", rerank: "/v2/rerank" },
    alternates: [
      {
        when: { baseEnds: ["/compatibility/v1"] },
        dialect: "openai",
        paths: { chat, embeddings },
      },
    ],
  },
  {
    ...vendor,
    type: 33,
    slug: "bedrock",
    label: "AWS Bedrock",
    color: "orange",
    baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
    keyHint: "按照如下格式输入：AK|SK|Region，或 APIKey|Region，例如 Region 为 us-east-1",
    keyParts: ["AK", "SK", "Region"],
    place: "aws",
    dialect: "converse",
    signer: "aws-sigv4",
    paths: { chat: "/model/{model}/converse" },
    quirks: { modelNames: llamaOnBedrock },
    alternates: [
      // OpenAI's open models have an address of its wire.
      {
        when: { modelPrefixes: ["openai."] },
        dialect: "openai",
        paths: { chat: "/openai/v1/chat/completions" },
        quirks: {},
      },
      // Claude keeps its own bodies, whichever profile of regions stands before its name. Any other profile speaks Converse as well.
      {
        when: {
          modelPrefixes: [
            "claude-",
            "anthropic.",
            ...["us", "eu", "apac", "jp", "au", "global"].map((regions) => `${regions}.anthropic.`),
          ],
        },
        dialect: "bedrock",
        paths: { chat: "/model/{model}/invoke" },
        quirks: { modelNames: claudeOnBedrock },
      },
    ],
  },
  {
    ...vendor,
    type: 42,
    slug: "vertex",
    label: "Google Vertex AI",
    color: "yellow",
    baseUrl: "https://{host}",
    baseUrlHint: "默认由区域决定，例如：https://us-central1-aiplatform.googleapis.com",
    keyHint: "粘贴服务账号的 JSON 密钥文件内容，或 API 密钥",
    other: {
      label: "区域",
      fallback: "",
      hint: '例如 us-central1；留空为 global。也可以填写「区域|项目 ID」，或按模型指定区域的 JSON：{"default":"global","模型名":"us-east5"}',
    },
    place: "vertex",
    dialect: "gemini",
    signer: "vertex",
    paths: {
      chat: "/v1/{scope}publishers/google/models/{model}:generateContent",
      "count-tokens": "/v1/{scope}publishers/google/models/{model}:countTokens",
    },
    alternates: [
      {
        when: { modelPrefixes: ["claude-"] },
        dialect: "vertex-claude",
        paths: { chat: "/v1/{scope}publishers/anthropic/models/{model}:rawPredict" },
        quirks: { modelNames: claudeOnVertex },
      },
      // Open models are served on OpenAI's wire, e.g. meta/llama-…-maas.
      {
        when: {
          modelPrefixes: [
            "meta/",
            "deepseek-ai/",
            "qwen/",
            "openai/",
            "zai-org/",
            "moonshotai/",
            "mistralai/",
          ],
        },
        dialect: "openai",
        paths: { chat: "/v1/{scope}endpoints/openapi/chat/completions" },
      },
    ],
  },
  {
    ...vendor,
    type: 39,
    slug: "together",
    label: "Together AI",
    color: "purple",
    baseUrl: "https://api.together.xyz",
    paths: { chat, completions, embeddings, images, models },
  },
  {
    ...vendor,
    type: 32,
    slug: "stepfun",
    label: "阶跃星辰",
    color: "teal",
    baseUrl: "https://api.stepfun.com",
    baseUrlHint: "https://api.stepfun.com，国际站 https://api.stepfun.ai",
    paths: {
      chat,
      speech,
      transcription,
      images,
      "image-edits": openaiPaths["image-edits"],
      realtime,
      models,
    },
    balance: { probe: "field", url: "/v1/accounts", field: "balance" },
  },
  {
    ...vendor,
    type: 41,
    slug: "novita",
    label: "Novita AI",
    color: "pink",
    baseUrl: "https://api.novita.ai/v3/openai",
    paths: { chat, models },
  },
  {
    ...vendor,
    type: 37,
    slug: "cloudflare",
    label: "Cloudflare Workers AI",
    color: "orange",
    baseUrl: "https://api.cloudflare.com",
    other: { label: "账户 ID", fallback: "", hint: "Cloudflare 控制台中的 Account ID", required: true },
    place: "account",
    paths: {
      chat: `${cloudflareAccount}/v1/chat/completions`,
      embeddings: `${cloudflareAccount}/v1/embeddings`,
    },
    // The account stands in the gateway's own address, whose rule takes one version off the path.
    alternates: [
      {
        when: { baseHas: ["gateway.ai.cloudflare.com"] },
        paths: { chat: `/v1${chat}`, embeddings: `/v1${embeddings}` },
      },
    ],
  },
  {
    ...vendor,
    type: 47,
    slug: "baidu-v2",
    label: "百度文心千帆 V2",
    color: "blue",
    keyHint: "bce-v3/ALTAK-xxx/yyy，或按照如下格式输入：APIKey|AppId",
    ...qianfan,
  },
  {
    ...vendor,
    type: 48,
    slug: "xunfei-v2",
    label: "讯飞星火认知 V2",
    color: "teal",
    keyHint: "控制台中的 APIPassword，或按照如下格式输入：APIKey:APISecret",
    ...sparkHttp,
    alternates: [{ when: { baseEnds: ["/x2"] }, paths: sparkX2Paths }],
  },
  {
    ...vendor,
    type: 49,
    slug: "ali-bailian",
    video: "dashscope",
    // Source: vendors/batch-dashscope.
    batch: "/compatible-mode/v1",
    label: "阿里云百炼",
    color: "orange",
    baseUrl: "https://dashscope.aliyuncs.com",
    paths: {
      chat: "/compatible-mode/v1/chat/completions",
      completions: "/compatible-mode/v1/completions",
      embeddings: "/compatible-mode/v1/embeddings",
      responses: "/compatible-mode/v1/responses",
      models: "/compatible-mode/v1/models",
      rerank: "/compatible-api/v1/reranks",
      realtime: "/api-ws/v1/realtime",
      messages: "/apps/anthropic/v1/messages",
    },
  },
  {
    ...vendor,
    type: 51,
    slug: "gemini-openai",
    label: "Google Gemini（OpenAI 兼容）",
    color: "purple",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    paths: { chat, embeddings, images, models },
  },
  {
    ...vendor,
    type: 50,
    slug: "openai-compatible",
    video: "openai",
    label: "OpenAI 兼容接口",
    kind: "custom",
    color: "green",
    baseUrl: "",
    baseUrlHint: "vLLM、Xinference 等服务的地址，例如：https://example.com/v1",
    keyHint: "可留空；上游需要鉴权时填写其密钥",
    keyOptional: true,
    paths: compatiblePaths,
  },
  {
    ...vendor,
    type: 43,
    slug: "relay",
    video: "openai",
    label: "直通中转站",
    kind: "custom",
    color: "brown",
    baseUrl: "",
    baseUrlHint: "同类中转站的地址，例如：https://example.com",
    // Another gateway of this family takes every format as it comes.
    paths: {
      ...openaiPaths,
      rerank: "/v1/rerank",
      messages: "/v1/messages",
      "count-tokens": "/v1/messages/count_tokens",
      generate: "/v1beta/models/{model}:{action}",
    },
    balance: { probe: "openai-billing", unit: "usd" },
  },
  {
    ...vendor,
    type: 34,
    slug: "coze",
    label: "智能体：扣子 Coze",
    kind: "knowledge",
    color: "violet",
    baseUrl: "https://api.coze.com",
    baseUrlHint: "国际版 https://api.coze.com，国内版 https://api.coze.cn",
    keyHint: "个人访问令牌，例如：pat_xxxxxxxx；模型名称为 bot-智能体 ID",
    dialect: "coze",
    paths: { chat: "/v3/chat" },
  },
  {
    ...vendor,
    type: 101,
    slug: "dify",
    label: "智能体：Dify",
    kind: "knowledge",
    color: "blue",
    baseUrl: "https://api.dify.ai",
    baseUrlHint: "https://api.dify.ai，私有部署为其地址（不含 /v1）",
    keyHint: "应用的 API 密钥，例如：app-xxxxxxxx",
    dialect: "dify",
    paths: { chat: "/v1/chat-messages" },
  },
];
