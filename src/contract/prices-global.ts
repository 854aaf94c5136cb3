// Price lists of the vendors outside China, in dollars (April to November 2026), with the last prices of retired models. Data only.
// Source: vendors/prices, requirements W14.1.
import { asRatio, type PriceSheet, usd, usdPerImage } from "./price-sheet.ts";

/** Source: platform.claude.com/docs/en/about-claude/pricing and the models' own pages there (2026-11). */
const anthropic: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["claude-fable-5-2 claude-mythos-5-2", 8, 40, 0.2, 10],
    ["claude-fable-5-1 claude-mythos-5-1", 10, 50, 0.25, 12.5],
    ["claude-fable-5 claude-mythos-5", 10, 50, 1, 12.5],
    ["claude-opus-5-5", 4, 20, 0.2, 5],
    ["claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6", 5, 25, 0.5, 6.25],
    ["claude-opus-4-5 claude-opus-4-5-20251101", 5, 25, 0.5, 6.25],
    ["claude-opus-4-1 claude-opus-4-1-20250805 claude-opus-4-0 claude-opus-4-20250514", 15, 75, 1.5, 18.75],
    ["claude-sonnet-5-5", 2, 10, 0.1, 2.5],
    ["claude-sonnet-5", 2, 10, 0.2, 2.5],
    ["claude-sonnet-4-6", 3, 15, 0.3, 3.75],
    ["claude-sonnet-4-5 claude-sonnet-4-5-20250929", 3, 15, 0.3, 3.75, { above: { 200000: [6, 22.5] } }],
    ["claude-sonnet-4-0 claude-sonnet-4-20250514 claude-3-7-sonnet-20250219", 3, 15, 0.3, 3.75],
    // The length counts what is read from the cache and written to it, as our `promptTokens` do.
    ["claude-haiku-5-5", 0.1, 0.5, 0.01, 0.125, { above: { 100000: [0.5, 2.5, 0.05, 0.625] } }],
    ["claude-haiku-4-5 claude-haiku-4-5-20251001", 1, 5, 0.1, 1.25],
    ["claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-5-sonnet-latest", 3, 15, 0.3, 3.75],
    ["claude-3-5-haiku-20241022 claude-3-5-haiku-latest", 0.8, 4, 0.08, 1],
    ["claude-3-opus-20240229", 15, 75, 1.5, 18.75],
    ["claude-3-sonnet-20240229", 3, 15],
    ["claude-3-haiku-20240307", 0.25, 1.25, 0.03, 0.3],
    ["claude-2.0 claude-2.1", 8, 24],
    ["claude-instant-1.2", 0.8, 2.4],
  ],
};

/** Source: ai.google.dev/gemini-api/docs/pricing (2026-11). */
const gemini: PriceSheet = {
  unitPrice: usd,
  rows: [
    // Introductory until 2026-11-30, then 4 / 20 and 0.2.
    ["gemini-4-argon", 2, 10, 0.1],
    // Introductory until 2026-12-31, then 1.5 / 7.5 and 0.15. The moving name means the newest Flash.
    ["gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-flash-latest", 0.75, 3.75, 0.075],
    ["gemini-3.5-flash", 1.5, 9, 0.15],
    ["gemini-3.5-flash-lite gemini-flash-lite-latest", 0.3, 2.5, 0.03],
    [
      "gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-3-pro-preview gemini-pro-latest",
      2,
      12,
      0.2,
      undefined,
      { above: { 200000: [4, 18, 0.4] } },
    ],
    ["gemini-3-flash-preview", 0.5, 3, 0.05, undefined, { audioIn: 1 }],
    ["gemini-3.1-flash-lite", 0.25, 1.5, 0.025, undefined, { audioIn: 0.5 }],
    ["gemini-2.5-pro", 1.25, 10, 0.125, undefined, { above: { 200000: [2.5, 15] } }],
    ["gemini-2.5-flash", 0.3, 2.5, 0.03, undefined, { audioIn: 1 }],
    ["gemini-2.5-flash-lite", 0.1, 0.4, 0.01, undefined, { audioIn: 0.3 }],
    ["gemini-2.0-flash", 0.1, 0.4, 0.025, undefined, { audioIn: 0.7 }],
    ["gemini-2.0-flash-lite", 0.075, 0.3],
    ["gemini-1.5-pro", 1.25, 5, 0.3125, undefined, { above: { 128000: [2.5, 10] } }],
    ["gemini-1.5-flash", 0.075, 0.3, 0.01875, undefined, { above: { 128000: [0.15, 0.6] } }],
    ["gemini-1.5-flash-8b", 0.0375, 0.15, 0.01],
    ["gemini-pro gemini-1.0-pro gemini-1.0-pro-001", 0.5, 1.5],
    ["gemini-pro-vision gemini-1.0-pro-vision-001", 0.5, 1.5],
    // Image models: output at the image price, nearly all of it is image.
    ["gemini-3-pro-image gemini-3-pro-image-preview", 2, 120, 0.2],
    ["gemini-3.1-flash-image gemini-3.1-flash-image-preview", 0.5, 60],
    ["gemini-3.1-flash-lite-image", 0.25, 30],
    ["gemini-2.5-flash-image", 0.3, 30, 0.03],
    ["gemini-2.5-flash-preview-tts", 0.5, 10],
    ["gemini-2.5-pro-preview-tts", 1, 20],
    ["gemini-embedding-001", 0.15, 0],
    ["gemini-embedding-2", 0.2, 0, undefined, undefined, { imageIn: 0.45, audioIn: 6.5 }],
    ["gemma-4-31b-it gemma-4-26b-a4b-it", 0],
  ],
};

const imagen: PriceSheet = {
  unitPrice: usdPerImage,
  unit: "image",
  rows: [
    ["imagen-4.0-generate-001", 0.04],
    ["imagen-4.0-fast-generate-001", 0.02],
    ["imagen-4.0-ultra-generate-001", 0.06],
  ],
};

const mistral: PriceSheet = {
  unitPrice: usd,
  rows: [
    // Since 2026-10-29; it was 1.36 and 4.18 before.
    ["mistral-large-4 mistral-large-4-0", 0.7, 2.1, 0.07],
    ["mistral-large-latest mistral-large-2512", 0.5, 1.5, 0.05],
    ["mistral-large-2411", 2, 6],
    ["mistral-medium-latest mistral-medium-3-5 mistral-medium-3.5 mistral-medium-2604", 1.5, 7.5, 0.15],
    ["mistral-medium-2508 mistral-medium-2505", 0.4, 2, 0.04],
    ["mistral-small-latest mistral-small-2603", 0.15, 0.6, 0.015],
    ["mistral-small-2506", 0.1, 0.3],
    ["magistral-medium-latest", 2, 5],
    ["magistral-small", 0.5, 1.5],
    ["codestral-latest codestral-2508", 0.3, 0.9, 0.03],
    ["devstral-latest devstral-2512", 0.4, 2, 0.04],
    ["devstral-small-2507", 0.1, 0.3],
    ["ministral-14b-2512", 0.2, 0.2, 0.02],
    ["ministral-8b-latest ministral-8b-2512", 0.15, 0.15, 0.015],
    ["ministral-3b-latest ministral-3b-2512", 0.1, 0.1, 0.01],
    ["mistral-nemo open-mistral-nemo pixtral-12b", 0.15, 0.15],
    ["pixtral-large-latest", 2, 6],
    ["voxtral-small-latest voxtral-small-24b-2507", 0.1, 0.4, 0.01],
    ["open-mistral-7b", 0.25, 0.25],
    ["open-mixtral-8x7b", 0.7, 0.7],
    ["open-mixtral-8x22b", 2, 6],
    ["mistral-embed", 0.1, 0],
    ["codestral-embed codestral-embed-2505", 0.15, 0, 0.015],
  ],
};

const groq: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["llama-3.1-8b-instant", 0.05, 0.08],
    ["llama-3.3-70b-versatile", 0.59, 0.79],
    ["meta-llama/llama-4-scout-17b-16e-instruct", 0.11, 0.34],
    ["meta-llama/llama-4-maverick-17b-128e-instruct", 0.2, 0.6],
    ["openai/gpt-oss-120b", 0.15, 0.6, 0.075],
    ["openai/gpt-oss-20b", 0.075, 0.3, 0.0375],
    ["openai/gpt-oss-safeguard-20b", 0.075, 0.3, 0.037],
    ["qwen/qwen3.8-27b", 0.8, 4],
    ["qwen/qwen3-32b", 0.29, 0.59],
    ["moonshotai/kimi-k2-instruct moonshotai/kimi-k2-instruct-0905", 1, 3, 0.5],
    ["meta-llama/llama-guard-4-12b gemma2-9b-it", 0.2, 0.2],
    ["llama3-70b-8192", 0.59, 0.79],
    ["llama3-8b-8192", 0.05, 0.08],
    ["mixtral-8x7b-32768", 0.24, 0.24],
    ["deepseek-r1-distill-llama-70b", 0.75, 0.99],
    ["llama2-7b-2048 gemma-7b-it", 0.1, 0.1],
    ["llama2-70b-4096", 0.7],
  ],
};

/** $0.111 and $0.04 per hour of sound, at 200 LLM tokens a minute. */
const groqWhisper: PriceSheet = {
  unitPrice: asRatio,
  unit: "spoken",
  rows: [
    ["whisper-large-v3", 4.625, 0],
    ["whisper-large-v3-turbo", 1.666667, 0],
  ],
};

const groqSpeech: PriceSheet = {
  unitPrice: usd,
  unit: "character",
  rows: [["canopylabs/orpheus-v1-english", 22]],
};

const xai: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["grok-4.7 grok-4.6", 2, 6, 0.5, undefined, { above: { 200000: [4, 12, 1] } }],
    ["grok-4.5", 2, 6, 0.3, undefined, { above: { 200000: [4, 12, 0.6] } }],
    [
      "grok-4.3 grok-4.20-0309-reasoning grok-4.20-0309-non-reasoning grok-4.20-multi-agent-0309",
      1.25,
      2.5,
      0.2,
      undefined,
      { above: { 200000: [2.5, 5, 0.4] } },
    ],
    ["grok-build-0.1", 1, 2, 0.2, undefined, { above: { 200000: [2, 4, 0.4] } }],
    ["grok-code-fast-1", 0.2, 1.5, 0.02],
    ["grok-4-1-fast-reasoning grok-4-1-fast-non-reasoning", 0.2, 0.5, 0.05],
    ["grok-4-fast-reasoning grok-4-fast-non-reasoning", 0.2, 0.5, 0.05],
    ["grok-4-0709 grok-3", 3, 15, 0.75],
    ["grok-3-mini", 0.3, 0.5],
    ["grok-2-1212 grok-2-vision-1212", 2, 10],
  ],
};

/** Its list of 2026-11-09. Names that Novita sells as well have this price. */
const openrouter: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["openai/gpt-6-astra", 10, 50, 1, 12.5, { above: { 272000: [20, 75] } }],
    ["openai/gpt-6.1-sol", 2, 10, 0.1, 2.5, { above: { 272000: [4, 15] } }],
    ["openai/gpt-6.1-terra", 1, 5, 0.05, 1.25, { above: { 272000: [2, 7.5] } }],
    ["openai/gpt-6-luna", 0.1, 0.5, 0.01, 0.125, { above: { 272000: [0.2, 0.75] } }],
    ["openai/gpt-5.5", 5, 30, 0.5, undefined, { above: { 272000: [10, 45] } }],
    ["openai/gpt-5.4", 2.5, 15, 0.25, undefined, { above: { 272000: [5, 22.5] } }],
    ["openai/gpt-5.4-mini", 0.75, 4.5, 0.075],
    ["openai/gpt-5.2", 1.75, 14, 0.175],
    ["openai/gpt-5", 1.25, 10, 0.125],
    ["openai/gpt-5-mini", 0.25, 2, 0.025],
    ["openai/gpt-5-nano", 0.05, 0.4, 0.005],
    ["openai/gpt-4.1", 2, 8, 0.5],
    ["openai/gpt-4o", 2.5, 10, 1.25],
    ["openai/gpt-4o-mini", 0.15, 0.6, 0.075],
    ["anthropic/claude-opus-5.5", 4, 20, 0.2, 5],
    ["anthropic/claude-sonnet-5.5", 2, 10, 0.1, 2.5],
    ["anthropic/claude-haiku-5.5", 0.1, 0.5, 0.01, 0.125, { above: { 100000: [0.5, 2.5, 0.05, 0.625] } }],
    ["anthropic/claude-opus-4.8 anthropic/claude-opus-4.7 anthropic/claude-opus-4.6", 5, 25, 0.5, 6.25],
    ["anthropic/claude-sonnet-5", 2, 10, 0.2, 2.5],
    ["anthropic/claude-sonnet-4.6", 3, 15, 0.3, 3.75],
    ["anthropic/claude-sonnet-4.5", 3, 15, 0.3, 3.75, { above: { 200000: [6, 22.5] } }],
    ["anthropic/claude-haiku-4.5", 1, 5, 0.1, 1.25],
    // The list's cache write for Google is storage, not a price per token written.
    ["google/gemini-4-argon", 2, 10, 0.1],
    ["google/gemini-3.8-flash", 0.75, 3.75, 0.075],
    ["google/gemini-3.5-flash", 1.5, 9, 0.15],
    ["google/gemini-3.1-pro-preview", 2, 12, 0.2, undefined, { above: { 200000: [4, 18, 0.4] } }],
    ["google/gemini-3-flash-preview", 0.5, 3, 0.05],
    ["google/gemini-2.5-pro", 1.25, 10, 0.125, undefined, { above: { 200000: [2.5, 15] } }],
    ["google/gemini-2.5-flash", 0.3, 2.5, 0.03],
    ["google/gemini-2.5-flash-lite", 0.1, 0.4, 0.01],
    ["deepseek/deepseek-v4-pro", 1.416, 2.832, 0.118],
    ["deepseek/deepseek-v4-flash", 0.105, 0.21, 0.021],
    ["deepseek/deepseek-v3.2", 0.26, 0.38, 0.13],
    ["moonshotai/kimi-k3.1-pro", 2, 10, 0.2],
    ["moonshotai/kimi-k3", 3, 15, 0.3],
    ["moonshotai/kimi-k2.7-code", 0.95, 4, 0.19],
    ["moonshotai/kimi-k2.6", 0.95, 4, 0.16],
    ["z-ai/glm-5.3 z-ai/glm-5.2 z-ai/glm-5.1", 1.4, 4.4, 0.26],
    ["z-ai/glm-5.3-flash", 0.15, 0.5, 0.03],
    ["z-ai/glm-4.7", 0.6, 2.2, 0.11],
    ["minimax/minimax-m3", 0.3, 1.2, 0.06],
    ["minimax/minimax-m2.7", 0.27, 1.08, 0.054],
    ["qwen/qwen3.8-flash", 0.15, 0.47, 0.016],
    ["qwen/qwen3.7-max", 1.475, 4.425, 0.295, 1.84375],
    ["qwen/qwen3.6-plus", 0.325, 1.95, undefined, 0.40625, { above: { 256000: [1.3, 3.9] } }],
    ["qwen/qwen3-coder-plus", 0.65, 3.25, 0.13, 0.8125],
    ["qwen/qwen3-max", 1.2, 6],
    ["x-ai/grok-4.7", 2, 6, 0.5, undefined, { above: { 200000: [4, 12, 1] } }],
    ["x-ai/grok-4.3 x-ai/grok-4.20", 1.25, 2.5, 0.2, undefined, { above: { 200000: [2.5, 5, 0.4] } }],
    ["mistralai/mistral-large-4-0", 0.7, 2.1, 0.07],
    ["mistralai/mistral-large-2512", 0.5, 1.5, 0.05],
    ["mistralai/mistral-medium-3-5", 1.5, 7.5],
    ["tencent/hy4", 0.417, 1.2505, 0.021],
    ["meta-llama/llama-3.3-70b-instruct", 0.59, 0.79, 0.295],
    ["meta-llama/llama-3.3-70b-instruct:free", 0],
  ],
};

/** Cohere, Together, Cloudflare, Novita. */
const others: PriceSheet = {
  unitPrice: usd,
  rows: [
    [
      "command-a-03-2025 command-a-reasoning-08-2025 command-a-vision-07-2025 command-a-plus-05-2026",
      2.5,
      10,
    ],
    ["command-r-plus-08-2024", 2.5, 10],
    ["command-r-08-2024", 0.15, 0.6],
    ["command-r7b-12-2024", 0.0375, 0.15],
    ["embed-v4.0", 0.12, 0],
    ["meta-llama/Llama-3.3-70B-Instruct-Turbo", 0.88, 0.88],
    ["deepseek-ai/DeepSeek-V4-Pro", 1.74, 3.48, 0.2],
    ["deepseek-ai/DeepSeek-V4-Pro-0813", 1.32, 3.96, 0.13],
    ["deepseek-ai/DeepSeek-V4.1-Flash", 0.3, 1.2, 0.006],
    ["moonshotai/Kimi-K3", 3, 15, 0.3],
    ["moonshotai/Kimi-K3.1-Pro", 2, 10, 0.2],
    ["MiniMaxAI/MiniMax-M3.1-Flash", 0.15, 0.6, 0.015],
    ["Qwen/Qwen3.8-Flash", 0.15, 0.47],
    ["zai-org/GLM-5.3-Flash", 0.15, 0.5, 0.03],
    ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", 0.293, 2.253],
    ["@cf/meta/llama-3.1-8b-instruct-fp8", 0.152, 0.287],
    ["@cf/meta/llama-4-scout-17b-16e-instruct", 0.27, 0.85],
    ["@cf/openai/gpt-oss-120b", 0.35, 0.75],
    ["@cf/openai/gpt-oss-20b", 0.2, 0.3],
    ["@cf/qwen/qwen3-30b-a3b-fp8", 0.0509, 0.335],
    ["@cf/zai-org/glm-5.3 @cf/zai-org/glm-5.2", 1.4, 4.4, 0.26],
    ["@cf/zai-org/glm-4.7-flash", 0.0605, 0.4],
    ["@cf/moonshotai/kimi-k2.7-code", 0.95, 4, 0.19],
    ["@cf/moonshotai/kimi-k2.6", 0.95, 4, 0.16],
    ["@cf/baai/bge-m3", 0.012, 0],
    ["zai-org/glm-5.3", 1.4, 4.4, 0.26],
    ["zai-org/glm-5.1", 1.38, 4.4, 0.26],
    ["qwen/qwen3-235b-a22b-instruct-2507", 0.09, 0.58],
  ],
};

const retired: PriceSheet = { unitPrice: asRatio, rows: [["PaLM-2", 1]] };

export const globalPrices: readonly PriceSheet[] = [
  anthropic,
  gemini,
  imagen,
  mistral,
  groq,
  groqWhisper,
  groqSpeech,
  xai,
  openrouter,
  others,
  retired,
];
