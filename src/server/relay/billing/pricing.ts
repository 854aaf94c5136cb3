// The interface between an account and the pricing of its request: text by tokens (pricing-text.ts), pictures and sound by piece, second
// or tokens (pricing-media.ts).
import type { Context } from "#server/context.ts";
import type { Price } from "#server/money/price.ts";
import type { Counted } from "#server/money/units.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenCounter } from "#server/upstream/tokens/counter.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";

export type BillingServices = Pick<Context, "ledger" | "prices" | "options" | "clock" | "events"> & {
  readonly tokens: TokenCounter;
};

/** What a model costs in a group. */
export interface GroupPrice {
  readonly group: string;
  readonly price: Price;
}

/** The answer as far as it came; undefined = none. */
export type Reply = WholeReply | StreamReply | undefined;

/** The charge of a call. */
export interface Sum {
  readonly usage: TokenUsage;
  /** Unit: quota. */
  readonly amount: bigint;
  /** The log's explanation. */
  readonly content: string;
  readonly isEstimated: boolean;
  /** What was counted in place of LLM tokens; absent = nothing. */
  readonly counted?: Counted;
}

export interface Pricing {
  /** Estimated before the call; 0 = something else is counted. */
  readonly promptTokens: number;
  /** Reserved before the call. Unit: quota. */
  firstAmount(price: Price): bigint;
  /** Why the request cannot be called at this price; undefined = it can. */
  fault(price: Price): RelayFault | undefined;
  /** No content of a streamed answer has come, though it may have begun. */
  isEmpty(reply: StreamReply): boolean;
  /** The charge of the call; counting what the upstream did not report takes a while. */
  sum(reply: Reply, isGone: boolean, price: Price): Sum | Promise<Sum>;
  /** For answers that are charged as they come; absent = all was reserved before the call. */
  readonly running?: RunningPricing;
}

/** A stream while it runs. LLM tokens of output. */
export interface RunningPricing {
  /** Reserved before the call. */
  readonly firstTokens: number;
  /** The most the client asked for; Infinity = it named no limit. */
  readonly limit: number;
  /** Never less than what has come. */
  atMost(reply: StreamReply): number;
  /** What has come: as reported while it runs, else counted. */
  count(reply: StreamReply): Promise<number>;
  /** The charge of so many more. Unit: quota. */
  amountOf(tokens: number, price: Price): bigint;
  /** What recovery charges for it if the process dies now: never more than came. */
  least(reply: StreamReply): TokenUsage;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
