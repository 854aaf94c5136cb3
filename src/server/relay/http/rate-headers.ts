// The headers by which SDKs know how much of a rate is left: OpenAI's names, or Anthropic's for its format. Of several limits the tightest
// counts. Pure.
import type { RateKind } from "#contract/limit-words.ts";

/** How much of a limit per minute is left. */
export interface Rate {
  readonly kind: RateKind;
  readonly limit: number;
  readonly remaining: number;
  /** Until all of it is there again. */
  readonly resetMs: number;
}

/** OpenAI knows one kind of tokens. */
const NAMES: Readonly<Record<RateKind, { readonly openai: string; readonly anthropic: string }>> = {
  rpm: { openai: "requests", anthropic: "requests" },
  tpm: { openai: "tokens", anthropic: "tokens" },
  input_tpm: { openai: "tokens", anthropic: "input-tokens" },
  output_tpm: { openai: "tokens", anthropic: "output-tokens" },
};

/** Names and values in turn. */
export function rateHeaders(rates: readonly Rate[], isAnthropic: boolean, nowMs: number): string[] {
  const head: string[] = [];
  for (const rate of rates) {
    const name = nameOf(rate, isAnthropic);
    if (rates.some((other) => isTighter(other, rate, rates) && nameOf(other, isAnthropic) === name)) continue;
    const { limit, remaining, resetMs } = rate;
    if (isAnthropic) {
      const stem = `anthropic-ratelimit-${name}`;
      const reset = `${new Date(nowMs + resetMs).toISOString().slice(0, 19)}Z`;
      head.push(`${stem}-limit`, String(limit), `${stem}-remaining`, String(remaining));
      head.push(`${stem}-reset`, reset);
    } else {
      head.push(`x-ratelimit-limit-${name}`, String(limit));
      head.push(`x-ratelimit-remaining-${name}`, String(remaining));
      head.push(`x-ratelimit-reset-${name}`, durationText(resetMs));
    }
  }
  return head;
}

function nameOf({ kind }: Rate, isAnthropic: boolean): string {
  return NAMES[kind][isAnthropic ? "anthropic" : "openai"];
}

/** Of equal ones the first counts. */
function isTighter(other: Rate, rate: Rate, rates: readonly Rate[]): boolean {
  if (other.remaining !== rate.remaining) return other.remaining < rate.remaining;
  return rates.indexOf(other) < rates.indexOf(rate);
}

/** `12ms`, `1s`, `6m0s`, as Go prints it. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
