// What every way of pricing a request answers to its account: text by tokens (pricing-text.ts), pictures and sound by piece, second
// or tokens (pricing-media.ts).
import type { Context } from "#server/context.ts";
import type { Price } from "#server/money/price.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenCounter } from "#server/upstream/tokens/counter.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";

export type BillingServices = Pick<Context, "ledger" | "prices" | "options" | "clock" | "events"> & {
  readonly tokens: TokenCounter;
};

/** What came of an answer; undefined = nothing. */
export type Reply = WholeReply | StreamReply | undefined;

/** What a call comes to. */
export interface Sum {
  readonly usage: TokenUsage;
  /** Unit: quota. */
  readonly amount: bigint;
  /** The log's explanation. */
  readonly content: string;
  readonly isEstimated: boolean;
}

export interface Pricing {
  /** What is set aside before the call. Unit: quota. */
  firstAmount(price: Price): bigint;
  /** Why the request cannot be called at this price; undefined = it can. */
  fault(price: Price): RelayFault | undefined;
  /** Nothing of a streamed answer has come, though it may have begun. */
  isEmpty(reply: StreamReply): boolean;
  /** What the call comes to; counting what the upstream did not tell takes a while. */
  sum(reply: Reply, isGone: boolean, price: Price): Sum | Promise<Sum>;
  /** Of what is paid as it comes; absent = all was set aside before the call. */
  readonly running?: RunningPricing;
}

/** A stream while it runs. LLM tokens of output. */
export interface RunningPricing {
  /** Set aside before the call. */
  readonly firstTokens: number;
  /** The most the client asked for; Infinity = it named no limit. */
  readonly limit: number;
  /** Never less than what has come. */
  atMost(reply: StreamReply): number;
  /** What has come: as told while it runs, else counted. */
  count(reply: StreamReply): Promise<number>;
  /** What so many more come to. Unit: quota. */
  amountOf(tokens: number, price: Price): bigint;
  /** What recovery charges for it if the process dies now: never more than came. */
  least(reply: StreamReply): TokenUsage;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
