// Drafts: a price list compared with ours and kept; what of it is chosen, approved by a super administrator, published as one version.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { ModelPrice, PRICE_FLAGS, PRICE_FORMATS, PriceReason, PriceVersion } from "./price-list.ts";
import { PRICE_UNITS } from "./price-unit.ts";
import { IdParams, Nothing, rowsOf } from "./wire.ts";

/** A list and the file that holds it are no longer. Unit: bytes. */
export const MOST_LIST_BYTES = 20 * 1024 * 1024;
/** As a text in JSON its quotes and line ends count twice. */
const MOST_BODY_BYTES = 2 * MOST_LIST_BYTES;

/** What is to become of a row; `confirmed` = a person looked at this very row, which is in doubt. */
const PRICE_CHOICES = ["chosen", "confirmed"] as const;
const PriceChoices = z.record(z.string().min(1).max(200), z.enum(PRICE_CHOICES));
export type PriceChoices = z.output<typeof PriceChoices>;

export const PriceDraftRow = z.object({
  model: z.string(),
  /** Its name in the list, where the table of names says another one; "" = the same. */
  listed_as: z.string(),
  /** What the list's price counts. */
  unit: z.enum(PRICE_UNITS),
  /** null = we have no price for it. */
  old: ModelPrice.nullable().default(null),
  /** null = what stands in the list is no price that can be used. */
  fresh: ModelPrice.nullable().default(null),
  /** Of the price that changes most, in percent with its sign; null = there is nothing to compare. */
  change: z.number().nullable().default(null),
  flags: z.array(z.enum(PRICE_FLAGS)),
  /** `gone` = the list named it before, and does so no more. */
  verdict: z.enum(["same", "fine", "doubtful", "refused", "gone"]),
  /** Of the last 30 days. */
  calls: z.int(),
  /** Quota units of the last 7 days, and what they would have been by the new price. */
  quota_before: z.int(),
  quota_after: z.int(),
  /** `quota_after` was worked out from some of the calls, or from sums: tiers and caches may be off. */
  is_estimate: z.boolean().default(false),
});
export type PriceDraftRow = z.output<typeof PriceDraftRow>;

/** `shrunk` = the list names fewer models than before, `changed` = too many of them have another price. */
const DRAFT_WARNINGS = ["", "shrunk", "changed"] as const;
export type DraftWarning = (typeof DRAFT_WARNINGS)[number];

export const DRAFT_STATES = ["open", "approved", "published", "discarded"] as const;
export type DraftState = (typeof DRAFT_STATES)[number];

const PriceDraftHead = z.object({
  id: z.int(),
  /** Of each change of it: who acts on an older one is refused. */
  revision: z.int(),
  state: z.enum(DRAFT_STATES),
  created_at: z.int(),
  username: z.string(),
  format: z.enum(PRICE_FORMATS),
  /** The address of the list without its query, or the name of its file, or its format. */
  source: z.string(),
  /** Of the list's bytes: SHA-256 as hexadecimal digits. */
  hash: z.string(),
  /** How many models the list names. */
  listed: z.int(),
  /** How many of them differ from ours. */
  changed: z.int(),
  /** How many it named before; 0 = not known. */
  listed_before: z.int(),
  /** Why the whole draft is held until a person has looked at it as a whole; "" = nothing. */
  warning: z.enum(DRAFT_WARNINGS),
  /** Who approved or discarded it, when and why; "" and 0 = it waits. */
  decided_by: z.string(),
  decided_at: z.int(),
  reason: z.string(),
  /** The version that it was published as; 0 = none. */
  version: z.int(),
});
export type PriceDraftHead = z.output<typeof PriceDraftHead>;

export const PriceDraft = PriceDraftHead.extend({
  rows: z.array(PriceDraftRow),
  choices: PriceChoices,
});
export type PriceDraft = z.output<typeof PriceDraft>;

const PriceListSource = z.object({
  format: z.enum(PRICE_FORMATS).or(z.literal("")).default(""),
  /** Of the list; "" = `text` holds it. */
  address: z.string().trim().max(500, "地址最多 500 个字符").default(""),
  text: z.string().max(MOST_LIST_BYTES, "价目表最大 20 MiB").default(""),
  /** Of the file that `text` was read from; "" = it was pasted. */
  file: z.string().trim().max(200, "文件名最多 200 个字符").default(""),
});

const Revision = z.object({ revision: z.int() });

export const priceDraftApi = {
  create: endpoint({
    method: "POST",
    path: "/api/price/draft",
    level: "admin",
    permission: "price.draft",
    summary: "把公开价目表（地址或文本）与当前价格比较，存为草稿；除非开启了自动发布，不修改任何价格",
    body: PriceListSource,
    bodyBytes: MOST_BODY_BYTES,
    data: PriceDraft,
  }),
  list: endpoint({
    method: "GET",
    path: "/api/price/draft",
    level: "admin",
    permission: "price.read",
    summary: "价格草稿，新的在前，不含各行",
    data: rowsOf(PriceDraftHead),
  }),
  find: endpoint({
    method: "GET",
    path: "/api/price/draft/:id",
    level: "admin",
    permission: "price.read",
    summary: "一份价格草稿",
    params: IdParams,
    data: PriceDraft,
  }),
  choose: endpoint({
    method: "PUT",
    path: "/api/price/draft/:id",
    level: "admin",
    permission: "price.draft",
    summary: "保存草稿中选定的模型；需确认的行须逐行为 confirmed",
    params: IdParams,
    body: Revision.extend({ choices: PriceChoices }),
    data: PriceDraftHead,
  }),
  approve: endpoint({
    method: "POST",
    path: "/api/price/draft/:id/approve",
    level: "root",
    permission: "price.write",
    stepUp: "guarded",
    summary: "批准草稿中的全部、部分或不批准（choices 为空即放弃）；不修改任何价格",
    params: IdParams,
    body: Revision.extend({
      choices: PriceChoices,
      reason: PriceReason,
      /** A held draft was looked at as a whole. */
      is_checked: z.boolean().default(false),
    }),
    data: PriceDraftHead,
  }),
  publish: endpoint({
    method: "POST",
    path: "/api/price/draft/:id/publish",
    level: "root",
    permission: "price.write",
    stepUp: "guarded",
    summary: "把已批准的草稿作为一个版本发布；价格在比较之后被修改过的行会被拒绝",
    params: IdParams,
    body: Revision,
    data: PriceVersion,
  }),
  discard: endpoint({
    method: "POST",
    path: "/api/price/draft/:id/discard",
    level: "admin",
    permission: "price.draft",
    summary: "放弃一份尚未发布的草稿",
    params: IdParams,
    body: Revision,
    data: Nothing,
  }),
};
