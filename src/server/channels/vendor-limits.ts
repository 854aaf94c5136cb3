// What vendors say in the headers of their answers of how much more may be called: it lowers what a channel's own limits leave, and never raises
// it (requirements C39). Kept by each process for the calls that it makes itself.
import type { ReplyHeaders } from "#server/egress/send.ts";

/** Requests a minute, and LLM tokens a minute. */
export type VendorLimit = "rpm" | "tpm";

/** What a vendor says of one limit. */
export interface Told {
  readonly limit: number;
  readonly remaining: number;
  /** Until all of the limit is there again. Unit: ms. */
  readonly resetMs: number;
}

/** OpenAI's names (platform.openai.com, rate limits, 2026-11) and Anthropic's (docs.anthropic.com, rate limits, 2026-11), by limit and part. */
const HEADERS = {
  rpm: [
    (part: string) => `x-ratelimit-${part}-requests`,
    (part: string) => `anthropic-ratelimit-requests-${part}`,
  ],
  tpm: [
    (part: string) => `x-ratelimit-${part}-tokens`,
    (part: string) => `anthropic-ratelimit-tokens-${part}`,
  ],
} as const;

const NAMES = (["rpm", "tpm"] as const).flatMap((name) =>
  HEADERS[name].map((nameOf) => ({
    name,
    limit: nameOf("limit"),
    remaining: nameOf("remaining"),
    reset: nameOf("reset"),
  })),
);

/** Longer than this is no limit of a minute: a vendor's day, or nonsense. */
const LONGEST_MS = 600_000;
const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** The limits that an answer tells whole: how many there are, how many are left, and until when. */
export function toldIn(headers: ReplyHeaders, nowMs: number): readonly (Told & { name: VendorLimit })[] {
  return NAMES.flatMap(({ name, limit: ofLimit, remaining: ofRemaining, reset }) => {
    const limit = countOf(headers[ofLimit]);
    const remaining = countOf(headers[ofRemaining]);
    const resetMs = spanOf(headers[reset], nowMs);
    if (limit === undefined || remaining === undefined || resetMs === undefined) return [];
    return remaining < limit && resetMs > 0 && resetMs <= LONGEST_MS
      ? [{ name, limit, remaining, resetMs }]
      : [];
  });
}

function countOf(header: ReplyHeaders[string]): number | undefined {
  return typeof header === "string" && /^\d{1,12}$/.test(header) ? Number(header) : undefined;
}

/** `6m0s`, `120ms`, seconds as a number, or a moment of RFC 3339. Unit of the result: ms. */
function spanOf(header: ReplyHeaders[string], nowMs: number): number | undefined {
  if (typeof header !== "string" || header.length > 40) return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1_000;
  if (/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(header)) {
    const parts = [...header.matchAll(/([\d.]+)(h|ms|m|s)/g)];
    return parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS_MS[unit ?? ""] ?? 0), 0);
  }
  const at = /^\d{4}-\d\d-\d\dT/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : at - nowMs;
}

/** One limit as a vendor told it last, and what was called since. What is missing comes back evenly until the vendor's moment. */
interface Known extends Told {
  readonly atMs: number;
  taken: number;
}

/** Limits at once; vendors tell of them with every answer. */
const MOST_KNOWN = 20_000;

/** By the ids of our own limits. */
export class VendorLimits {
  readonly #known = new Map<number, Known>();

  /** The newest word counts. */
  tell(id: number, told: Told, nowMs: number): void {
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(id, { ...told, atMs: nowMs, taken: 0 });
  }

  /** Takes so much of it. Returns when there may be as much, ms since 1970; undefined = it is taken, or nothing is known of it. */
  take(id: number, amount: number, nowMs: number): number | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    const { atMs, limit, remaining, resetMs, taken } = known;
    if (nowMs >= atMs + resetMs) {
      this.#known.delete(id);
      return undefined;
    }
    const missing = amount + taken - remaining;
    const perMs = (limit - remaining) / resetMs;
    const readyMs = atMs + Math.min(resetMs, Math.ceil(missing / perMs));
    if (readyMs > nowMs) return readyMs;
    known.taken += amount;
    return undefined;
  }

  /** Nothing was sent after all. */
  undo(id: number, amount: number): void {
    const known = this.#known.get(id);
    if (known !== undefined) known.taken = Math.max(0, known.taken - amount);
  }
}
