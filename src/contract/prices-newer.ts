// Prices of names that only the newer channel types use: Bedrock's and Vertex's ids, Ark's versions, SiliconFlow's free tier. Data only.
// Source: vendors/prices (Bedrock has Anthropic's list price), requirements W14.1. Whatever else these types sell has its maker's price.
import { cny, type PriceSheet, usd } from "./price-sheet.ts";

const bedrock: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["global.anthropic.claude-fable-5-1", 10, 50, 0.25, 12.5],
    ["global.anthropic.claude-opus-5-5", 4, 20, 0.2, 5],
    ["global.anthropic.claude-sonnet-5-5", 2, 10, 0.1, 2.5],
    [
      "global.anthropic.claude-haiku-5-5",
      0.1,
      0.5,
      0.01,
      0.125,
      { above: { 100000: [0.5, 2.5, 0.05, 0.625] } },
    ],
    [
      "global.anthropic.claude-opus-5 global.anthropic.claude-opus-4-8 global.anthropic.claude-opus-4-7 global.anthropic.claude-opus-4-6-v1 global.anthropic.claude-opus-4-5-20251101-v1:0",
      5,
      25,
      0.5,
      6.25,
    ],
    ["global.anthropic.claude-sonnet-5", 2, 10, 0.2, 2.5],
    ["global.anthropic.claude-sonnet-4-6", 3, 15, 0.3, 3.75],
    ["global.anthropic.claude-sonnet-4-5-20250929-v1:0", 3, 15, 0.3, 3.75, { above: { 200000: [6, 22.5] } }],
    ["global.anthropic.claude-haiku-4-5-20251001-v1:0", 1, 5, 0.1, 1.25],
    ["anthropic.claude-3-haiku-20240307-v1:0", 0.25, 1.25, 0.03, 0.3],
    ["amazon.nova-micro-v1:0", 0.035, 0.14, 0.00875],
    ["amazon.nova-lite-v1:0", 0.06, 0.24, 0.015],
    ["amazon.nova-pro-v1:0", 0.8, 3.2, 0.2],
    ["amazon.nova-2-lite-v1:0", 0.3, 2.5, 0.075],
    ["meta.llama3-3-70b-instruct-v1:0", 0.72, 0.72],
  ],
};

/** Anthropic's list price (vendors/prices). */
const vertex: PriceSheet = {
  unitPrice: usd,
  rows: [
    ["claude-opus-4-8@default", 5, 25, 0.5, 6.25],
    ["claude-sonnet-5@default", 2, 10, 0.2, 2.5],
    ["claude-sonnet-4-6@default", 3, 15, 0.3, 3.75],
    ["claude-haiku-4-5@20251001", 1, 5, 0.1, 1.25],
  ],
};

/** Dated versions have the price of their family. */
const ark: PriceSheet = {
  unitPrice: cny,
  rows: [
    ["doubao-seed-2-1-pro-260915 doubao-seed-2-1-pro-260628", 6, 30, 1.2],
    ["doubao-seed-2-1-turbo-260628", 3, 15, 0.6],
    [
      "doubao-seed-2-0-lite-260428",
      0.6,
      3.6,
      0.12,
      undefined,
      { above: { 32000: [0.9, 5.4, 0.18], 128000: [1.8, 10.8, 0.36] } },
    ],
    [
      "doubao-seed-2-0-mini-260428",
      0.2,
      2,
      0.04,
      undefined,
      { above: { 32000: [0.4, 4, 0.08], 128000: [0.8, 8, 0.16] } },
    ],
    [
      "doubao-seed-1-6-251015",
      0.8,
      8,
      0.16,
      undefined,
      { above: { 32000: [1.2, 16, 0.16], 128000: [2.4, 24, 0.16] } },
    ],
    [
      "doubao-seed-1-6-flash-250828",
      0.15,
      1.5,
      0.03,
      undefined,
      { above: { 32000: [0.3, 3, 0.03], 128000: [0.6, 6, 0.03] } },
    ],
    ["glm-5-2-260617", 8, 28, 2],
  ],
};

const siliconflow: PriceSheet = {
  unitPrice: cny,
  rows: [["Qwen/Qwen3-8B THUDM/glm-4-9b-chat BAAI/bge-m3 BAAI/bge-reranker-v2-m3", 0]],
};

export const newerPrices: readonly PriceSheet[] = [bedrock, vertex, ark, siliconflow];
