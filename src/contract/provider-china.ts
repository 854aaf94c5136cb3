// Provider rows: vendors in China. Data only. Facts: vendors/baidu, vendors/quirks, requirements T2, W13.
import type { Provider, Quirks, Wire } from "./provider.ts";
import { openaiPaths, vendor } from "./provider-paths.ts";
import { qianfanPaths } from "./qianfan-paths.ts";

const { chat, completions, embeddings, responses, models } = openaiPaths;

/** The efforts of models whose thinking cannot be switched off. */
const alwaysThinking = ["low", "high", "max"];

/** Source: MiniMax error codes, vendors/minimax. 1008 = balance used up, 1026 and 1027 = content filter. */
const minimaxQuirks: Quirks = {
  clampTemperature: [0, 1],
  zeroAs: 0.01,
  errorIn200: "base-resp",
  faultStatus: {
    "1002": 429,
    "1004": 401,
    "1008": 402,
    "1026": 400,
    "1027": 400,
    "1039": 429,
    "1041": 429,
    "1042": 400,
    "2013": 400,
    "2049": 401,
    "2056": 429,
  },
};

/** Pictures and speech of MiniMax. Source: vendors/minimax. */
const minimaxTasks = { images: "/v1/image_generation", speech: "/v1/t2a_v2" };

/** Qianfan's own service speaks OpenAI's wire. Source: vendors/qianfan. */
export const qianfan = {
  baseUrl: "https://qianfan.baidubce.com",
  dialect: "openai",
  signer: "bearer-app-id",
  paths: {
    chat: "/v2/chat/completions",
    embeddings: "/v2/embeddings",
    images: "/v2/images/generations",
    rerank: "/v2/rerank",
    models: "/v2/models",
  },
} as const satisfies Wire;

/** What Spark's codes stand for. Source: vendors/spark-socket. */
const sparkFaults = {
  "10003": 400,
  "10004": 400,
  "10005": 400,
  "10007": 429,
  "10008": 429,
  "10013": 400,
  "10014": 400,
  "10015": 403,
  "10016": 403,
  "10019": 400,
  "10021": 400,
  "10110": 503,
  "10163": 400,
  "10907": 400,
  "11200": 403,
  "11201": 429,
  "11202": 429,
  "11203": 429,
};

/** Spark's HTTP service (vendors/spark); `tool_calls` is a list only on request. */
export const sparkHttp = {
  baseUrl: "https://spark-api-open.xf-yun.com",
  dialect: "openai",
  signer: "bearer",
  paths: { chat },
  quirks: {
    modelNames: {
      "Spark-Lite": "lite",
      "Spark-Pro": "generalv3",
      "Spark-Pro-128K": "pro-128k",
      "Spark-Max": "generalv3.5",
      "Spark-Max-32K": "max-32k",
      "Spark-4.0-Ultra": "4.0Ultra",
    },
    trueWithTools: ["tool_calls_switch"],
    errorIn200: "code",
    faultStatus: sparkFaults,
  },
} as const satisfies Wire;

/** A base that ends in its generation holds the path's first part, though it is no `v`. */
export const sparkX2Paths = { chat: "/chat/completions" } as const;

export const chinaVendors: readonly Provider[] = [
  {
    ...vendor,
    type: 15,
    slug: "baidu",
    label: "百度文心千帆",
    color: "blue",
    baseUrl: "https://aip.baidubce.com",
    keyHint: "按照如下格式输入：APIKey|SecretKey",
    keyParts: ["APIKey", "SecretKey"],
    dialect: "baidu",
    signer: "baidu-token",
    paths: {
      chat: "/rpc/2.0/ai_custom/v1/wenxinworkshop/chat/{slug}",
      embeddings: "/rpc/2.0/ai_custom/v1/wenxinworkshop/embeddings/{slug}",
      images: "/rpc/2.0/ai_custom/v1/wenxinworkshop/text2image/{slug}",
      rerank: "/rpc/2.0/ai_custom/v1/wenxinworkshop/reranker/{slug}",
    },
    quirks: { modelNames: qianfanPaths },
    // Qianfan v2 speaks OpenAI's wire: a bce-v3 key has no bar. Source: vendors/baidu, vendors/qianfan.
    alternates: [{ baseHas: ["qianfan.baidubce.com"] }, { keyBars: 0 }].map((when) => ({
      when,
      ...qianfan,
      quirks: {},
    })),
  },
  {
    ...vendor,
    type: 17,
    slug: "ali",
    video: "dashscope",
    // Source: vendors/batch-dashscope.
    batch: "/compatible-mode/v1",
    label: "阿里通义千问",
    color: "orange",
    baseUrl: "https://dashscope.aliyuncs.com",
    other: { label: "插件参数", fallback: "", hint: "可选，即 X-DashScope-Plugin 请求头的取值" },
    dialect: "ali",
    paths: {
      chat: "/api/v1/services/aigc/text-generation/generation",
      embeddings: "/api/v1/services/embeddings/text-embedding/text-embedding",
      images: "/api/v1/services/aigc/text2image/image-synthesis",
      speech: "/api/v1/services/aigc/multimodal-generation/generation",
      rerank: "/api/v1/services/rerank/text-rerank/text-rerank",
      messages: "/apps/anthropic/v1/messages",
    },
    alternates: [
      // Source: vendors/dashscope.
      {
        when: { baseHas: ["/compatible-mode"] },
        dialect: "openai",
        paths: { chat, completions, embeddings, responses, models },
      },
    ],
  },
  {
    ...vendor,
    type: 18,
    slug: "xunfei",
    label: "讯飞星火认知",
    color: "teal",
    baseUrl: "wss://spark-api.xf-yun.com",
    keyHint: "按照如下格式输入：APPID|APISecret|APIKey",
    keyParts: ["APPID", "APISecret", "APIKey"],
    other: {
      label: "模型版本",
      fallback: "v2.1",
      hint: "星火大模型版本，注意是接口地址中的版本号，例如：v2.1",
    },
    dialect: "xunfei",
    signer: "xunfei-url",
    paths: { chat: "/{other}/chat" },
    quirks: { faultStatus: sparkFaults },
    // An APIPassword has no bar and belongs to the HTTP service; the three parts serve there too. Source: vendors/spark, vendors/retired.
    alternates: [
      { when: { keyBars: 2, baseHas: ["https://", "http://"] }, ...sparkHttp, signer: "xunfei-pair" },
      { when: { keyBars: 0, baseEnds: ["/x2"] }, ...sparkHttp, paths: sparkX2Paths },
      { when: { keyBars: 0 }, ...sparkHttp },
    ],
  },
  {
    ...vendor,
    type: 16,
    slug: "zhipu",
    label: "智谱 ChatGLM",
    color: "violet",
    baseUrl: "https://open.bigmodel.cn",
    signer: "zhipu-jwt",
    paths: {
      chat: "/api/paas/v4/chat/completions",
      embeddings: "/api/paas/v4/embeddings",
      images: "/api/paas/v4/images/generations",
      speech: "/api/paas/v4/audio/speech",
      transcription: "/api/paas/v4/audio/transcriptions",
      moderation: "/api/paas/v4/moderations",
      rerank: "/api/paas/v4/rerank",
      realtime: "/api/paas/v4/realtime",
      messages: "/api/anthropic/v1/messages",
    },
    // Source: vendors/zhipu.
    quirks: {
      clampTemperature: [0, 1],
      oneStop: true,
      userAs: { name: "user_id", min: 6, max: 128 },
      renameFields: { max_completion_tokens: "max_tokens" },
      ownWords: true,
      forModels: [
        // Both: a temperature of zero does not switch their sampling off, and the later ones take `thinking`.
        { prefixes: ["glm-4.5", "glm-4.6", "glm-4.7"], zeroAs: 0.01, effortAsThinking: true },
        // Thinks always. Source: docs.bigmodel.cn, 2026-11.
        { prefixes: ["glm-5.3"], efforts: alwaysThinking },
        { prefixes: ["glm-5"], effortAsThinking: true },
        { prefixes: ["glm-4", "glm-3"], zeroAs: 0.01 },
      ],
    },
    // The third version is spoken by the models that were named so only. Source: vendors/zhipu, vendors/zhipu-v3, vendors/retired.
    alternates: [
      {
        when: { modelPrefixes: ["chatglm_"] },
        dialect: "zhipu",
        paths: { chat: "/api/paas/v3/model-api/{model}/invoke" },
        quirks: {},
      },
    ],
  },
  {
    ...vendor,
    type: 19,
    slug: "360",
    label: "360 智脑",
    color: "green",
    baseUrl: "https://ai.360.cn",
    paths: { chat, embeddings },
    // Source: vendors/zhinao.
    quirks: { clampTemperature: [0, 1] },
  },
  {
    ...vendor,
    type: 25,
    slug: "moonshot",
    // Source: vendors/batch-moonshot.
    batch: "/v1",
    label: "Moonshot AI",
    color: "black",
    baseUrl: "https://api.moonshot.cn",
    paths: { chat, models, messages: "/anthropic/v1/messages" },
    // From k2.5 on both sampling fields are fixed by the vendor. Source: vendors/moonshot.
    quirks: {
      clampTemperature: [0, 1],
      spaceForEmpty: true,
      forModels: [
        // Thinks always, and refuses the switch of the older models. Source: platform.kimi.ai, reasoning effort, 2026-11.
        { prefixes: ["kimi-k3"], dropFields: ["temperature", "top_p"], efforts: alwaysThinking },
        {
          prefixes: ["kimi-k2.5", "kimi-k2.6", "kimi-k2.7"],
          dropFields: ["temperature", "top_p"],
          effortAsThinking: true,
        },
      ],
      // What is kept for an hour costs twice the input, not once.
      priceFields: ["prompt_cache_options"],
      // In loops of tools the thoughts go back.
      keepsThoughts: true,
      inlinesMedia: true,
      usageIn: "choices[0].usage",
    },
    // Source: vendors/balances.
    balance: { probe: "field", url: "/v1/users/me/balance", field: "data.available_balance" },
  },
  {
    ...vendor,
    type: 23,
    slug: "tencent",
    label: "腾讯混元",
    color: "blue",
    baseUrl: "https://hunyuan.tencentcloudapi.com",
    keyHint: "按照如下格式输入：AppId|SecretId|SecretKey",
    keyParts: ["AppId", "SecretId", "SecretKey"],
    dialect: "tencent",
    signer: "tencent-tc3",
    paths: { chat: "/", embeddings: "/" },
    // TokenHub keys have no bar. Source: vendors/hunyuan.
    alternates: [
      {
        when: { keyBars: 0 },
        baseUrl: "https://tokenhub.tencentcloudmaas.com",
        dialect: "openai",
        signer: "bearer",
        paths: { chat, embeddings, messages: "/v1/messages" },
      },
    ],
  },
  {
    ...vendor,
    type: 26,
    slug: "baichuan",
    label: "百川大模型",
    color: "brown",
    baseUrl: "https://api.baichuan-ai.com",
    paths: { chat, embeddings },
    // Source: vendors/baichuan, requirements W13.1.
    quirks: { noStreamOptions: true, rejectsZeroPenalties: true, clampTemperature: [0, 1] },
  },
  {
    ...vendor,
    type: 27,
    slug: "minimax",
    video: "minimax",
    label: "MiniMax",
    color: "red",
    baseUrl: "https://api.minimax.chat",
    dialect: "minimax",
    // Embeddings of this vendor want an account's number in their address.
    paths: { chat: "/v1/text/chatcompletion_v2", ...minimaxTasks },
    alternates: [
      {
        when: { baseHas: ["minimaxi.com", "minimax.cn", "minimax.io"] },
        paths: { chat, messages: "/anthropic/v1/messages", ...minimaxTasks },
        quirks: minimaxQuirks,
      },
      { when: { modelPrefixes: ["MiniMax-M"] }, paths: { chat, ...minimaxTasks }, quirks: minimaxQuirks },
    ],
    quirks: { ...minimaxQuirks, endsWithWholeReply: true },
  },
  {
    ...vendor,
    type: 31,
    slug: "lingyiwanwu",
    label: "零一万物",
    color: "teal",
    baseUrl: "https://api.lingyiwanwu.com",
    paths: { chat },
  },
];
