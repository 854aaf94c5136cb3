// Price lists of the vendors in China (April to November 2026), with the last prices of retired models. Data only.
// Source: vendors/prices, requirements W14.1. Tiers whose bounds are not published as numbers are not here. A model that several sell has
// its maker's price.
import { asRatio, cny, cnyPerImage, type PriceSheet, usd } from "./price-sheet.ts";

/** The yuan list of November 2026 at its peak (working days from 9 to 12 and 14 to 18); outside of that it is half. */
const deepseek: PriceSheet = {
  unitPrice: cny,
  rows: [
    [
      "deepseek-flash deepseek-v4-flash deepseek-v4-flash-vision-exp deepseek-chat deepseek-reasoner",
      2,
      8,
      0.04,
    ],
    ["deepseek-v4-pro", 9, 27, 0.3],
  ],
};

const moonshot: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["kimi-k3", 20, 100, 2],
    ["kimi-k2.7-code", 6.5, 27, 1.3],
    ["kimi-k2.7-code-highspeed", 13, 54, 2.6],
    ["kimi-k2.6", 6.5, 27, 1.1],
    ["kimi-k2.5", 4, 21, 0.7],
    ["kimi-k2-thinking kimi-k2-0905-preview", 4, 16, 1],
    ["kimi-k2-thinking-turbo kimi-k2-turbo-preview", 8, 58, 1],
    ["moonshot-v1-8k moonshot-v1-8k-vision-preview", 2, 10],
    ["moonshot-v1-32k moonshot-v1-32k-vision-preview", 5, 20],
    ["moonshot-v1-128k moonshot-v1-128k-vision-preview", 10, 30],
  ],
};

/** Known only from the vendors' dollar lists. */
const inDollars: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["kimi-k3.1-pro", 2, 10, 0.2],
    ["kimi-k3.1-pro-highspeed", 4, 20, 0.2],
    ["zai-org/GLM-5.3 zai-org/GLM-5.2 zai-org/GLM-5.1", 1.4, 4.4, 0.26],
  ],
};

const zhipu: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["glm-5.3 glm-5.2", 8, 28, 2],
    ["glm-5.3-flash", 0.8, 2.8, 0.23],
    ["glm-5.3-flashx", 2, 7, 0.57],
    ["glm-5.1", 6, 24, 1.3, undefined, { above: { 32000: [8, 28] } }],
    ["glm-5-turbo", 5, 22, 1.2, undefined, { above: { 32000: [7, 26] } }],
    ["glm-5v-turbo", 5, 22, 1.2],
    ["glm-5", 4, 18, 1, undefined, { above: { 32000: [6, 22] } }],
    ["glm-4.7 glm-4.6 glm-4.5", 2, 8, 0.4],
    ["glm-4.7-flashx", 0.5, 3, 0.1],
    ["glm-4.7-flash glm-4.5-flash glm-4-flash glm-4-flash-250414 glm-4v-flash glm-4.6v-flash", 0],
    ["glm-4.5-air", 0.8, 2, 0.16],
    ["glm-4.6v", 1, 3, 0.2, undefined, { above: { 32000: [2, 6] } }],
    ["glm-4.5v", 2, 6, undefined, undefined, { above: { 32000: [4, 12] } }],
    ["glm-4-plus", 5, 5, 2.5],
    ["glm-4-air glm-4-air-250414", 0.5, 0.5, 0.25],
    ["glm-4-airx", 10, 10],
    ["glm-4-flashx glm-4-flashx-250414", 0.1, 0.1, 0.05],
    ["glm-4-long", 1, 1, 0.5],
    ["glm-4v-plus", 4, 4],
    ["glm-4 glm-4-0520 glm-4v", 100, 100],
    ["glm-3-turbo charglm-4", 1, 1],
    ["emohaa", 15, 15],
    ["codegeex-4", 0.1, 0.1],
    ["embedding-3 embedding-2", 0.5, 0],
  ],
};

const zhipuImages: PriceSheet = {
  unitPrice: cnyPerImage,
  unit: "image",
  rows: [
    ["cogview-4 cogview-3-plus", 0.06],
    ["cogview-3-flash", 0],
  ],
};

const baidu: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["ernie-5.1", 4, 18, undefined, undefined, { above: { 32000: [6, 22] } }],
    ["ernie-5.0", 6, 24, undefined, undefined, { above: { 32000: [10, 40] } }],
    ["ernie-4.5-turbo-128k ernie-4.5-turbo-32k", 0.8, 3.2, 0.2],
    ["ernie-4.5-turbo-vl", 3, 9],
    ["ernie-x1.1-preview", 1, 4],
    ["ernie-4.0-8k ERNIE-4.0-8K", 30, 90],
    ["ernie-4.0-turbo-8k ernie-4.0-turbo-128k", 20, 60],
    ["ernie-3.5-8k ERNIE-3.5-8K ernie-3.5-128k", 0.8, 2],
    ["ernie-speed-pro-128k", 0.3, 0.6],
    ["ernie-lite-pro-128k", 0.2, 0.4],
    ["ernie-speed-8k ernie-speed-128k ernie-lite-8k ernie-tiny-8k", 0],
    ["ERNIE-Speed ERNIE-Speed-8K ERNIE-Speed-128K ERNIE-Lite-8K-0308 ERNIE-Lite-8K-0922 ERNIE-Tiny-8K", 0],
    ["ernie-char-8k ernie-char-fiction-8k", 0.3, 0.6],
    ["ernie-novel-8k", 40, 120],
    ["qianfan-8b", 0.5, 1],
    ["qianfan-70b", 0.8, 3.2],
    ["Embedding-V1 embedding-v1 bge-large-zh bge-large-en bge-large-8k tao-8k", 0.5, 0],
  ],
};

/** List prices vary by package; where no list is known, One API's ratio stands. */
const xunfei: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["lite Spark-Lite SparkDesk-v1.1", 0],
    ["generalv3 Spark-Pro SparkDesk-v3.1 pro-128k Spark-Pro-128K max-32k Spark-Max-32K", 5, 5],
    ["generalv3.5 Spark-Max SparkDesk-v3.5 4.0Ultra Spark-4.0-Ultra SparkDesk-v4.0", 5, 5],
    ["spark-x", 2, 2],
    ["SparkDesk SparkDesk-v2.1", 18, 18],
  ],
};

const tencent: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["hy4 hy4-preview", 6, 18, 0.3],
    ["hy3 hy3-preview", 1.2, 4, 0.4],
    ["hunyuan-2.0-thinking", 3.975, 15.9],
    ["hunyuan-2.0-instruct", 3.18, 7.95],
    ["hunyuan-t1-latest", 1, 4],
    ["hunyuan-turbos-latest hunyuan-standard", 0.8, 2],
    ["hunyuan-large", 4, 12],
    ["hunyuan-large-longcontext", 6, 18],
    ["hunyuan-turbo hunyuan-turbo-latest hunyuan-role hunyuan-role-latest", 2.4, 9.6],
    ["hunyuan-standard-256K", 0.5, 2],
    ["hunyuan-lite", 0],
    ["hunyuan-functioncall", 4, 8],
    ["hunyuan-code", 3.5, 7],
    ["hunyuan-vision hunyuan-turbo-vision", 18, 18],
    ["hunyuan-turbos-vision", 3, 9],
    ["hunyuan-embedding", 0.7, 0],
  ],
};

const minimax: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["MiniMax-M3.1-Flash", 1, 4, 0.1],
    ["MiniMax-M3", 2.1, 8.4, 0.42, undefined, { above: { 512000: [4.2, 16.8] } }],
    ["MiniMax-M2.7", 2.1, 8.4, 0.42, 2.625],
    // What the cache does costs the same at high speed.
    ["MiniMax-M2.7-highspeed", 4.2, 16.8, 0.42, 2.625],
    ["MiniMax-M2.5 MiniMax-M2.1 MiniMax-M2", 2.1, 8.4, 0.21, 2.625],
    ["MiniMax-M2.5-highspeed", 4.2, 16.8, 0.21, 2.625],
    ["M2-her", 2.1, 8.4],
    ["MiniMax-M1", 0.8, 8, undefined, undefined, { above: { 200000: [1.2, 16] } }],
    ["MiniMax-Text-01 MiniMax-VL-01 abab6.5s-chat", 1, 8],
    ["abab6.5-chat", 30, 30],
    ["abab6-chat", 100, 100],
    ["abab5.5-chat", 15, 15],
    ["abab5.5s-chat", 5, 5],
  ],
};

const minimaxSpeech: PriceSheet = {
  unitPrice: cny,
  unit: "character",
  rows: [
    ["speech-2.8-hd", 350],
    ["speech-2.8-turbo", 200],
  ],
};

const baichuan: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["Baichuan-M3-Plus", 5, 9],
    ["Baichuan-M3 Baichuan-M2-Plus", 10, 30],
    ["Baichuan-M2", 2, 20],
    ["Baichuan4", 100, 100],
    ["Baichuan4-Turbo", 15, 15],
    ["Baichuan4-Air", 0.98, 0.98],
    ["Baichuan3-Turbo", 12, 12],
    ["Baichuan3-Turbo-128k", 24, 24],
    ["Baichuan2-Turbo", 8, 8],
    ["Baichuan2-Turbo-192k", 16, 16],
    ["Baichuan-Text-Embedding", 0.5, 0],
  ],
};

/** 360, 01.AI, StepFun, Doubao, SiliconFlow. */
const others: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["360gpt2-pro 360gpt-pro", 2, 5],
    ["360gpt-turbo", 1, 2],
    ["360zhinao2-o1", 4, 10],
    ["360GPT_S2_V9", 12, 12],
    ["yi-lightning", 0.99, 0.99],
    ["yi-large yi-large-fc", 20, 20],
    ["yi-large-turbo yi-medium-200k yi-34b-chat-200k", 12, 12],
    ["yi-medium yi-34b-chat-0205", 2.5, 2.5],
    ["yi-spark", 1, 1],
    ["yi-vision yi-vl-plus", 6, 6],
    ["yi-large-rag", 25, 25],
    ["step-5-preview", 7, 20, 0.35],
    ["step-3.7-flash", 1.35, 8.1, 0.27],
    ["step-3.5-flash step-3.5-flash-2603", 0.7, 2.1, 0.14],
    ["step-1-8k", 5, 20],
    ["step-1-32k", 15, 70],
    ["step-1-256k", 95, 300],
    ["step-2-16k", 38, 120],
    ["step-2-mini", 1, 2],
    ["doubao-seed-2-1-pro", 6, 30, 1.2],
    ["doubao-seed-2-1-turbo", 3, 15, 0.6],
    [
      "doubao-seed-2-0-pro",
      3.2,
      16,
      0.64,
      undefined,
      { above: { 32000: [4.8, 24, 0.96], 128000: [9.6, 48, 1.92] } },
    ],
    [
      "doubao-seed-2-0-lite",
      0.6,
      3.6,
      0.12,
      undefined,
      { above: { 32000: [0.9, 5.4, 0.18], 128000: [1.8, 10.8, 0.36] } },
    ],
    [
      "doubao-seed-2-0-mini",
      0.2,
      2,
      0.04,
      undefined,
      { above: { 32000: [0.4, 4, 0.08], 128000: [0.8, 8, 0.16] } },
    ],
    [
      "doubao-seed-1-8 doubao-seed-1-6",
      0.8,
      8,
      0.16,
      undefined,
      { above: { 32000: [1.2, 16, 0.16], 128000: [2.4, 24, 0.16] } },
    ],
    [
      "doubao-seed-1-6-flash",
      0.15,
      1.5,
      0.03,
      undefined,
      { above: { 32000: [0.3, 3, 0.03], 128000: [0.6, 6, 0.03] } },
    ],
    ["doubao-1-5-pro-32k Doubao-pro-32k Doubao-pro-4k", 0.8, 2],
    ["doubao-1-5-pro-256k Doubao-pro-128k", 5, 9],
    ["doubao-1-5-lite-32k Doubao-lite-32k Doubao-lite-4k", 0.3, 0.6],
    ["Doubao-lite-128k", 0.8, 1],
    ["Doubao-embedding", 0.5, 0],
    ["Doubao-embedding-large", 0.7, 0],
    ["deepseek-ai/DeepSeek-V4-Flash", 3, 9],
    ["deepseek-ai/DeepSeek-V3.2", 2, 3],
    ["Pro/moonshotai/Kimi-K2.6", 6.5, 27, 1.1],
    ["Pro/zai-org/GLM-5.1", 10, 32],
  ],
};

/** Beijing prices converted to dollars, July 2026; 3.8, 3.7 Plus and 3.5 Plus have the international list of autumn. */
const ali: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["qwen3.8-max", 2, 6, 0.25, 2.5],
    ["qwen3.8-flash", 0.15, 0.47, 0.016, 0.2],
    ["qwen3.7-max", 2.5, 7.5, 0.5, 3.125],
    ["qwen3.7-plus", 0.32, 1.28, 0.064, 0.4, { above: { 256000: [0.96, 3.84] } }],
    ["qwen3.6-plus", 0.5, 3, 0.05, 0.625, { above: { 256000: [2, 6] } }],
    ["qwen3.6-max-preview", 1.32, 7.9, 0.132],
    ["qwen3.6-flash", 0.1875, 1.125, undefined, 0.234375],
    ["qwen3.5-plus", 0.4, 2.4, 0.04, 0.5, { above: { 256000: [0.5, 3] } }],
    ["qwen3.5-flash", 0.172, 1.72],
    ["qwen3.5-397b-a17b", 0.43, 2.58],
    ["qwen3-max qwen3-coder-480b-a35b-instruct", 0.861, 3.441],
    ["qwen-max", 0.345, 1.377],
    ["qwen-plus qwen-vl-plus", 0.115, 0.287],
    ["qwen-flash", 0.022, 0.216],
    ["qwen-turbo", 0.044, 0.087],
    ["qwen-long qwen3-8b", 0.072, 0.287],
    ["qwen3-coder-plus", 1, 5],
    ["qwen3-coder-flash qwen3-next-80b-a3b-instruct qwen3-14b", 0.144, 0.574],
    ["qwen3-coder-30b-a3b-instruct", 0.216, 0.861],
    ["qwen3-next-80b-a3b-thinking", 0.144, 1.434],
    ["qwen3-235b-a22b qwen3-32b", 0.287, 1.147],
    ["qwq-plus qwen-vl-max", 0.23, 0.574],
    ["qwq-32b qwen-math-turbo qwen2.5-32b-instruct qwen2.5-coder-32b-instruct", 0.287, 0.861],
    ["qvq-max", 1.147, 4.588],
    ["qwen3-vl-plus", 0.143353, 1.433525],
    ["qwen3-vl-235b-a22b", 0.286705, 1.14682],
    ["qwen3-vl-30b-a3b", 0.108, 0.431],
    ["qwen-vl-ocr", 0.717, 0.717],
    ["qwen3-omni-flash qwen-omni-turbo", 0.058, 0.23],
    ["qwen3-asr-flash", 0.032, 0.032],
    ["qwen-mt-plus", 0.259, 0.775],
    ["qwen-mt-turbo", 0.101, 0.28],
    ["qwen-math-plus qwen2.5-72b-instruct", 0.574, 1.721],
    ["qwen2.5-14b-instruct", 0.144, 0.431],
    ["qwen2.5-7b-instruct", 0.072, 0.144],
    ["qwen2.5-vl-72b-instruct", 2.294, 6.881],
    ["deepseek-v3.2 deepseek-v3.2-exp", 0.287, 0.431],
    ["deepseek-v3", 0.287, 1.147],
    ["deepseek-r1", 0.574, 2.294],
    ["text-embedding-v4 text-embedding-v3", 0.07, 0],
    ["text-embedding-v2 text-embedding-v1", 0.1, 0],
  ],
};

const aliImages: PriceSheet = {
  unitPrice: asRatio,
  unit: "image",
  rows: [["wanx-v1 ali-stable-diffusion-xl ali-stable-diffusion-v1.5", 8]],
};

/** Ratios of One API for names that no list has any more (requirements W14.1). */
const retired: PriceSheet = {
  unitPrice: asRatio,
  rows: [
    ["ERNIE-Bot", 0.8572],
    ["ERNIE-Bot-turbo", 0.5715],
    ["ERNIE-Bot-4", 8.52],
    ["ERNIE-Bot-8K", 1.704],
    ["chatglm_turbo chatglm_std", 0.3572],
    ["chatglm_pro", 0.7143],
    ["chatglm_lite", 0.1429],
    ["qwen-max-longcontext qwen-audio-turbo", 1.4286],
    ["embedding-bert-512-v1 embedding_s1_v1 semantic_similarity_s1_v1", 0.0715],
    ["hunyuan", 7.143],
    ["ChatStd", 0.71],
    ["ChatPro", 7.1],
    ["Baichuan2-53B", 1.42],
  ],
};

export const chinaPrices: readonly PriceSheet[] = [
  deepseek,
  moonshot,
  inDollars,
  zhipu,
  zhipuImages,
  baidu,
  xunfei,
  tencent,
  minimax,
  minimaxSpeech,
  baichuan,
  others,
  ali,
  aliImages,
  retired,
];
