// Limits and times as a form holds them ⇄ as the contract wants them. Pure.
import type { ChannelLimits, StoredTimes } from "#contract/channel-limits.ts";

/** null = no limit. */
export interface LimitValues {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly running: number | null;
  readonly day_quota: number | null;
}

/** Seconds; null = the default, of a key the channel's. */
export interface TimeValues {
  readonly connect_s: number | null;
  readonly first_byte_s: number | null;
  readonly idle_s: number | null;
  readonly total_s: number | null;
}

const orNull = (amount: number) => (amount === 0 ? null : amount);
const seconds = (ms: number) => orNull(ms / 1_000);
const milliseconds = (typed: number | null) => Math.round((typed ?? 0) * 1_000);

export function limitValues({ rpm, tpm, running, day_quota }: ChannelLimits): LimitValues {
  return {
    rpm: orNull(rpm),
    tpm: orNull(tpm),
    running: orNull(running),
    day_quota: orNull(day_quota),
  };
}

export function limitsOf({ rpm, tpm, running, day_quota }: LimitValues): ChannelLimits {
  return { rpm: rpm ?? 0, tpm: tpm ?? 0, running: running ?? 0, day_quota: day_quota ?? 0 };
}

export function timeValues({ connect_ms, first_byte_ms, idle_ms, total_ms }: StoredTimes): TimeValues {
  return {
    connect_s: seconds(connect_ms),
    first_byte_s: seconds(first_byte_ms),
    idle_s: seconds(idle_ms),
    total_s: seconds(total_ms),
  };
}

export function timesOf({ connect_s, first_byte_s, idle_s, total_s }: TimeValues): StoredTimes {
  return {
    connect_ms: milliseconds(connect_s),
    first_byte_ms: milliseconds(first_byte_s),
    idle_ms: milliseconds(idle_s),
    total_ms: milliseconds(total_s),
  };
}
