// Provider rows: vendors outside China. Data only. Facts: vendors/azure, vendors/gemini, vendors/quirks, vendors/ollama, requirements T2, W13.
import type { Paths, Provider, Quirks } from "./provider.ts";
import { openaiPaths, vendor } from "./provider-paths.ts";

const {
  chat,
  completions,
  embeddings,
  images,
  speech,
  transcription,
  translation,
  moderation,
  responses,
  realtime,
  models,
} = openaiPaths;

/** Deployments live under {base}/openai/deployments/{deployment}/ + the path after /v1/ (vendors/azure). */
const azurePaths: Paths = {
  chat,
  completions,
  embeddings,
  images,
  "image-edits": openaiPaths["image-edits"],
  speech,
  transcription,
  translation,
  responses,
  realtime,
};

/** The same under /openai, for the v1 surface. Source: vendors/azure. */
const azureV1Paths: Paths = Object.fromEntries(
  Object.entries(azurePaths).map(([name, path]) => [name, `/openai${path}`]),
);

const geminiPaths: Paths = {
  chat: "/{other}/models/{model}:generateContent",
  embeddings: "/{other}/models/{model}:batchEmbedContents",
  images: "/{other}/models/{model}:predict",
  "count-tokens": "/{other}/models/{model}:countTokens",
  models: "/{other}/models",
};

/** Fields that sample or look at the samples. */
const sampling = ["temperature", "top_p", "logprobs", "top_logprobs"] as const;
const renameFields = { max_tokens: "max_completion_tokens" } as const;

/** Since 5.4 they do not know `minimal`; some cannot but think. `max` is another matter (`noMaxInChat`). */
const thinking = ["low", "medium", "high", "xhigh"] as const;
const mayThink = { renameFields, dropWhenThinking: sampling, efforts: ["none", ...thinking] } as const;

/**
 * Reasoning models refuse `max_tokens` and a temperature; from 5.1 on only while they think, which they do when told to, and from 5.5
 * on unless told not to. `system` stays: they take it for `developer`. What they refuse in Chat goes over Responses. Source:
 * vendors/openai-chat, vendors/openai-reasoning; decision 032.
 */
const reasoningModels: Quirks["forModels"] = [
  {
    prefixes: ["gpt-6-sol", "gpt-6-luna", "gpt-5.6"],
    ...mayThink,
    thinksUnasked: true,
    chatToolsAt: ["none"],
    noMaxInChat: true,
  },
  { prefixes: ["gpt-6.1-terra"], ...mayThink, thinksUnasked: true, chatToolsAt: [], noMaxInChat: true },
  {
    prefixes: ["gpt-6"],
    renameFields,
    dropFields: sampling,
    efforts: thinking,
    chatToolsAt: [],
    noMaxInChat: true,
  },
  { prefixes: ["gpt-5.5"], ...mayThink, thinksUnasked: true, chatToolsAt: ["", "none"] },
  { prefixes: ["gpt-5.4"], ...mayThink, chatToolsAt: ["", "none"] },
  { prefixes: ["gpt-5."], renameFields, dropWhenThinking: sampling },
  { prefixes: ["gpt-5-chat"], renameFields },
  { prefixes: ["gpt-5"], renameFields, dropFields: sampling },
  { prefixes: ["o1", "o3", "o4"], renameFields, dropFields: ["temperature"] },
];

/** A convention of the family: `gpt-5-high`. Source: vendors/openai-reasoning. */
const reasoningPrefixes = ["o1", "o3", "o4", "gpt-5", "gpt-6"] as const;

/** Models that answer at /v1/responses only. Source: vendors/openai-reasoning. */
const responsesOnly = [
  "gpt-5-pro",
  "gpt-5-codex",
  "gpt-5.1-codex",
  "gpt-5.2-codex",
  "gpt-5.3-codex",
  "gpt-5.2-pro",
  "gpt-5.4-pro",
  "gpt-5.5-pro",
  "codex-mini",
  "o1-pro",
  "o3-pro",
  "o3-deep-research",
  "o4-mini-deep-research",
  "computer-use-preview",
] as const;

/** They all think, and refuse sampling. */
const responsesQuirks: Quirks = { dropFields: ["temperature", "top_p"], effortInName: reasoningPrefixes };

export const globalVendors: readonly Provider[] = [
  {
    ...vendor,
    type: 1,
    slug: "openai",
    video: "openai",
    batch: "/v1",
    label: "OpenAI",
    color: "green",
    baseUrl: "https://api.openai.com",
    paths: openaiPaths,
    balance: { probe: "openai-billing", unit: "usd" },
    quirks: { forModels: reasoningModels, effortInName: reasoningPrefixes },
    alternates: [
      {
        when: { modelPrefixes: responsesOnly },
        dialect: "responses",
        paths: { chat: openaiPaths.responses },
        quirks: responsesQuirks,
      },
    ],
  },
  {
    ...vendor,
    type: 14,
    slug: "anthropic",
    label: "Anthropic Claude",
    color: "black",
    baseUrl: "https://api.anthropic.com",
    dialect: "anthropic",
    signer: "x-api-key",
    paths: { chat: "/v1/messages", "count-tokens": "/v1/messages/count_tokens", models: "/v1/models" },
  },
  {
    ...vendor,
    type: 3,
    slug: "azure",
    // Source: vendors/batch-azure.
    batch: "/openai/v1",
    label: "Azure OpenAI",
    color: "olive",
    baseUrl: "",
    baseUrlHint: "https://{资源名}.openai.azure.com",
    other: {
      label: "默认 API 版本",
      fallback: "2023-06-01-preview",
      hint: "请求没有带 api-version 参数时使用；建议 2024-10-21 或更新的版本，填写 v1 则使用 v1 接口",
    },
    dialect: "azure",
    signer: "azure-key",
    // Responses live on the v1 surface alone. Source: vendors/azure.
    paths: { ...azurePaths, responses: "/openai/v1/responses" },
    alternates: [
      // Claude in Foundry.
      {
        when: { baseHas: [".services.ai.azure.com"], modelPrefixes: ["claude-"] },
        dialect: "anthropic",
        paths: {
          chat: "/anthropic/v1/messages",
          "count-tokens": "/anthropic/v1/messages/count_tokens",
        },
        quirks: {},
      },
      // Responses live on the v1 surface.
      {
        when: { baseEnds: ["/openai/v1"], modelPrefixes: responsesOnly },
        dialect: "responses",
        paths: { chat: responses },
        quirks: responsesQuirks,
      },
      {
        when: { modelPrefixes: responsesOnly },
        dialect: "responses",
        paths: { chat: `/openai${responses}` },
        quirks: responsesQuirks,
      },
      // The v1 surface names the deployment in the body. Source: vendors/azure, vendors/retired.
      { when: { baseEnds: ["/openai/v1"] }, dialect: "openai", paths: azurePaths },
      {
        when: { otherIs: ["v1", "preview"] },
        dialect: "openai",
        paths: azureV1Paths,
      },
      // The older host keeps Responses beside its deployments.
      {
        when: { baseHas: [".cognitiveservices.azure.com"] },
        paths: { ...azurePaths, responses: "/openai/responses?api-version={version}" },
      },
    ],
    quirks: {
      forModels: reasoningModels,
      streamOptionsSince: "2024-09-01-preview",
      deploymentDropsDots: ["gpt-3.5"],
      dropsEmptyChunks: true,
    },
  },
  {
    ...vendor,
    type: 11,
    slug: "palm",
    label: "Google PaLM2",
    color: "yellow",
    baseUrl: "https://generativelanguage.googleapis.com",
    // Switched off by Google in October 2024; a channel of this type still reaches Gemini models.
    dialect: "palm",
    signer: "goog-key",
    paths: { chat: "/v1beta2/models/{model}:generateMessage" },
    alternates: [
      {
        when: { modelPrefixes: ["gemini", "gemma"] },
        dialect: "gemini",
        paths: geminiPaths,
      },
    ],
  },
  {
    ...vendor,
    type: 24,
    slug: "gemini",
    video: "veo",
    label: "Google Gemini",
    color: "purple",
    baseUrl: "https://generativelanguage.googleapis.com",
    other: { label: "API 版本", fallback: "v1beta", hint: "留空使用 v1beta" },
    dialect: "gemini",
    signer: "goog-key",
    paths: geminiPaths,
    alternates: [
      {
        when: { baseEnds: ["/openai"] },
        dialect: "openai",
        signer: "bearer",
        paths: { chat, embeddings, images, models },
      },
    ],
  },
  {
    ...vendor,
    type: 28,
    slug: "mistral",
    label: "Mistral AI",
    color: "red",
    baseUrl: "https://api.mistral.ai",
    // /v1/fim/completions answers in the chat shape, so it cannot stand in for /v1/completions.
    paths: { chat, embeddings, speech, transcription, moderation, models },
    // Unknown fields are refused with 422. Source: vendors/mistral.
    quirks: {
      noStreamOptions: true,
      renameFields: { seed: "random_seed", max_completion_tokens: "max_tokens" },
      dropFields: [
        ...["logit_bias", "logprobs", "top_logprobs", "user"],
        ...["verbosity", "service_tier", "prompt_cache_key", "store", "metadata"],
      ],
      // Only the newest models take an effort.
      forModels: [
        { prefixes: ["mistral-large-4"] },
        {
          prefixes: [
            ...["mistral-large", "mistral-tiny", "mistral-medium-25", "mistral-small-24", "mistral-small-25"],
            ...["open-", "codestral", "devstral", "ministral", "pixtral"],
          ],
          dropFields: ["reasoning_effort"],
        },
      ],
      clampTemperature: [0, 1.5],
      toolIdLength: 9,
      ownWords: true,
    },
  },
  {
    ...vendor,
    type: 29,
    slug: "groq",
    // Source: vendors/batch-groq.
    batch: "/openai/v1",
    label: "Groq",
    color: "orange",
    baseUrl: "https://api.groq.com/openai",
    paths: { chat, speech, transcription, translation, responses, models },
    // Source: vendors/groq.
    quirks: {
      dropFields: ["logprobs", "logit_bias", "top_logprobs", "messages[].name"],
      usageIn: "x_groq.usage",
      functionToolsOnly: { but: [] },
    },
  },
  {
    ...vendor,
    type: 30,
    slug: "ollama",
    label: "Ollama",
    color: "olive",
    baseUrl: "http://localhost:11434",
    keyHint: "可留空；上游需要鉴权时填写其密钥",
    keyOptional: true,
    dialect: "ollama",
    paths: {
      chat: "/api/chat",
      completions: "/api/generate",
      embeddings: "/api/embed",
      models: "/api/tags",
    },
    alternates: [
      { when: { baseEnds: ["/v1"] }, dialect: "openai", paths: { chat, completions, embeddings, models } },
    ],
  },
];
