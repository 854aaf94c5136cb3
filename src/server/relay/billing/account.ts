// What a request costs, from the first estimate to the last settlement: one account per request over the ledger's verbs. Its pricing
// says what the price is applied to; it knows no HTTP.
import type { LiveChannel } from "#server/channels/candidates.ts";
import type { ReserveVerdict } from "#server/money/operations.ts";
import { charge, type Price } from "#server/money/price.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Verdict } from "#server/relay/http/pipe.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { type Failure, printTrail } from "#server/store/log-trail.ts";
import type { StreamReply, Trace } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import { Extension } from "./extension.ts";
import {
  type BillingServices,
  NO_USAGE,
  type Pricing,
  type Reply,
  type RunningPricing,
  type Sum,
} from "./pricing.ts";
import { book, settlementOf } from "./settlement.ts";

/** The part of a request that the account needs. */
export interface Billed {
  readonly requestId: string;
  readonly startedMs: number;
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
  readonly trace: Trace;
}

/** What was booked. */
export interface Booked {
  readonly usage: TokenUsage;
  readonly charged: bigint;
}

const CHECKPOINT_MS = 250;

/** The first candidate that has a price for this model, by its own name or the mapped one. Throws: LocalError. */
export function priceOf(
  tools: BillingServices,
  { model }: Pick<IncomingRequest, "model">,
  caller: Caller,
  candidates: readonly LiveChannel[],
): Price {
  const prices = tools.prices();
  for (const candidate of candidates) {
    const price = prices.find(model, candidate.mapping.get(model) ?? model, caller.group);
    if (price !== undefined) return price;
  }
  throw new LocalError(localErrors.priceMissing(model));
}

/**
 * What is reserved for an amount: for 0 the smallest unit, so that free models need some balance, unless the option waives it
 * (requirements M31).
 */
export function held({ options }: Pick<BillingServices, "options">, amount: bigint): bigint {
  return amount === 0n && !options.get("FreeAtZeroEnabled") ? 1n : amount;
}

export class Account {
  readonly #tools: BillingServices;
  readonly #billed: Billed;
  readonly #pricing: Pricing;
  #price: Price;
  #channelId = 0;
  #usage = NO_USAGE;
  /** For a running stream. */
  #extension: Extension | undefined;
  #notedMs: number;

  constructor(tools: BillingServices, billed: Billed, terms: { price: Price; pricing: Pricing }) {
    this.#tools = tools;
    this.#billed = billed;
    this.#pricing = terms.pricing;
    this.#price = terms.price;
    this.#notedMs = billed.startedMs;
  }

  /** The usage that was booked, or is about to be: as the upstream reported it, or as counted here. */
  get usage(): TokenUsage {
    return this.#usage;
  }

  /** Reserves the estimate. Returns the ledger's verdict; only a reserved call is settled. */
  open(): Promise<ReserveVerdict> {
    const { requestId, caller, incoming } = this.#billed;
    return this.#tools.ledger.reserve({
      requestId,
      userId: caller.userId,
      tokenId: caller.tokenId,
      amount: held(this.#tools, this.#pricing.firstAmount(this.#price)),
      modelName: incoming.model,
    });
  }

  /**
   * The channel that is to be called now; it may map to a name with a price of its own. Returns why it cannot be called at that price;
   * undefined = it can.
   */
  priceFor(channel: LiveChannel): RelayFault | undefined {
    const { caller, incoming } = this.#billed;
    const { model } = incoming;
    this.#channelId = channel.id;
    this.#price =
      this.#tools.prices().find(model, channel.mapping.get(model) ?? model, caller.group) ?? this.#price;
    return this.#pricing.fault(this.#price);
  }

  /**
   * Checks a running stream: notes what has come and requests more quota before it runs out. Nothing is delivered for which there may be
   * no quota (requirements M04).
   */
  watch(reply: StreamReply): Verdict {
    const { running } = this.#pricing;
    if (running === undefined) return undefined;
    const now = this.#tools.clock.now();
    if (now - this.#notedMs >= CHECKPOINT_MS) this.#note(running.least(reply), now);
    // A complete answer needs no more quota.
    if (reply.isFinished) return undefined;
    this.#extension ??= this.#newExtension(reply, running);
    return this.#extension.look(running.atMost(reply));
  }

  /** No content of a streamed answer has come, though it may have begun. */
  isEmpty(reply: StreamReply): boolean {
    return this.#pricing.isEmpty(reply);
  }

  /**
   * Books a call whose answer came, whole or in part, or releases the reservation (undefined = nothing was booked); once. `failures` =
   * the failed attempts. `usage` holds what it is booked with.
   */
  settle(
    reply: Reply,
    isGone: boolean,
    failures: readonly Failure[],
  ): Promise<Pick<Booked, "charged"> | undefined> {
    const { requestId, trace } = this.#billed;
    if (reply === undefined && !trace.isSent) {
      this.#extension?.close();
      return this.#tools.ledger.release(requestId).then(() => undefined);
    }
    const summed = this.#pricing.sum(reply, isGone, this.#price);
    return summed instanceof Promise
      ? summed.then((sum) => this.#book(sum, failures))
      : this.#book(summed, failures);
  }

  /**
   * Follows a settlement that failed: a client that is refused a whole answer pays nothing; of a stream something has been delivered, and
   * that is charged as recovery would. Where the ledger accepts no entry, recovery closes it later. Never throws.
   */
  async giveBack(reply: Reply): Promise<void> {
    const { ledger } = this.#tools;
    const { requestId } = this.#billed;
    this.#extension?.close();
    const closed = reply?.kind === "stream" ? ledger.abandon(requestId) : ledger.release(requestId);
    await closed.catch(() => undefined);
  }

  #book(sum: Sum, failures: readonly Failure[]): Promise<Pick<Booked, "charged">> {
    const { requestId, caller, incoming, startedMs, trace } = this.#billed;
    const { model, isStream } = incoming;
    this.#usage = sum.usage;
    this.#extension?.close();
    const call = {
      requestId,
      caller,
      channelId: this.#channelId,
      model,
      isStream,
      startedMs,
      firstByteMs: trace.firstByteMs,
      attempts: printTrail(failures),
      // The last of many events: what is left of it is the terminator.
      mayWait: isStream,
    };
    return book(this.#tools, settlementOf(this.#tools, call, sum));
  }

  /** The reservation of this call, as tokens of output. */
  #newExtension(reply: StreamReply, running: RunningPricing): Extension {
    const { ledger, clock } = this.#tools;
    const { requestId } = this.#billed;
    return new Extension({
      tokens: running.firstTokens,
      limit: running.limit,
      clock,
      extend: (tokens) => ledger.extend(requestId, running.amountOf(tokens, this.#price)),
      count: () => running.count(reply),
    });
  }

  #note(least: TokenUsage, nowMs: number): void {
    this.#notedMs = nowMs;
    this.#tools.ledger.checkpoint(this.#billed.requestId, {
      charge: charge(least, this.#price),
      promptTokens: least.promptTokens,
      completionTokens: least.completionTokens,
      channelId: this.#channelId,
    });
  }
}
