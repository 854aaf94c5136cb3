// What a channel, or one of its keys, may be used for at most, and how long its calls may take (requirements C39, C41).
import { z } from "zod";

/** 0 = no limit: calls and LLM tokens per minute, calls at once, quota a day by the calendar of BudgetTimeZone. */
export const CHANNEL_LIMITS = ["rpm", "tpm", "running", "day_quota"] as const;
export type ChannelLimitName = (typeof CHANNEL_LIMITS)[number];

const Most = z.int().min(0, "限额不能为负数").max(1_000_000_000, "限额过大");

export const ChannelLimits = z.object({
  rpm: Most,
  tpm: Most,
  /** Each is looked for when a call comes. */
  running: Most.max(10_000, "并发数最多 10000"),
  day_quota: z.int().min(0, "限额不能为负数").max(Number.MAX_SAFE_INTEGER, "限额过大"),
});
export type ChannelLimits = z.output<typeof ChannelLimits>;

/** The limits that are named; the others stay. */
export type ChannelLimitsChange = { readonly [Name in ChannelLimitName]?: number | undefined };

export const NO_CHANNEL_LIMITS: ChannelLimits = { rpm: 0, tpm: 0, running: 0, day_quota: 0 };

/** As the console names them. */
export const CHANNEL_LIMIT_LABELS: Readonly<Record<ChannelLimitName, string>> = {
  rpm: "每分钟请求数",
  tpm: "每分钟 Token 数",
  running: "并发请求数",
  day_quota: "每日额度",
};

/** 0 = the default; of a key, the channel's. Unit: ms. */
export const CHANNEL_TIMES = ["connect_ms", "first_byte_ms", "idle_ms", "total_ms"] as const;

/** Shorter ones end calls that would have succeeded; longer ones no client waits for. */
const ChannelTime = z
  .int("时限须为整数毫秒")
  .max(3_600_000, "时限最长 1 小时")
  .refine((ms) => ms === 0 || ms >= 100, "时限至少 100 毫秒，0 表示默认值");

/** As a change names them; the others stay. */
export const ChannelTimes = z.object({
  connect_ms: ChannelTime.optional(),
  first_byte_ms: ChannelTime.optional(),
  idle_ms: ChannelTime.optional(),
  total_ms: ChannelTime.optional(),
});

/** As answers tell them. */
export const StoredTimes = z.object({
  connect_ms: z.int().default(0),
  first_byte_ms: z.int().default(0),
  idle_ms: z.int().default(0),
  total_ms: z.int().default(0),
});
export type StoredTimes = z.output<typeof StoredTimes>;

export const NO_TIMES: StoredTimes = { connect_ms: 0, first_byte_ms: 0, idle_ms: 0, total_ms: 0 };
