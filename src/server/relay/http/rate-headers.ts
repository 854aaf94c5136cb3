// The headers by which SDKs know how much of a rate is left: OpenAI's names, or Anthropic's for its format. Of several limits the tightest
// counts. Pure.
import type { LimitKind } from "#contract/limit-words.ts";

/** How much of a limit per minute is left. */
export interface Rate {
  readonly kind: LimitKind;
  readonly limit: number;
  readonly remaining: number;
  /** Until all of it is there again. */
  readonly resetMs: number;
}

const NAMES: Readonly<Partial<Record<LimitKind, string>>> = {
  rpm: "requests",
  tpm: "tokens",
  input_tpm: "input-tokens",
  output_tpm: "output-tokens",
};

/** Names and values in turn. */
export function rateHeaders(rates: readonly Rate[], isAnthropic: boolean, nowMs: number): string[] {
  const head: string[] = [];
  for (const [name, rate] of tightest(rates, isAnthropic)) {
    const { limit, remaining, resetMs } = rate;
    if (isAnthropic) {
      const stem = `anthropic-ratelimit-${name}`;
      const reset = `${new Date(nowMs + resetMs).toISOString().slice(0, 19)}Z`;
      head.push(
        `${stem}-limit`,
        String(limit),
        `${stem}-remaining`,
        String(remaining),
        `${stem}-reset`,
        reset,
      );
    } else {
      const pairs = { limit: String(limit), remaining: String(remaining), reset: durationText(resetMs) };
      for (const [part, value] of Object.entries(pairs)) head.push(`x-ratelimit-${part}-${name}`, value);
    }
  }
  return head;
}

/** OpenAI knows one kind of tokens. */
function tightest(rates: readonly Rate[], isAnthropic: boolean): Map<string, Rate> {
  const found = new Map<string, Rate>();
  for (const rate of rates) {
    const own = NAMES[rate.kind] ?? "requests";
    const name = isAnthropic || own === "requests" ? own : "tokens";
    const other = found.get(name);
    if (other === undefined || rate.remaining < other.remaining) found.set(name, rate);
  }
  return found;
}

/** `12ms`, `1s`, `6m0s`, as Go prints it. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
