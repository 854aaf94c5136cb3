// What the console says of a row of a price draft. Pure.
import type { Tone } from "#console/ui/status-tag.tsx";
import { type ModelPriceRow, PRICE_VIEWS, type PriceSource, type PriceView } from "#contract/model-price.ts";
import type { ModelPrice, PriceDraftRow, PriceFlag, PriceFormat } from "#contract/price-list.ts";

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
  twice: "同名模型出现多次",
  rise: "涨幅超过 20%",
  fall: "降幅超过 50%",
  from_free: "原来免费",
  output_cheap: "输出低于输入的一半",
  cache_dear: "缓存高于输入",
};

export const VERDICTS = {
  same: { label: "无变化", tone: "idle" },
  fine: { label: "可发布", tone: "good" },
  doubtful: { label: "需确认", tone: "warn" },
  refused: { label: "不可用", tone: "bad" },
} as const satisfies Record<PriceDraftRow["verdict"], { label: string; tone: Tone }>;

/** Dollars a million tokens: input / output, then the cache where it has a price of its own. */
export function priceText(price: ModelPrice | null): string {
  if (price === null) return "—";
  const input = Number(price.model_ratio) * 2;
  const of = (ratio: string) => dollars(input * Number(ratio));
  const output = price.completion_ratio === "" ? "" : ` / ${of(price.completion_ratio)}`;
  const read = price.cache_ratio === "" ? "" : ` · 缓存 ${of(price.cache_ratio)}`;
  return `${dollars(input)}${output}${read}`;
}

function dollars(value: number): string {
  return `$${Number(value.toPrecision(6))}`;
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
};

export const VIEWS = PRICE_VIEWS.map((value) => ({ value, label: VIEW_WORDS[value] }));
