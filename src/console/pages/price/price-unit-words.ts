// What the price of a model may count, in words. Pure.
import type { Ability } from "#contract/catalogue.ts";
import type { ModelPriceRow } from "#contract/model-price.ts";
import type { PriceUnit } from "#contract/price-unit.ts";

export const UNIT_NAMES: Readonly<Record<PriceUnit, string>> = {
  token: "按 token",
  call: "按次",
  image: "按张（图片）",
  character: "按字符（语音合成）",
  minute: "按分钟（语音识别）",
  second: "按秒",
};

export const UNIT_LEADS: Readonly<Partial<Record<PriceUnit, string>>> = {
  call: "每次成功的调用收取固定价格，与长度无关。",
  second: "按视频或声音的秒数计费；按 token 上报的渠道（如火山方舟）请选“按 token”。",
};

/** What calls of a kind of model can be counted by; a video has no kind of its own. */
const UNITS: Readonly<Partial<Record<Ability, readonly PriceUnit[]>>> = {
  chat: ["token", "call", "second"],
  image: ["token", "call", "image"],
  speech: ["token", "call", "character"],
  transcription: ["token", "call", "minute", "second"],
};

/** The units to choose from, with the one that stands. */
export function unitsFor({ ability, unit }: ModelPriceRow): readonly PriceUnit[] {
  const units = UNITS[ability] ?? ["token", "call"];
  return units.includes(unit) ? units : [...units, unit];
}
