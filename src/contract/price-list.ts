// Prices from published lists: a draft compares a list with ours, publishing writes what an administrator chose as one version, and a
// version can be taken back. Ratios are decimal texts: 1 = $2 per million tokens of input.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { IdParams, query, rowsOf } from "./wire.ts";

/** The shapes in which prices are published (vendors/price-lists). */
export const PRICE_FORMATS = ["models.dev", "litellm", "openrouter", "new-api", "new-api-ratio"] as const;
export type PriceFormat = (typeof PRICE_FORMATS)[number];

/** What a price may be suspected of. `refused` rows cannot be published, the others need a choice of their own. */
export const PRICE_FLAGS = [
  "unreadable",
  "too_dear",
  "unit",
  "per_call",
  "twice",
  "rise",
  "fall",
  "from_free",
  "output_cheap",
  "cache_dear",
] as const;
export type PriceFlag = (typeof PRICE_FLAGS)[number];

const RatioText = z.string().regex(/^\d{1,9}(\.\d{1,6})?$/, "倍率须为最多六位小数的非负数");

/** "" = the model has no row of its own in that table: the rule for its name holds. */
export const ModelPrice = z.object({
  model_ratio: RatioText,
  completion_ratio: RatioText.or(z.literal("")),
  cache_ratio: RatioText.or(z.literal("")),
  cache_write_ratio: RatioText.or(z.literal("")),
});
export type ModelPrice = z.output<typeof ModelPrice>;

export const PriceDraftRow = z.object({
  model: z.string(),
  /** null = we have no price for it. */
  old: ModelPrice.nullable().default(null),
  /** null = what stands in the list is no price that can be used. */
  fresh: ModelPrice.nullable().default(null),
  /** Of the input price, in percent with its sign; null = there is nothing to compare. */
  change: z.number().nullable().default(null),
  flags: z.array(z.enum(PRICE_FLAGS)),
  verdict: z.enum(["same", "fine", "doubtful", "refused"]),
  /** Of the last 30 days. */
  calls: z.int(),
  /** Quota units of the last 7 days, and what they would have been by the new price. */
  quota_before: z.int(),
  quota_after: z.int(),
});
export type PriceDraftRow = z.output<typeof PriceDraftRow>;

export const PriceDraft = z.object({
  format: z.enum(PRICE_FORMATS),
  rows: z.array(PriceDraftRow),
  /** How many models the list names. */
  listed: z.int(),
  /** Why no row of the list should be taken without looking at it whole; "" = nothing. */
  warning: z.string(),
  /** The version that prices were compared with; publishing another one in between refuses this draft. */
  base: z.int(),
});
export type PriceDraft = z.output<typeof PriceDraft>;

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

const reason = z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符");

const PriceListSource = z.object({
  format: z.enum(PRICE_FORMATS).or(z.literal("")).default(""),
  /** Of the list; "" = `text` holds it. */
  address: z.string().trim().max(500, "地址最多 500 个字符").default(""),
  text: z
    .string()
    .max(20 * 1024 * 1024, "价目表最大 20 MiB")
    .default(""),
});

export const PricePublication = z.object({
  base: z.int(),
  /** As the draft said. */
  listed: z.int().min(0),
  source: z.string().trim().max(200, "来源最多 200 个字符"),
  reason,
  rows: z
    .array(z.object({ model: z.string().min(1).max(200), ...ModelPrice.shape }))
    .min(1, "请选择要发布的模型")
    .max(5_000, "一次最多发布 5000 个模型"),
});
export type PricePublication = z.output<typeof PricePublication>;

export const priceListApi = {
  draft: endpoint({
    method: "POST",
    path: "/api/price/draft",
    level: "root",
    permission: "price.write",
    summary: "把公开价目表（地址或文本）与当前价格比较，不修改任何价格",
    body: PriceListSource,
    data: PriceDraft,
  }),
  publish: endpoint({
    method: "POST",
    path: "/api/price/publish",
    level: "root",
    permission: "price.write",
    stepUp: "guarded",
    summary: "把选定的价格作为一个版本发布；期间有别的版本发布时拒绝",
    body: PricePublication,
    data: PriceVersion,
  }),
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
    body: z.object({ reason }),
    data: PriceVersion,
  }),
};
