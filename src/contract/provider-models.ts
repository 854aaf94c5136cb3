// Default models per channel type: what GET /api/models answers and the form offers. Data only; the console reads it from the
// server. Order: current names, then older ones that still answer. An empty list: names are the operator's own. Source: vendors/model-lists
// (2026-11). Left out: models reachable only through endpoints that are not relayed (OCR, video).
import { providers } from "./providers.ts";

function names(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

const openai = names(`
  gpt-6.2-astra gpt-6.2-sol gpt-6.1-sol gpt-6.1-terra gpt-6-astra gpt-6-sol gpt-6-luna gpt-5.6 gpt-5.6-sol
  gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-5.5-pro gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro gpt-5.3-codex
  gpt-5.2 gpt-5.2-pro gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro gpt-4.1 gpt-4.1-mini gpt-4o gpt-4o-mini o3 o3-pro
  gpt-image-2.6-sunburst gpt-image-2.6-flare gpt-image-2.5-sunburst gpt-image-2.5-flare gpt-image-2 gpt-image-1.5
  gpt-image-1-mini gpt-realtime gpt-realtime-2.1 gpt-realtime-mini gpt-audio-1.5 gpt-audio-mini gpt-4o-mini-tts
  gpt-transcribe gpt-4o-transcribe gpt-4o-mini-transcribe gpt-4o-transcribe-diarize omni-moderation-latest
  text-embedding-3-small text-embedding-3-large gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini-2024-07-18
  text-embedding-ada-002 whisper-1 tts-1 tts-1-1106 tts-1-hd tts-1-hd-1106`);

/** Channel type → model names. */
export const providerModels: Readonly<Record<number, readonly string[]>> = {
  1: openai,
  2: openai,
  3: openai,
  4: openai,
  5: openai,
  6: openai,
  7: openai,
  8: openai,
  9: openai,
  10: openai,
  11: names("PaLM-2"),
  12: openai,
  13: openai,
  14: names(`
    claude-fable-5-2 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-fable-5-1 claude-opus-5
    claude-sonnet-5 claude-fable-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-sonnet-4-6
    claude-opus-4-5-20251101 claude-opus-4-5 claude-sonnet-4-5-20250929 claude-sonnet-4-5 claude-haiku-4-5-20251001
    claude-haiku-4-5`),
  15: names(`
    ernie-5.1 ernie-5.0 ernie-4.5-turbo-128k ernie-4.5-turbo-32k ernie-4.5-turbo-vl ernie-x1.1-preview
    ernie-4.0-turbo-8k ernie-speed-pro-128k ernie-lite-pro-128k ernie-char-fiction-8k ernie-novel-8k deepseek-v3.2
    embedding-v1 bge-large-zh tao-8k
    ERNIE-4.0-8K ERNIE-3.5-8K ERNIE-Speed-8K ERNIE-Speed-128K ERNIE-Lite-8K-0308 ERNIE-Tiny-8K Embedding-V1
    bge-large-en`),
  16: names(`
    glm-5.3 glm-5.3-flash glm-5.3-flashx glm-5.2 glm-5.1 glm-5 glm-5-turbo glm-5v-turbo glm-4.7 glm-4.7-flashx glm-4.7-flash glm-4.6 glm-4.6v
    glm-4.6v-flash glm-4.5 glm-4.5-air glm-4.5-flash glm-4.5v glm-4-long glm-4-flash-250414 cogview-4 glm-image
    glm-asr glm-tts embedding-3 rerank
    glm-4-plus glm-4-air glm-4-airx glm-4-flashx glm-4-flash glm-4v-plus glm-4v-flash cogview-3-flash charglm-4
    codegeex-4 embedding-2`),
  17: names(`
    qwen3.8-max qwen3.8-flash qwen3.7-max qwen3.7-plus qwen3.6-plus qwen3.6-flash qwen3.5-plus qwen3.5-flash
    qwen-plus qwen-flash qwen-long qwen3-coder-flash qwen3-vl-plus qwen-vl-ocr qwen3-omni-flash qwen3-asr-flash
    qwen3-tts-flash qwen-mt-plus deepseek-v4-pro deepseek-v4-flash kimi-k2.6 glm-5.1 text-embedding-v4
    text-embedding-v3 qwen3-rerank qwen-image-plus wan2.6-t2i qwen-math-plus qwen-math-turbo qwen2.5-72b-instruct
    qwen2.5-32b-instruct qwen2.5-14b-instruct qwen2.5-7b-instruct qwen2.5-coder-32b-instruct qwen2.5-vl-72b-instruct
    deepseek-r1 deepseek-v3 text-embedding-v2 text-embedding-v1`),
  18: names(`
    spark-x 4.0Ultra max-32k pro-128k generalv3 lite
    Spark-4.0-Ultra Spark-Max-32K Spark-Pro-128K Spark-Pro Spark-Lite SparkDesk SparkDesk-v1.1 SparkDesk-v2.1
    SparkDesk-v3.1 SparkDesk-v4.0`),
  19: names(`
    360gpt2-pro 360gpt-pro 360gpt-turbo 360zhinao2-o1
    360GPT_S2_V9 embedding-bert-512-v1 embedding_s1_v1 semantic_similarity_s1_v1`),
  20: names(`
    openai/gpt-6-astra openai/gpt-6.1-sol openai/gpt-6.1-terra openai/gpt-6-luna openai/gpt-5.5 openai/gpt-5.4
    openai/gpt-5.4-mini openai/gpt-5.2 openai/gpt-5 openai/gpt-5-mini openai/gpt-5-nano
    openai/gpt-4.1 openai/gpt-4o openai/gpt-4o-mini openai/gpt-oss-120b anthropic/claude-opus-5.5
    anthropic/claude-sonnet-5.5 anthropic/claude-haiku-5.5 anthropic/claude-opus-4.8
    anthropic/claude-opus-4.7 anthropic/claude-opus-4.6 anthropic/claude-sonnet-5 anthropic/claude-sonnet-4.6
    anthropic/claude-sonnet-4.5 anthropic/claude-haiku-4.5 google/gemini-4-argon google/gemini-3.8-flash
    google/gemini-3.5-flash google/gemini-3.1-pro-preview
    google/gemini-3-flash-preview google/gemini-2.5-pro google/gemini-2.5-flash google/gemini-2.5-flash-lite
    deepseek/deepseek-v4-pro deepseek/deepseek-v4-flash deepseek/deepseek-v3.2 moonshotai/kimi-k3.1-pro
    moonshotai/kimi-k3 moonshotai/kimi-k2.7-code moonshotai/kimi-k2.6 z-ai/glm-5.3 z-ai/glm-5.3-flash z-ai/glm-5.2
    z-ai/glm-5.1 z-ai/glm-4.7 minimax/minimax-m3 minimax/minimax-m2.7 qwen/qwen3.8-flash
    qwen/qwen3.7-max qwen/qwen3.6-plus qwen/qwen3-coder-plus qwen/qwen3-max x-ai/grok-4.7 x-ai/grok-4.3 x-ai/grok-4.20
    mistralai/mistral-large-4-0 mistralai/mistral-large-2512 mistralai/mistral-medium-3-5 tencent/hy4
    meta-llama/llama-3.3-70b-instruct meta-llama/llama-3.3-70b-instruct:free openrouter/auto`),
  21: openai,
  22: openai,
  23: names(`
    hy4 hy4-preview hy3 hy3-preview hunyuan-role-latest hy-mt2-plus hy-vision-2.0-instruct hunyuan-large hunyuan-lite
    hunyuan-embedding
    hunyuan-standard hunyuan-standard-256K hunyuan-vision`),
  24: names(`
    gemini-4-argon gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash-lite gemini-3.1-pro-preview
    gemini-3.1-flash-lite gemini-flash-latest gemini-flash-lite-latest gemini-3.5-flash gemini-3-flash-preview
    gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-3-pro-image gemini-3.1-flash-image
    gemini-3.1-flash-lite-image gemini-2.5-flash-image gemini-2.5-flash-preview-tts gemini-embedding-001
    gemini-embedding-2 gemma-4-31b-it`),
  25: names(`
    kimi-k3.1-pro kimi-k3.1-pro-highspeed kimi-k3 kimi-k2.7-code kimi-k2.7-code-highspeed kimi-k2.6`),
  26: names(`
    Baichuan-M3-Plus Baichuan-M3 Baichuan-M2-Plus Baichuan-M2 Baichuan4-Turbo Baichuan4-Air Baichuan4
    Baichuan3-Turbo Baichuan3-Turbo-128k Baichuan-Text-Embedding`),
  27: names(`
    MiniMax-M3.1-Flash MiniMax-M3 MiniMax-M2.7 MiniMax-M2.7-highspeed MiniMax-M2.5 MiniMax-M2.5-highspeed MiniMax-M2.1 M2-her
    MiniMax-Text-01 speech-2.8-hd speech-2.8-turbo image-01
    MiniMax-VL-01 abab6.5s-chat`),
  28: names(`
    mistral-large-4-0 mistral-large-latest mistral-large-2512 mistral-medium-latest mistral-medium-2604 mistral-small-latest
    mistral-small-2603 magistral-medium-latest codestral-latest devstral-latest ministral-14b-2512
    ministral-8b-latest ministral-3b-latest voxtral-small-latest voxtral-mini-latest pixtral-large-latest
    mistral-embed codestral-embed mistral-moderation-latest`),
  29: names(`
    openai/gpt-oss-120b openai/gpt-oss-20b openai/gpt-oss-safeguard-20b qwen/qwen3.8-27b groq/compound groq/compound-mini whisper-large-v3 whisper-large-v3-turbo
    canopylabs/orpheus-v1-english`),
  30: names("llama3.3 qwen3:8b gpt-oss:20b gemma3:12b deepseek-r1:8b nomic-embed-text"),
  31: names(`
    yi-lightning yi-large yi-large-turbo yi-medium yi-medium-200k yi-spark yi-vision yi-large-rag yi-large-fc`),
  32: names("step-5-preview step-3.7-flash step-3.5-flash step-tts-2 step-asr"),
  33: names(`
    global.anthropic.claude-fable-5-1 global.anthropic.claude-opus-5-5 global.anthropic.claude-sonnet-5-5
    global.anthropic.claude-haiku-5-5
    global.anthropic.claude-opus-5 global.anthropic.claude-sonnet-5 global.anthropic.claude-opus-4-8
    global.anthropic.claude-opus-4-7 global.anthropic.claude-opus-4-6-v1 global.anthropic.claude-sonnet-4-6
    global.anthropic.claude-opus-4-5-20251101-v1:0 global.anthropic.claude-sonnet-4-5-20250929-v1:0
    global.anthropic.claude-haiku-4-5-20251001-v1:0 anthropic.claude-3-haiku-20240307-v1:0 amazon.nova-pro-v1:0
    amazon.nova-lite-v1:0 amazon.nova-micro-v1:0 amazon.nova-2-lite-v1:0 meta.llama3-3-70b-instruct-v1:0`),
  34: [],
  35: names(`
    command-a-plus-05-2026 command-a-reasoning-08-2025 command-a-vision-07-2025 command-a-03-2025
    command-r-plus-08-2024 command-r-08-2024 command-r7b-12-2024 embed-v4.0 rerank-v4.0-pro rerank-v3.5`),
  36: names("deepseek-flash deepseek-v4-pro deepseek-v4-flash"),
  37: names(`
    @cf/zai-org/glm-5.3 @cf/zai-org/glm-5.2 @cf/zai-org/glm-4.7-flash @cf/moonshotai/kimi-k2.7-code
    @cf/moonshotai/kimi-k2.6 @cf/openai/gpt-oss-120b @cf/openai/gpt-oss-20b
    @cf/meta/llama-3.3-70b-instruct-fp8-fast @cf/meta/llama-4-scout-17b-16e-instruct @cf/qwen/qwen3-30b-a3b-fp8
    @cf/baai/bge-m3`),
  39: names(`
    moonshotai/Kimi-K3.1-Pro moonshotai/Kimi-K3 deepseek-ai/DeepSeek-V4-Pro-0813 deepseek-ai/DeepSeek-V4.1-Flash
    zai-org/GLM-5.3 zai-org/GLM-5.3-Flash zai-org/GLM-5.2 MiniMaxAI/MiniMax-M3.1-Flash Qwen/Qwen3.8-Flash
    openai/gpt-oss-120b`),
  40: names(`
    doubao-seed-2-1-pro-260915 doubao-seed-2-1-turbo-260628 doubao-seed-2-0-lite-260428 doubao-seed-2-0-mini-260428
    doubao-seed-1-6-251015 doubao-seed-1-6-flash-250828 glm-5-2-260617 deepseek-v3-2-251201`),
  41: names(`
    deepseek/deepseek-v4-pro moonshotai/kimi-k3.1-pro moonshotai/kimi-k3 moonshotai/kimi-k2.6 zai-org/glm-5.3
    zai-org/glm-5.1 minimax/minimax-m3 minimax/minimax-m2.7 qwen/qwen3.8-flash tencent/hy4 deepseek/deepseek-v3.2
    qwen/qwen3-coder-480b-a35b-instruct meta-llama/llama-3.3-70b-instruct`),
  42: names(`
    gemini-4-argon gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash gemini-3.5-flash-lite gemini-3.1-pro-preview
    gemini-3-flash-preview gemini-3.1-flash-lite gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite
    gemini-3-pro-image gemini-3.1-flash-image gemini-2.5-flash-image claude-opus-5-5 claude-sonnet-5-5
    claude-haiku-5-5 claude-opus-4-8@default claude-sonnet-5@default
    claude-sonnet-4-6@default claude-haiku-4-5@20251001`),
  43: openai,
  44: names(`
    deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V3.2 Qwen/Qwen3.6-35B-A3B Qwen/Qwen3-32B Qwen/Qwen3-8B
    zai-org/GLM-5.3 zai-org/GLM-5.2 Pro/moonshotai/Kimi-K2.6 BAAI/bge-m3 BAAI/bge-reranker-v2-m3 Qwen/Qwen3-Embedding-8B
    FunAudioLLM/SenseVoiceSmall FunAudioLLM/CosyVoice2-0.5B Kwai-Kolors/Kolors Qwen/Qwen-Image`),
  45: names(`
    grok-4.7 grok-4.6 grok-4.5 grok-4.3 grok-4.20-0309-reasoning grok-4.20-0309-non-reasoning grok-build-0.1 grok-imagine-image`),
  47: names(`
    ernie-5.1 ernie-5.0 ernie-4.5-turbo-128k ernie-4.5-turbo-32k ernie-4.5-turbo-vl ernie-x1.1-preview
    ernie-4.0-turbo-8k ernie-speed-pro-128k ernie-lite-pro-128k ernie-char-fiction-8k ernie-novel-8k deepseek-v3.2
    embedding-v1 bge-large-zh tao-8k`),
  48: names("spark-x 4.0Ultra max-32k pro-128k generalv3.5 generalv3 lite"),
  49: names(`
    qwen3.8-max qwen3.8-flash qwen3.7-max qwen3.7-plus qwen3.6-plus qwen3.6-flash qwen3.5-plus qwen3.5-flash
    qwen-plus qwen-flash qwen-long qwen3-coder-flash qwen3-vl-plus qwen-vl-ocr qwen3-omni-flash qwen3-asr-flash
    qwen-mt-plus deepseek-v4-pro deepseek-v4-flash kimi-k2.6 glm-5.1 text-embedding-v4 text-embedding-v3
    qwen3-rerank`),
  50: openai,
  51: names(`
    gemini-4-argon gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash gemini-3.5-flash-lite gemini-3.1-pro-preview
    gemini-3-flash-preview gemini-3.1-flash-lite gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite
    gemini-flash-latest gemini-flash-lite-latest gemini-embedding-001 gemini-embedding-2`),
  101: [],
  102: [],
  103: [],
};

/** Names that their vendors have shut down (pages on deprecations, 2026-11): offered no longer, and known where they are still served. */
const retired: Readonly<Record<number, readonly string[]>> = {
  1: names(`
    gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-4 gpt-4-0613 gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4o-2024-05-13 o1 o1-2024-12-17
    o3-mini o4-mini gpt-4.1-nano gpt-image-1 gpt-5.3-chat-latest gpt-5.2-codex gpt-5.1-codex gpt-5.1-codex-max
    gpt-5.1-codex-mini chatgpt-4o-latest gpt-3.5-turbo-1106 gpt-3.5-turbo-instruct davinci-002 babbage-002 dall-e-3 dall-e-2`),
  14: names(
    "claude-opus-4-1-20250805 claude-opus-4-20250514 claude-sonnet-4-20250514 claude-3-haiku-20240307",
  ),
  17: names(
    "qwen-max qwen-turbo qwen-vl-max qwen-vl-plus qwq-plus qvq-max qwen-mt-turbo qwen3-max qwen3-coder-plus",
  ),
  24: names("imagen-4.0-generate-001 imagen-4.0-fast-generate-001 gemini-2.0-flash gemini-2.0-flash-lite"),
  25: names(`
    kimi-k2.5 moonshot-v1-8k moonshot-v1-32k moonshot-v1-128k moonshot-v1-8k-vision-preview
    moonshot-v1-32k-vision-preview moonshot-v1-128k-vision-preview`),
  29: names(
    "llama-3.3-70b-versatile llama-3.1-8b-instant meta-llama/llama-4-scout-17b-16e-instruct qwen/qwen3-32b",
  ),
  36: names("deepseek-chat deepseek-reasoner"),
  39: names(`
    meta-llama/Llama-3.3-70B-Instruct-Turbo deepseek-ai/DeepSeek-V4-Pro moonshotai/Kimi-K2.6 zai-org/GLM-5.1`),
};

const owners = new Map<string, string>();
for (const lists of [providerModels, retired]) {
  for (const { type, slug } of providers) {
    for (const model of lists[type] ?? []) {
      if (!owners.has(model)) owners.set(model, slug);
    }
  }
}

/** Names the owner of a model for /v1/models: the first provider that offers it, or did, else `custom`. */
export function ownedBy(model: string): string {
  return owners.get(model) ?? "custom";
}
