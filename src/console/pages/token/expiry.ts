// When a token runs out: presets of the form and how the list says it. Pure.
import { relativeTime } from "#console/base/format.ts";
import type { Tone } from "#console/ui/status-tag.tsx";

/** Seconds since 1970 on the wire; -1 = never. */
export const NEVER = -1;

/** Presets of the form (requirements B5), in seconds from now. */
export const EXPIRY_PRESETS = [
  { label: "永不过期", seconds: NEVER },
  { label: "一个月后过期", seconds: 30 * 86_400 },
  { label: "一天后过期", seconds: 86_400 },
  { label: "一小时后过期", seconds: 3_600 },
  { label: "一分钟后过期", seconds: 60 },
] as const;

const SOON_SEC = 3 * 86_400;

export interface ExpiryWords {
  readonly text: string;
  readonly tone: Tone;
}

/** The expiry in relative words, which stand beside its date; a warning tone from three days before. */
export function expiryWords(expiredTime: number, nowSec: number): ExpiryWords {
  if (expiredTime === NEVER) return { text: "永不过期", tone: "idle" };
  if (expiredTime <= nowSec) return { text: `${relativeTime(expiredTime, nowSec)}已过期`, tone: "bad" };
  const text = `${relativeTime(expiredTime, nowSec)}过期`;
  return { text, tone: expiredTime - nowSec <= SOON_SEC ? "warn" : "idle" };
}
