// Published price lists: their shapes, what a price of a list may be suspected of, and the versions that were published. Ratios are decimal
// texts: 1 = $2 per million tokens of input.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { IdParams, query, rowsOf } from "./wire.ts";

/** The shapes in which prices are published (vendors/price-lists). */
export const PRICE_FORMATS = ["models.dev", "litellm", "openrouter", "new-api", "new-api-ratio"] as const;
export type PriceFormat = (typeof PRICE_FORMATS)[number];

const REFUSING = ["unreadable", "too_dear", "unit", "per_call", "kind", "twice"] as const;

/** What a price may be suspected of: those of `REFUSING_FLAGS` are never published from a list, `TELLING_FLAGS` are told and nothing more. */
export const PRICE_FLAGS = [
  ...REFUSING,
  "rise",
  "fall",
  "from_free",
  "output_cheap",
  "cache_dear",
  "tiers",
  "outranked",
  "ended",
  "deprecated",
] as const;
export type PriceFlag = (typeof PRICE_FLAGS)[number];

export const REFUSING_FLAGS: ReadonlySet<PriceFlag> = new Set(REFUSING);
export const TELLING_FLAGS: ReadonlySet<PriceFlag> = new Set(["deprecated"]);

const RatioText = z.string().regex(/^\d{1,9}(\.\d{1,6})?$/, "倍率须为最多六位小数的非负数");
const MaybeRatio = RatioText.or(z.literal(""));

/** Prices of the whole request when its input is longer than `above` LLM tokens. */
const ListTier = z.object({
  above: z.int().min(1),
  model_ratio: RatioText,
  completion_ratio: RatioText,
  cache_ratio: RatioText,
  cache_write_ratio: RatioText,
});
export type ListTier = z.output<typeof ListTier>;

/** "" = the model has no row of its own in that table: the rule for its name holds. */
export const ModelPrice = z.object({
  model_ratio: RatioText,
  completion_ratio: MaybeRatio,
  cache_ratio: MaybeRatio,
  cache_write_ratio: MaybeRatio,
  audio_ratio: MaybeRatio,
  audio_completion_ratio: MaybeRatio,
  image_ratio: MaybeRatio,
  image_completion_ratio: MaybeRatio,
  /** In force, the shortest first. */
  tiers: z.array(ListTier),
  /** `2026-12-31`; "" = not known. */
  last_day: z.string(),
});
export type ModelPrice = z.output<typeof ModelPrice>;

export const PriceVersion = z.object({
  id: z.int(),
  created_at: z.int(),
  user_id: z.int(),
  username: z.string(),
  reason: z.string(),
  source: z.string(),
  models: z.int(),
  /** The version that this one takes back; 0 = none. */
  undoes: z.int(),
  /** Only the newest version can be taken back, and not one that takes back. */
  can_undo: z.boolean(),
});
export type PriceVersion = z.output<typeof PriceVersion>;

export const PriceReason = z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符");

export const priceListApi = {
  versions: endpoint({
    method: "GET",
    path: "/api/price/version",
    level: "admin",
    permission: "price.read",
    summary: "最近发布的价格版本，新的在前",
    query: z.object({ before: query.count }),
    data: rowsOf(PriceVersion),
  }),
  undo: endpoint({
    method: "POST",
    path: "/api/price/version/:id/undo",
    level: "root",
    permission: "price.write",
    stepUp: "guarded",
    summary: "撤销最新的价格版本：价格回到发布之前",
    params: IdParams,
    body: z.object({ reason: PriceReason }),
    data: PriceVersion,
  }),
};
