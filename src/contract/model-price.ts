// Models and their prices as operators keep them: a row for each model, its list price in money and as ratios, where it comes from and
// who offers it. List prices are those of a group with ratio 1.
import { z } from "zod";
import { ABILITIES, ModelMoney } from "./catalogue.ts";
import { endpoint } from "./endpoint.ts";
import { PRICE_UNITS } from "./price-unit.ts";
import { ListBeside, ListQuery, query, rowsOf } from "./wire.ts";

/** Where a price comes from. */
export const PRICE_SOURCES = [
  /** A table that comes with the program. */
  "built_in",
  /** The operator's tables, written by hand. */
  "option",
  /** The operator's tables, as a published price list said. */
  "list",
  /** The price of another name: of the model it is mapped to, or without its suffix. */
  "name",
  /** The ratio that stands for models without a price. */
  "fallback",
  "none",
] as const;
export type PriceSource = (typeof PRICE_SOURCES)[number];

/** What a list of models is narrowed to; "" = all. */
export const PRICE_VIEWS = ["", "served", "unpriced", "changed", "ending", "unlisted"] as const;
export type PriceView = (typeof PRICE_VIEWS)[number];

/** A ratio as tables keep those that were typed in money: twelve decimals at most. "" = no row: the rule for the name holds. */
export const ExactRatio = z
  .string()
  .trim()
  .regex(/^(\d{1,9}(\.\d{1,12})?)?$/, "须为最多十二位小数的非负数");

const TierRatios = {
  model_ratio: ExactRatio,
  completion_ratio: ExactRatio,
  cache_ratio: ExactRatio,
  cache_write_ratio: ExactRatio,
};

export const PriceRatios = z.object({
  ...TierRatios,
  audio_ratio: ExactRatio,
  audio_completion_ratio: ExactRatio,
  image_ratio: ExactRatio,
  image_completion_ratio: ExactRatio,
});
export type PriceRatios = z.output<typeof PriceRatios>;

/** The price of the whole request when its input is longer than `above` LLM tokens. */
const TierPrice = z.object({ above: z.int().min(1).max(999_999_999_999_999), ...TierRatios });
export type TierPrice = z.output<typeof TierPrice>;

export const ModelPriceRow = z.object({
  /** Its place in the list. */
  id: z.int(),
  model: z.string(),
  maker: z.string(),
  ability: z.enum(ABILITIES),
  source: z.enum(PRICE_SOURCES),
  /** The name whose price it is, where that is another one. */
  price_of: z.string(),
  /** The version that wrote it; 0 = none. */
  version: z.int(),
  /** What its price counts. */
  unit: z.enum(PRICE_UNITS),
  /** The operator says so. */
  is_unit_own: z.boolean(),
  /** Sources of price lists that named it, and do so no more. */
  unlisted: z.array(z.string()),
  /** Dollars; null = it has no price. */
  money: ModelMoney.nullable().default(null),
  /** What the tables hold for its own name, built-in rows included. */
  ratios: PriceRatios,
  /** What holds where a table has no row for it. */
  rules: PriceRatios,
  /** In force; `own` = the operator's tables have rows for it, others follow the price of the model. */
  tiers: z.array(z.object({ ...TierPrice.shape, own: z.boolean() })),
  /** The operator's tables differ from the built-in ones. */
  is_changed: z.boolean(),
  is_built_in: z.boolean(),
  /** Channels that are not disabled by hand and offer it: how many, and the names of the first. */
  channels: z.int(),
  channel_names: z.array(z.string()),
  /** The last day it is served, `2026-12-31`; "" = not known. */
  last_day: z.string(),
  /** What a change of this row was made over; another one in between refuses it. */
  mark: z.string(),
});
export type ModelPriceRow = z.output<typeof ModelPriceRow>;

export const ModelPriceChange = z.object({
  model: z.string().trim().min(1, "请输入模型名称").max(200, "模型名称最多 200 个字符"),
  /** Of the row that was edited; "" = of a model without one. */
  mark: z.string().max(20_000),
  reason: z.string().trim().max(200, "原因最多 200 个字符").default(""),
  last_day: z
    .string()
    .regex(/^(\d{4}-\d{2}-\d{2})?$/, "日期须形如 2026-12-31")
    .default(""),
  /** What the price counts; absent = as it is, and as it is built in where `ratios` is null. */
  unit: z.enum(PRICE_UNITS).optional(),
  /** null = as it is built in, or none. */
  ratios: PriceRatios.nullable(),
  /** Those that do not follow the price of the model. */
  tiers: z.array(TierPrice).max(8, "最多 8 个阶梯").default([]),
});
export type ModelPriceChange = z.output<typeof ModelPriceChange>;

export const modelPriceApi = {
  list: endpoint({
    method: "GET",
    path: "/api/price/model",
    level: "admin",
    permission: "price.read",
    summary:
      "模型与价格：每个模型的价格、来源、渠道与停用日期；view 可为 served、unpriced、changed、ending、unlisted",
    query: ListQuery.extend({ keyword: query.text, maker: query.text, view: query.text }),
    data: rowsOf(ModelPriceRow),
    beside: ListBeside.extend({ unpriced: z.int(), makers: z.array(z.string()) }),
  }),
  find: endpoint({
    method: "GET",
    path: "/api/price/model/one",
    level: "admin",
    permission: "price.read",
    summary: "一个模型的价格",
    query: z.object({ model: query.text }),
    data: ModelPriceRow,
  }),
  save: endpoint({
    method: "PUT",
    path: "/api/price/model",
    level: "admin",
    permission: "option.write",
    stepUp: "guarded",
    summary: "修改一个模型的价格与计费方式（作为一个价格版本）与停用日期；ratios 为 null 表示恢复内置价格",
    body: ModelPriceChange,
    data: ModelPriceRow,
  }),
};
