// Reports for the dashboard (总览): consumption by day, hour and model, the users, tokens and channels that spend most, how calls
// went. Our addition.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Quota } from "./wire.ts";

/** Query text ⇄ whole number within bounds; anything else counts as `fallback`. */
function within(least: number, most: number, fallback: number) {
  return z.codec(z.string().optional(), z.int(), {
    decode: (text) => {
      const value = Number(text ?? "");
      return text !== undefined && text !== "" && Number.isInteger(value) && value >= least && value <= most
        ? value
        : fallback;
    },
    encode: (value) => String(value),
  });
}

export const UsageQuery = z.object({
  /** Days of the report, the one in progress included: 1–90. */
  days: within(1, 90, 7),
  /** Where a day begins: minutes east of UTC, modulo a day. 480 = Asia/Shanghai. */
  offset: within(0, 1439, 0),
});

const sums = {
  quota: Quota,
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  requests: z.int(),
};
/** Models that a report names; the others are one. */
export const NAMED_MODELS = 8;

/** What calls came to. */
export const UsageSums = z.object(sums);
export type UsageSums = z.output<typeof UsageSums>;

/** How calls went. Failed ones cost nothing and are not in the sums above. */
const outcomes = {
  calls: z.int(),
  failures: z.int(),
  /** Mean time to the first byte of streamed answers, milliseconds; 0 = none was streamed. */
  first_byte_ms: z.int(),
};

export const UsageReport = z.object({
  /** Start of the first day, seconds. */
  start: z.int(),
  days: z.int(),
  /** The time of the same length that ended so many days ago, for comparison. */
  previous: UsageSums,
  /**
   * By day and model; days and models without calls are left out. `day` is its start, seconds. Models beyond the
   * first `NAMED_MODELS` by what was spent are summed as "".
   */
  daily: z.array(z.object({ day: z.int(), model_name: z.string(), ...sums })),
  /** By hour of the week; `hour` 0 is Monday, 0 to 1 o'clock, where the reader's day begins. */
  weekly: z.array(z.object({ hour: z.int(), requests: z.int(), quota: Quota })),
  /** By day. */
  outcomes: z.array(z.object({ day: z.int(), ...outcomes })),
});
export type UsageReport = z.output<typeof UsageReport>;

const RankedToken = z.object({ token_name: z.string(), ...sums });
const RankedUser = z.object({ user_id: z.int(), username: z.string(), ...sums });
const RankedChannel = z.object({ channel_id: z.int(), name: z.string(), ...sums, ...outcomes });
export type RankedChannel = z.output<typeof RankedChannel>;

/** The ten that spent most come first in each list. */
export const OwnUsage = UsageReport.extend({ tokens: z.array(RankedToken) });
export type OwnUsage = z.output<typeof OwnUsage>;
export const SiteUsage = UsageReport.extend({
  users: z.array(RankedUser),
  /** Calls and failures count tries at this channel: a call that was retried elsewhere failed here. */
  channels: z.array(RankedChannel),
});
export type SiteUsage = z.output<typeof SiteUsage>;

export const usageApi = {
  own: endpoint({
    method: "GET",
    path: "/api/user/usage",
    level: "user",
    summary: "我的用量报表：按日、小时与模型的消费，令牌排行，失败率与首字时间",
    query: UsageQuery,
    data: OwnUsage,
  }),
  site: endpoint({
    method: "GET",
    path: "/api/usage",
    level: "admin",
    permission: "usage.read",
    summary: "全站用量报表：按日、小时与模型的消费，用户与渠道排行，失败率与首字时间",
    query: UsageQuery,
    data: SiteUsage,
  }),
};
