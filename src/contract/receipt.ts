// The receipt of one call (账单小票): what was counted, at which ratios, what it cost and why. Only its own user's (requirements Y63).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { TOKEN_KINDS } from "./token-kinds.ts";
import { Quota } from "./wire.ts";

/** Why a call cost what it cost; docs/billing.md says what each means. */
export const receiptReasons = [
  "complete",
  "estimated",
  "impossible",
  "disconnected",
  "ended",
  "interrupted",
  "failed",
  "open",
  "unlogged",
] as const;
export type ReceiptReason = (typeof receiptReasons)[number];

export const Receipt = z.object({
  request_id: z.string(),
  created_at: z.int(),
  model_name: z.string(),
  token_name: z.string(),
  /** The group that answered, where the token names its groups; "" = that of its user. */
  group: z.string().default(""),
  reason: z.enum(receiptReasons),
  /** Charged; 0 for a failed call and for one that runs. */
  quota: Quota,
  /** Part of `quota` that plans paid; the wallet paid the rest. */
  plan_quota: Quota.default(0),
  /** Part of the price that could not be collected. */
  shortfall: Quota,
  /** Set aside while the call runs. */
  reserved: Quota,
  prompt_tokens: z.int(),
  /** Part of `prompt_tokens`. */
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  /** The kinds it had beside plain ones: parts of the prompt or of the completion; `cache_write_hour` is part of `cache_write`. */
  token_kinds: z.array(z.object({ kind: z.enum(TOKEN_KINDS), tokens: z.int() })).default([]),
  /** The version of the prices it was reserved by, whatever was published while it ran; 0 = none was published by then, or it is not known. */
  price_version: z.int().default(0),
  estimated: z.boolean(),
  is_stream: z.boolean(),
  /** Milliseconds; 0 = unknown. */
  elapsed_time: z.int(),
  first_byte_time: z.int(),
  /** The ratios that were in force, as the charge was computed; empty where no entry of the log is left. */
  ratios: z.array(z.object({ name: z.string(), value: z.string() })),
  /** The computation, or what the caller of a failed call was told; "" = not kept. */
  formula: z.string(),
});
export type Receipt = z.output<typeof Receipt>;

export const receiptApi = {
  get: endpoint({
    method: "GET",
    path: "/api/log/receipt/:request_id",
    level: "user",
    summary: "账单小票：按响应头 X-Oneapi-Request-Id 查看我的一次调用",
    params: z.object({ request_id: z.string().regex(/^[\w-]{1,64}$/, "请求 ID 有误") }),
    data: Receipt,
  }),
};
