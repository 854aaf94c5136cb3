// Prices in money as pages write them, in the operator's currency. Pure.
import type { Ability, ModelMoney, MoneyPrice, OtherKind } from "#contract/catalogue.ts";
import { yuanOfDollar } from "#contract/price-sheet.ts";
import type { PriceUnit } from "#contract/price-unit.ts";

export type Currency = "USD" | "CNY";

/** Dollars as text → `$2.5` or `¥17.5`; six digits that count. */
export function moneyText(dollars: string, currency: Currency): string {
  const amount = currency === "CNY" ? Number(dollars) * yuanOfDollar : Number(dollars);
  const digits = Number(amount.toPrecision(6));
  // Never `1e-7`.
  const text = digits !== 0 && digits < 1e-6 ? digits.toFixed(12).replace(/0+$/, "") : String(digits);
  return `${currency === "CNY" ? "¥" : "$"}${text}`;
}

export const UNIT_WORDS: Readonly<Record<PriceUnit, string>> = {
  token: "每百万 token",
  character: "每百万字符",
  image: "每张",
  minute: "每分钟",
  second: "每秒",
  call: "每次",
};

export const ABILITY_WORDS: Readonly<Record<Ability, string>> = {
  chat: "对话",
  image: "图片",
  speech: "语音合成",
  transcription: "语音识别",
  realtime: "实时对话",
  embedding: "向量",
  rerank: "重排",
  moderation: "审核",
};

export const OTHER_WORDS: Readonly<Record<OtherKind, string>> = {
  audio: "音频输入",
  image: "图片输入",
  audio_output: "音频输出",
  image_output: "图片输出",
};

export interface PriceLine {
  readonly label: string;
  readonly text: string;
}

/** What a model costs, one line for each kind that has a price; a free one has a single line. */
export function priceLines(money: ModelMoney, currency: Currency): readonly PriceLine[] {
  if (isFree(money)) return [{ label: "价格", text: "免费" }];
  if (money.unit !== "token")
    return [{ label: UNIT_WORDS[money.unit], text: moneyText(money.input, currency) }];
  const others = money.others.map(({ kind, price }) => ({
    label: OTHER_WORDS[kind],
    text: moneyText(price, currency),
  }));
  // Embeddings have no output at all.
  const plain = Number(money.output) === 0 ? { ...money, output: "" } : money;
  return [...linesOf(plain, currency), ...others];
}

/** `输入超过 200,000 token 时：…` */
export function tierText({ above, ...price }: ModelMoney["tiers"][number], currency: Currency): string {
  const lines = linesOf(price, currency).map(({ label, text }) => `${label} ${text}`);
  return `输入超过 ${above.toLocaleString("en-US")} token 时，整个请求按 ${lines.join("、")} 计费`;
}

function linesOf(price: MoneyPrice, currency: Currency): PriceLine[] {
  const rows: readonly (readonly [label: string, dollars: string])[] = [
    ["输入", price.input],
    ["输出", price.output],
    ["缓存读取", price.cache_read],
    ["缓存写入", price.cache_write],
  ];
  return rows
    .filter(([, dollars]) => dollars !== "")
    .map(([label, dollars]) => ({ label, text: moneyText(dollars, currency) }));
}

function isFree({ input, output, others, tiers }: ModelMoney): boolean {
  const isNothing = (dollars: string) => Number(dollars) === 0;
  return isNothing(input) && isNothing(output) && others.length === 0 && tiers.length === 0;
}
