// The dialects by the names used in the catalogue.
import type { DialectName } from "#contract/providers.ts";
import { aiproxy } from "./aiproxy.ts";
import { ali } from "./ali.ts";
import { anthropic } from "./anthropic.ts";
import { bedrock, vertexClaude } from "./anthropic-cloud.ts";
import { azure } from "./azure.ts";
import { baidu } from "./baidu.ts";
import { cohere } from "./cohere.ts";
import { converse } from "./converse.ts";
import { coze } from "./coze.ts";
import type { Dialect } from "./dialect.ts";
import { dify } from "./dify.ts";
import { gemini } from "./gemini.ts";
import { minimax } from "./minimax.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { palm } from "./palm.ts";
import { responses } from "./responses.ts";
import { tencent } from "./tencent.ts";
import { xunfei } from "./xunfei.ts";
import { zhipu } from "./zhipu.ts";

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  openai,
  azure,
  baidu,
  aiproxy,
  ali,
  anthropic,
  bedrock,
  "vertex-claude": vertexClaude,
  cohere,
  converse,
  coze,
  dify,
  gemini,
  minimax,
  ollama,
  palm,
  responses,
  tencent,
  xunfei,
  zhipu,
};
