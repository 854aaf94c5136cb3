// The fields of a price as a form holds them ⇄ the ratios of the tables. A form shows money or ratios; what is not touched keeps its exact
// ratio. Pure.
import type { ModelPriceRow, PriceRatios, TierPrice } from "#contract/model-price.ts";
import { type Currency, type MoneyScale, moneyOfRatios, ratioOfMoney } from "#contract/price-money.ts";
import { type PriceUnit, TOKENS_OF_UNIT } from "#contract/price-unit.ts";

/** How a form shows prices. */
export type PriceMode = Currency | "ratio";
export type PriceField = keyof PriceRatios;
export type PriceTexts = Readonly<Record<PriceField, string>>;

/** Fields in their order, with what their ratio multiplies besides the model's. */
const BASES: Readonly<Record<PriceField, readonly PriceField[]>> = {
  model_ratio: [],
  completion_ratio: ["model_ratio"],
  cache_ratio: ["model_ratio"],
  cache_write_ratio: ["model_ratio"],
  audio_ratio: ["model_ratio"],
  audio_completion_ratio: ["model_ratio", "audio_ratio"],
  image_ratio: ["model_ratio"],
  image_completion_ratio: ["model_ratio", "image_ratio"],
};
// The keys of the table are exactly PriceField, and those that others multiply come first.
export const PRICE_FIELDS = Object.keys(BASES) as PriceField[];
export const TIER_FIELDS = ["model_ratio", "completion_ratio", "cache_ratio", "cache_write_ratio"] as const;

export interface PriceScale {
  readonly unit: PriceUnit;
  readonly quotaPerUnit: number;
}

function scaleOf({ unit, quotaPerUnit }: PriceScale, currency: Currency): MoneyScale {
  return { tokens: TOKENS_OF_UNIT[unit], quotaPerUnit, currency };
}

export const NO_PRICE: PriceTexts = {
  model_ratio: "",
  completion_ratio: "",
  cache_ratio: "",
  cache_write_ratio: "",
  audio_ratio: "",
  audio_completion_ratio: "",
  image_ratio: "",
  image_completion_ratio: "",
};

/** The ratios that a field's ratio multiplies; sound and pictures without a price of their own cost what text does. */
function basesOf(field: PriceField, ratios: PriceRatios): string[] {
  return BASES[field].map((base) => ratios[base] || (base === "model_ratio" ? "" : "1"));
}

/** One field as it is shown; "" = it has no price of its own. */
function shownOf(field: PriceField, ratios: PriceRatios, mode: PriceMode, scale: PriceScale): string {
  const ratio = ratios[field];
  if (ratio === "" || mode === "ratio") return ratio;
  return moneyOfRatios([...basesOf(field, ratios), ratio], scaleOf(scale, mode));
}

/** Ratios as the form shows them. */
export function textsOf(ratios: PriceRatios, mode: PriceMode, scale: PriceScale): PriceTexts {
  const shown = (field: PriceField) => shownOf(field, ratios, mode, scale);
  // Every field is among them.
  return Object.fromEntries(PRICE_FIELDS.map((field) => [field, shown(field)])) as PriceTexts;
}

/** What is wrong with a field, in words. */
export interface PriceFault {
  readonly field: PriceField;
  readonly message: string;
}

/**
 * The ratios of what the form shows, or the first field that no ratio makes. `known` = the ratios that were shown: a field that says what
 * they say keeps its ratio.
 */
export function ratiosOf(
  texts: PriceTexts,
  mode: PriceMode,
  { known, ...scale }: PriceScale & { readonly known: PriceRatios },
): PriceRatios | PriceFault {
  const shown = textsOf(known, mode, scale);
  const ratios: Record<PriceField, string> = { ...NO_PRICE };
  for (const field of PRICE_FIELDS) {
    const text = texts[field].trim();
    if (text === "") continue;
    const isUntouched = text === shown[field] && BASES[field].every((base) => ratios[base] === known[base]);
    const ratio = isUntouched ? known[field] : ratioOf({ field, text, ratios }, mode, scale);
    if (ratio === undefined) return { field, message: faultOf(text, mode) };
    ratios[field] = ratio;
  }
  return ratios;
}

function ratioOf(
  { field, text, ratios }: { field: PriceField; text: string; ratios: PriceRatios },
  mode: PriceMode,
  scale: PriceScale,
): string | undefined {
  if (mode === "ratio") return /^\d{1,9}(\.\d{1,12})?$/.test(text) ? text : undefined;
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) return undefined;
  return ratioOfMoney(text, basesOf(field, ratios), scaleOf(scale, mode));
}

function faultOf(text: string, mode: PriceMode): string {
  if (mode === "ratio")
    return /^\d{1,9}(\.\d{1,12})?$/.test(text) ? "请先填写输入的倍率" : "须为最多十二位小数的非负数";
  return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? "输入免费时，其他价格也只能为 0" : "须为最多六位小数的非负金额";
}

/** What a field costs that is left empty, in the form's own unit; "" = as something that has no number. */
export function ruleText(field: PriceField, texts: PriceTexts, mode: PriceMode, rules: PriceRatios): string {
  const rule = rules[field];
  if (rule === "" || field === "model_ratio") return "";
  if (mode === "ratio") return rule;
  const input = Number(texts.model_ratio);
  return texts.model_ratio.trim() === "" || !Number.isFinite(input)
    ? ""
    : String(Number((input * Number(rule)).toFixed(6)));
}

/** A tier as the form holds it. */
export type TierTexts = Readonly<Record<(typeof TIER_FIELDS)[number], string>> & {
  readonly above: number | null;
};

/** A tier's own ratios, the others as none: those of sound and pictures are the model's. */
export function tierRatios(tier: Omit<TierPrice, "above">): PriceRatios {
  return { ...NO_PRICE, ...tier };
}

export function tierTexts(tier: TierPrice, mode: PriceMode, scale: PriceScale): TierTexts {
  const { model_ratio, completion_ratio, cache_ratio, cache_write_ratio } = textsOf(
    tierRatios(tier),
    mode,
    scale,
  );
  return { above: tier.above, model_ratio, completion_ratio, cache_ratio, cache_write_ratio };
}

/** What a form edits of a row. */
export interface EditedPrice {
  readonly ratios: PriceRatios;
  /** Tiers with prices of their own. */
  readonly tiers: readonly TierPrice[];
}

export function editedOf({ ratios, tiers }: ModelPriceRow): EditedPrice {
  return { ratios, tiers: tiers.filter(({ own }) => own).map(({ own: _own, ...tier }) => tier) };
}
