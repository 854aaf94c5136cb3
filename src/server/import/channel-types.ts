// What becomes of a foreign channel type. Numbers up to 31 are One API's and ours; later ones differ from fork to fork
// (contract 15.1, providers 2), and those that speak OpenAI's wire become custom channels with their address. Data only.
import { providerOf } from "#contract/providers.ts";
import type { Family } from "./family.ts";

interface Moved {
  readonly type: number;
  /** Default address of the foreign type; undefined = the operator's own. */
  readonly baseUrl?: string;
  /** What our custom type needs after an own address that lacks it. */
  readonly suffix?: string;
}

const CUSTOM = 8;

function custom(baseUrl?: string, suffix?: string): Moved {
  return { type: CUSTOM, ...(baseUrl !== undefined && { baseUrl }), ...(suffix !== undefined && { suffix }) };
}

const DEEPSEEK = custom("https://api.deepseek.com");
const SILICONFLOW = custom("https://api.siliconflow.cn");
const XAI = custom("https://api.x.ai");
const ARK = custom("https://ark.cn-beijing.volces.com", "/api/v3");
const QIANFAN = custom("https://qianfan.baidubce.com", "/v2");

const ONE_API: Readonly<Record<number, Moved>> = {
  32: custom("https://api.stepfun.com"),
  36: DEEPSEEK,
  39: custom("https://api.together.xyz"),
  40: ARK,
  41: custom("https://api.novita.ai/v3/openai"),
  44: SILICONFLOW,
  45: XAI,
  47: QIANFAN,
  48: custom("https://spark-api-open.xf-yun.com"),
  49: custom("https://dashscope.aliyuncs.com", "/compatible-mode/v1"),
  50: custom(),
  51: custom("https://generativelanguage.googleapis.com/v1beta/openai"),
};

/** New API gave some early numbers to others and lacks types of ours (providers 2). */
const NEW_API: Readonly<Record<number, Moved | "none">> = {
  2: "none",
  4: { type: 30 },
  5: "none",
  26: { type: 16 },
  27: custom("https://api.perplexity.ai/chat/completions"),
  28: "none",
  29: "none",
  30: "none",
  35: { type: 27 },
  38: custom("https://api.jina.ai"),
  40: SILICONFLOW,
  42: { type: 28 },
  43: DEEPSEEK,
  45: ARK,
  46: QIANFAN,
  47: custom(),
  48: XAI,
  53: custom("https://llm.submodel.ai"),
};

export interface ChannelKind {
  readonly type: number;
  readonly baseUrl: string;
  /** No type of ours speaks its wire: the channel is kept, disabled. */
  readonly isUnknown: boolean;
  /** It became a custom channel. */
  readonly isMoved: boolean;
}

/** Our type and address for a foreign type and the address stored with it. */
export function kindOf(family: Family, type: number, storedUrl: string): ChannelKind {
  const baseUrl = storedUrl.replace(/\/+$/, "");
  const moved = family.isNewApi ? NEW_API[type] : ONE_API[type];
  if (moved === "none" || (moved === undefined && providerOf(type) === undefined)) {
    return { type, baseUrl, isUnknown: true, isMoved: false };
  }
  if (moved === undefined) return { type, baseUrl, isUnknown: false, isMoved: false };
  const address = completed(baseUrl || (moved.baseUrl ?? ""), moved.suffix ?? "");
  const isUnknown = moved.type === CUSTOM && address === "";
  return { type: moved.type, baseUrl: address, isUnknown, isMoved: moved.type === CUSTOM };
}

function completed(address: string, suffix: string): string {
  return address === "" || address.endsWith(suffix) ? address : address + suffix;
}
