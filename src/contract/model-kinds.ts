// What a model's name tells: what it is for and who makes it. Pure; for people who look for a model, nothing is routed or charged by it.
import type { Ability } from "./catalogue.ts";
import { pricedName } from "./price-names.ts";
import { chargeUnit } from "./prices.ts";

/** Name pattern → ability, first hit wins; a name that fits none is one that answers in text. */
const ABILITY_RULES: readonly (readonly [pattern: RegExp, ability: Ability])[] = [
  [/rerank/, "rerank"],
  [/embed|(^|\/)bge-|m3e|tao-8k|text-search-|semantic_similarity/, "embedding"],
  [/moderation/, "moderation"],
  [/realtime/, "realtime"],
  [/whisper|transcribe|(^|-)asr(-|$)|sensevoice|paraformer|^voxtral-mini/, "transcription"],
  [/(^|-)tts(-|$)|cosyvoice|^speech-|orpheus/, "speech"],
  [/dall-e|cogview|imagen-|-image(-|$)|^image-0|-t2i|^wanx|kolors|stable-diffusion|imagine|flux/, "image"],
];

/** Tells an ability by the name, whichever provider sells the model. */
export function abilityOf(model: string): Ability {
  const unit = chargeUnit[pricedName(model)];
  if (unit === "image") return "image";
  if (unit === "character") return "speech";
  if (unit === "spoken") return "transcription";
  const name = model.toLowerCase();
  return ABILITY_RULES.find(([pattern]) => pattern.test(name))?.[1] ?? "chat";
}

/** Who makes what, by the begin of the name without its seller's prefix. First hit wins. */
const MAKER_RULES: readonly (readonly [pattern: RegExp, maker: string])[] = [
  [
    /^(gpt|chatgpt|o\d|dall-e|whisper|tts-1|text-(davinci|ada|babbage|curie|embedding-(3|ada)|search|moderation)|davinci|babbage|curie|ada$|omni-moderation|code-davinci|computer-use)/,
    "OpenAI",
  ],
  [/^claude/, "Anthropic"],
  [/^(gemini|gemma|imagen|palm)/, "Google"],
  [/^grok/, "xAI"],
  [/^(llama|meta)/, "Meta"],
  [/^(open-)?(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)/, "Mistral AI"],
  [/^(command|embed-v|rerank-v)/, "Cohere"],
  [/^(nova|titan)/, "Amazon"],
  [/^deepseek/, "DeepSeek"],
  [/^(qwen|qwq|qvq|wan|text-embedding-v|ali-|cosyvoice|sensevoice)/, "阿里云"],
  [/^(glm|chatglm|charglm|cogview|codegeex|emohaa|embedding-[23]$)/, "智谱"],
  [/^(kimi|moonshot)/, "月之暗面"],
  [/^(minimax|abab|speech-|image-01|m2-her)/, "MiniMax"],
  [/^doubao/, "字节跳动"],
  [/^(hunyuan|hy\d|hy-|chatstd|chatpro)/, "腾讯"],
  [/^(ernie|qianfan|embedding-v1|tao-8k)/, "百度"],
  [/^(spark|generalv|4\.0ultra|lite$|pro-128k|max-32k)/, "讯飞"],
  [/^baichuan/, "百川智能"],
  [/^step-/, "阶跃星辰"],
  [/^yi-/, "零一万物"],
  [/^360/, "360"],
  [/^(bge|kolors)/, "其他"],
];

const OTHER = "其他";

/** Names the maker of a model; `openai/gpt-5` and `global.anthropic.claude-…` are their makers' as well. */
export function makerOf(model: string): string {
  const name = model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/^((global|us|eu|apac)\.)?(anthropic|amazon|meta)\./, "");
  return MAKER_RULES.find(([pattern]) => pattern.test(name))?.[1] ?? OTHER;
}
