// What the ledger makes of texts and counts before it stores them: callers and upstreams can send anything. Pure.
import { MAX_AMOUNT, min } from "./amount.ts";
import type { Seen, SettlementLog } from "./operations.ts";
import { type Usage, wholeNumber } from "./price.ts";

/** Longer names are not names of models; the column is indexed. */
const MAX_NAME = 200;

/** A negative amount would hand out money (requirements M02). */
export function assertAmount(amount: bigint): void {
  if (amount < 0n) throw new RangeError(`an amount cannot be negative: ${amount}`);
}

export function wholeUsage(usage: Usage): Usage {
  return {
    promptTokens: wholeNumber(usage.promptTokens),
    completionTokens: wholeNumber(usage.completionTokens),
    cachedTokens: wholeNumber(usage.cachedTokens),
  };
}

export function wholeSeen(seen: Seen): Seen {
  assertAmount(seen.charge);
  return {
    charge: min(seen.charge, MAX_AMOUNT),
    promptTokens: wholeNumber(seen.promptTokens),
    completionTokens: wholeNumber(seen.completionTokens),
    channelId: seen.channelId,
  };
}

/** PostgreSQL cannot store NUL. */
function withoutNul(text: string): string {
  return text.includes("\u0000") ? text.replaceAll("\u0000", "") : text;
}

/** A name that no user typed by hand need not be kept whole. */
export function plainText(text: string): string {
  return withoutNul(text).slice(0, MAX_NAME);
}

export function cleanLog(log: SettlementLog): SettlementLog {
  return {
    content: withoutNul(log.content),
    model_name: plainText(log.model_name),
    elapsed_time: wholeNumber(log.elapsed_time),
    first_byte_time: wholeNumber(log.first_byte_time),
    is_stream: log.is_stream === 0 ? 0 : 1,
    estimated: log.estimated === 0 ? 0 : 1,
    trail: log.trail,
    ...(log.token_kinds && { token_kinds: log.token_kinds }),
    ...(isNoted(log.price_version) && { price_version: wholeNumber(log.price_version) }),
  };
}

function isNoted(version: number | undefined): version is number {
  return version !== undefined && version >= 0;
}
