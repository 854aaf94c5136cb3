// What the console says of a row of a price draft. Pure.
import { formatCount } from "#console/base/format.ts";
import { type Currency, moneyText, UNIT_WORDS } from "#console/base/money-price.ts";
import type { Tone } from "#console/ui/status-tag.tsx";
import { type ModelPriceRow, PRICE_VIEWS, type PriceSource, type PriceView } from "#contract/model-price.ts";
import type { DraftState, PriceDraftHead, PriceDraftRow } from "#contract/price-draft.ts";
import type { ListTier, ModelPrice, PriceFlag, PriceFormat } from "#contract/price-list.ts";
import { type PriceUnit, TOKENS_OF_UNIT } from "#contract/price-unit.ts";

export const FORMATS: Readonly<Record<PriceFormat, string>> = {
  "models.dev": "models.dev（api.json）",
  litellm: "LiteLLM（model_prices_and_context_window.json）",
  openrouter: "OpenRouter（/api/v1/models）",
  "new-api": "New API（/api/pricing）",
  "new-api-ratio": "New API（/api/ratio_config）",
};

export const FLAGS: Readonly<Record<PriceFlag, string>> = {
  unreadable: "没有可用的价格",
  too_dear: "超过每百万 10,000 美元",
  unit: "疑似单位错误",
  per_call: "不是按 token 计价",
  kind: "计费方式不同",
  twice: "同名模型出现多次",
  rise: "涨幅过大",
  fall: "降幅过大",
  from_free: "原来免费",
  output_cheap: "输出低于输入的一半",
  cache_dear: "缓存高于输入",
  tiers: "阶梯与价目表不一致",
  outranked: "以另一份价目表为准",
  ended: "停用日期已过",
  deprecated: "厂商已标记为弃用",
};

export const VERDICTS = {
  same: { label: "无变化", tone: "idle" },
  fine: { label: "可发布", tone: "good" },
  doubtful: { label: "需确认", tone: "warn" },
  refused: { label: "不可用", tone: "bad" },
  gone: { label: "不再列出", tone: "idle" },
} as const satisfies Record<PriceDraftRow["verdict"], { label: string; tone: Tone }>;

export const STATES = {
  open: { label: "待批准", tone: "info" },
  approved: { label: "待发布", tone: "warn" },
  published: { label: "已发布", tone: "good" },
  discarded: { label: "已放弃", tone: "idle" },
} as const satisfies Record<DraftState, { label: string; tone: Tone }>;

/** Why a draft has to be looked at as a whole; "" = it has not. */
export function warningText({ warning, listed, listed_before }: PriceDraftHead): string {
  if (warning === "shrunk")
    return `价目表只有 ${formatCount(listed)} 个模型，之前有 ${formatCount(listed_before)} 个，可能不完整：请先整体核对。`;
  return warning === "changed" ? "价格不同的模型过多：请先整体核对价目表的格式与单位。" : "";
}

/** Lists count dollars; a dollar is so much quota in them (requirements W14). */
const QUOTA_OF_DOLLAR = 500_000;

/** What is counted, and in what it is told. */
export interface PriceLook {
  readonly unit: PriceUnit;
  readonly currency: Currency;
}

type Ratios = Pick<ModelPrice, "model_ratio" | "completion_ratio" | "cache_ratio" | "cache_write_ratio">;

/** Input / output, then the cache where it has a price of its own; of what is counted otherwise its one price. */
export function priceText(price: Ratios | null, { unit, currency }: PriceLook): string {
  if (price === null) return "—";
  const money = (ratio: number) =>
    moneyText(String((ratio * TOKENS_OF_UNIT[unit]) / QUOTA_OF_DOLLAR), currency);
  const input = Number(price.model_ratio);
  if (unit !== "token") return `${money(input)} ${UNIT_WORDS[unit]}`;
  const of = (ratio: string) => money(input * Number(ratio));
  const output = price.completion_ratio === "" ? "" : ` / ${of(price.completion_ratio)}`;
  const read = price.cache_ratio === "" ? "" : ` · 缓存 ${of(price.cache_ratio)}`;
  const write = price.cache_write_ratio === "" ? "" : ` · 写入 ${of(price.cache_write_ratio)}`;
  return `${money(input)}${output}${read}${write}`;
}

/** Sound and pictures, where they have prices of their own. */
function mediaText(price: ModelPrice, { currency }: PriceLook): string {
  const base = Number(price.model_ratio);
  const of = (name: string, input: string, output: string) => {
    if (input === "" && output === "") return [];
    const own = base * Number(input || 1);
    const texts = [own, ...(output === "" ? [] : [own * Number(output)])];
    return [`${name} ${texts.map((ratio) => moneyText(String(ratio * 2), currency)).join(" / ")}`];
  };
  return [
    ...of("音频", price.audio_ratio, price.audio_completion_ratio),
    ...of("图片", price.image_ratio, price.image_completion_ratio),
  ].join(" · ");
}

function tierLine(tier: ListTier, look: PriceLook): string {
  return `输入超过 ${tier.above.toLocaleString("en-US")} token：${priceText(tier, look)}`;
}

/** What else than the price of short prompts differs, a line each: sound and pictures, tiers, the last day. */
export function otherChanges({ old, fresh }: PriceDraftRow, look: PriceLook): string[] {
  if (fresh === null || look.unit !== "token") return dayChange(old, fresh);
  const [before, after] = [old === null ? "" : mediaText(old, look), mediaText(fresh, look)];
  const tiers = fresh.tiers.filter((tier) => {
    const twin = old?.tiers.find(({ above }) => above === tier.above);
    return twin === undefined || tierLine(twin, look) !== tierLine(tier, look);
  });
  const gone = (old?.tiers ?? []).filter(({ above }) => !fresh.tiers.some((tier) => tier.above === above));
  return [
    ...(before === after ? [] : [before === "" ? after : `${before} → ${after === "" ? "—" : after}`]),
    ...tiers.map((tier) => {
      const twin = old?.tiers.find(({ above }) => above === tier.above);
      const line = tierLine(tier, look);
      return twin === undefined ? line : `${tierLine(twin, look)} → ${priceText(tier, look)}`;
    }),
    ...gone.map((tier) => `${tierLine(tier, look)} → 无`),
    ...dayChange(old, fresh),
  ];
}

function dayChange(old: ModelPrice | null, fresh: ModelPrice | null): string[] {
  const before = old?.last_day ?? "";
  const after = fresh?.last_day ?? "";
  if (fresh === null || before === after) return [];
  return [before === "" ? `停用日期 ${after}` : `停用日期 ${before} → ${after}`];
}

/** Quota by which last week's bill would change. */
export function weekEffect(rows: readonly PriceDraftRow[]): number {
  return rows.reduce((sum, { quota_before, quota_after }) => sum + quota_after - quota_before, 0);
}

/** Where a price comes from. */
export const SOURCES = {
  built_in: { label: "内置", tone: "info" },
  option: { label: "手动", tone: "good" },
  list: { label: "价目表", tone: "good" },
  name: { label: "同名", tone: "idle" },
  fallback: { label: "默认倍率", tone: "warn" },
  none: { label: "没有价格", tone: "bad" },
} as const satisfies Record<PriceSource, { label: string; tone: Tone }>;

export function sourceHint({ source, version, price_of }: ModelPriceRow): string {
  if (source === "name") return `按 ${price_of} 的价格`;
  if (source === "fallback") return "表里没有这个模型，按“未定价模型的倍率”计费";
  if (source === "none") return "调用会被拒绝";
  return version === 0 ? "" : `价格版本 ${version}`;
}

const VIEW_WORDS: Readonly<Record<PriceView, string>> = {
  "": "所有模型",
  served: "有渠道的",
  unpriced: "没有价格的",
  changed: "与内置不同的",
  ending: "将停用的",
  unlisted: "不再列出的",
};

export const VIEWS = PRICE_VIEWS.map((value) => ({ value, label: VIEW_WORDS[value] }));
