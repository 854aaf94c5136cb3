// The public catalogue (模型广场): which models a group may call, and what they cost it in money.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { PRICE_UNITS } from "./price-unit.ts";
import { query, rowsOf } from "./wire.ts";

/** What a model is for, in the order in which a page offers them. */
export const ABILITIES = [
  "chat",
  "image",
  "speech",
  "transcription",
  "realtime",
  "embedding",
  "rerank",
  "moderation",
] as const;
export type Ability = (typeof ABILITIES)[number];

/** Dollars as decimal text, exact to six decimals; "" = this kind has no price of its own and costs what is before it. */
const Dollars = z.string();

/** Of a million LLM tokens or characters, of one picture or call, of a minute of sound, or of a second of video. */
export const MoneyPrice = z.object({
  input: Dollars,
  output: Dollars,
  cache_read: Dollars,
  cache_write: Dollars,
});
export type MoneyPrice = z.output<typeof MoneyPrice>;

/** Kinds of token that some models price apart. */
export const OTHER_KINDS = ["audio", "image", "audio_output", "image_output"] as const;
export type OtherKind = (typeof OTHER_KINDS)[number];

export const ModelMoney = z.object({
  unit: z.enum(PRICE_UNITS),
  ...MoneyPrice.shape,
  others: z.array(z.object({ kind: z.enum(OTHER_KINDS), price: Dollars })),
  /** Of the whole request when its input is longer than so many LLM tokens. */
  tiers: z.array(z.object({ above: z.int(), ...MoneyPrice.shape })),
});
export type ModelMoney = z.output<typeof ModelMoney>;

export const CatalogueModel = z.object({
  model: z.string(),
  maker: z.string(),
  ability: z.enum(ABILITIES),
  ...ModelMoney.shape,
  /** The last day it is served, `2026-12-31`; "" = not known. */
  last_day: z.string(),
});
export type CatalogueModel = z.output<typeof CatalogueModel>;

export const Catalogue = z.object({
  /** Whose prices these are. */
  group: z.string(),
  /** Groups whose prices may be looked at. */
  groups: z.array(z.object({ name: z.string(), text: z.string() })),
  models: rowsOf(CatalogueModel),
});
export type Catalogue = z.output<typeof Catalogue>;

export const catalogueApi = {
  list: endpoint({
    method: "GET",
    path: "/api/catalogue",
    level: "public",
    identifies: true,
    summary: "模型广场：分组可用的模型与价格（美元）；访客看到 default 分组的",
    query: z.object({ group: query.text }),
    data: Catalogue,
  }),
};
