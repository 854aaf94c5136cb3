// What a request costs, from the first estimate to the last settlement: one account per request over the ledger's verbs. Its pricing
// says what the price is applied to; it knows no HTTP.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { isBelowCost, type Wanted } from "#server/money/below-cost.ts";
import type { ReserveVerdict, Settlement } from "#server/money/operations.ts";
import { charge, type Price } from "#server/money/price.ts";
import { callCost, type PriceBook } from "#server/money/price-book.ts";
import { parseRational, type Rational } from "#server/money/rational.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { plansOf } from "#server/relay/admission/call-limits.ts";
import { windowsOf } from "#server/relay/admission/set-limits.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import type { LimitHead } from "#server/relay/http/limit-head.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Verdict } from "#server/relay/http/pipe.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { StreamReply, Trace } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import type { CostCap } from "./cost-cap.ts";
import { Extension } from "./extension.ts";
import { setMoreAside } from "./more-aside.ts";
import {
  type BillingServices,
  type GroupPrice,
  NO_USAGE,
  type Pricing,
  type Reply,
  type RunningPricing,
  type Sum,
} from "./pricing.ts";
import { kindsOfUsage } from "./pricing-text.ts";

/** The part of a request that the account needs. */
interface Billed {
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
  { group }: Pick<Caller, "group">,
  candidates: readonly LiveChannel[],
): Price {
  const prices = tools.prices();
  for (const candidate of candidates) {
    const price = prices.find(model, candidate.mapping.get(model) ?? model, group);
    if (price !== undefined) return price;
  }
  throw new LocalError(localErrors.priceMissing(model));
}

/**
 * What is reserved for an amount: for 0 the smallest unit, so that free models need some balance, unless the option waives it
 * (requirements M31). Throws: LocalError where the payer owes something and the option stops what is not free (requirements Y36).
 */
export function held(
  { options }: Pick<BillingServices, "options">,
  amount: bigint,
  { owes }: Pick<Caller, "owes">,
): bigint {
  if (owes && amount > 0n && options.get("RefuseInDebtEnabled")) throw new LocalError(localErrors.userDebt());
  return amount === 0n && !options.get("FreeAtZeroEnabled") ? 1n : amount;
}

export class Account {
  readonly #tools: BillingServices;
  readonly #billed: Billed;
  readonly #pricing: Pricing;
  /** Those it was reserved by, whatever is published while it runs. */
  readonly #prices: PriceBook;
  #price: Price;
  #channel: LiveChannel | undefined;
  #usage = NO_USAGE;
  /** For a running stream. */
  #extension: Extension | undefined;
  #notedMs: number;
  /** What the call may cost at most; undefined = anything. */
  readonly #cap: CostCap | undefined;
  readonly #limitHead: LimitHead | undefined;
  /** Set aside so far. */
  #held = 0n;
  /** The part of that which the call may come to in its own group. */
  #needed = 0n;
  /** The group by whose price it was reserved; undefined = its own. */
  #heldBy: string | undefined;

  constructor(
    tools: BillingServices,
    billed: Billed,
    terms: {
      price: Price;
      pricing: Pricing;
      cap?: CostCap | undefined;
      limitHead?: LimitHead | undefined;
    },
  ) {
    this.#cap = terms.cap;
    this.#limitHead = terms.limitHead;
    this.#tools = tools;
    this.#prices = tools.prices();
    this.#billed = billed;
    this.#pricing = terms.pricing;
    this.#price = terms.price;
    this.#notedMs = billed.startedMs;
  }

  /** The usage that was booked, or is about to be: as the upstream reported it, or as counted here. */
  get usage(): TokenUsage {
    return this.#usage;
  }

  /** The request as it is sent. */
  get incoming(): IncomingRequest {
    return this.#billed.incoming;
  }

  /**
   * Reserves the estimate: by the dearest of its price and those of the groups that it may move on to, and by its own where there is no room
   * for that (requirements K15). Returns the ledger's verdict; only a reserved call is settled. Throws: LocalError.
   */
  open(later: readonly GroupPrice[] = []): Promise<ReserveVerdict> {
    const own = this.#pricing.firstAmount(this.#price);
    this.#needed = own;
    return later.length === 0 ? this.#reserve(own) : this.#reserveAmong(own, later);
  }

  async #reserveAmong(own: bigint, later: readonly GroupPrice[]): Promise<ReserveVerdict> {
    let dearest = own;
    let heldBy: string | undefined;
    // Who owes may be let in by a group that is free alone (requirements Y36).
    for (const { group, price } of this.#billed.caller.owes ? [] : later) {
      const amount = this.#pricing.firstAmount(price);
      if (amount > dearest) [dearest, heldBy] = [amount, group];
    }
    const verdict = await this.#reserve(dearest);
    if (verdict !== "reserved" && heldBy !== undefined) return this.#reserve(own);
    this.#heldBy = heldBy;
    return verdict;
  }

  #reserve(amount: bigint): Promise<ReserveVerdict> {
    const { requestId, caller, incoming } = this.#billed;
    this.#held = held(this.#tools, amount, caller);
    return this.#tools.ledger.reserve({
      requestId,
      userId: caller.payerId,
      tokenId: caller.tokenId,
      amount: this.#held,
      modelName: incoming.model,
      ...(caller.limits.length > 0 &&
        windowsOf(caller, incoming.model, this.#tools.options, this.#limitHead)),
      ...(caller.plans.length > 0 && plansOf(caller, incoming.model)),
    });
  }

  /**
   * The channel that is to be called now; it may map to a name with a price of its own. Returns why it cannot be called at that price;
   * undefined = it can.
   */
  priceFor(channel: LiveChannel): RelayFault | undefined {
    const { caller, incoming } = this.#billed;
    const { model } = incoming;
    this.#channel = channel;
    this.#price = this.#prices.find(model, channel.mapping.get(model) ?? model, caller.group) ?? this.#price;
    const { promptTokens } = this.#pricing;
    return (
      this.#pricing.fault(this.#price) ??
      faultBelowCost(this.#tools, { channel, sold: this.#price }, { model, promptTokens })
    );
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
   * Books a call whose answer came, whole or in part, or releases the reservation (undefined = nothing was booked); once. `trail` =
   * how its channel was found, as the log keeps it. `usage` holds what it is booked with.
   */
  settle(reply: Reply, isGone: boolean, trail: string): Promise<Pick<Booked, "charged"> | undefined> {
    const { requestId, trace } = this.#billed;
    if (reply === undefined && !trace.isSent) {
      this.#extension?.close();
      return this.#tools.ledger.release(requestId).then(() => undefined);
    }
    const summed = this.#pricing.sum(reply, isGone, this.#price);
    return summed instanceof Promise
      ? summed.then((sum) => this.#book(sum, trail))
      : this.#book(summed, trail);
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

  #book(sum: Sum, trail: string): Promise<Pick<Booked, "charged">> {
    const { requestId, caller, incoming, startedMs, trace } = this.#billed;
    const { model, isStream } = incoming;
    this.#usage = sum.usage;
    this.#extension?.close();
    const call = {
      requestId,
      caller,
      channel: this.#channel,
      price: this.#price,
      model,
      isStream,
      startedMs,
      firstByteMs: trace.firstByteMs,
      trail,
      heldBy: this.#heldBy,
      // The last of many events: what is left of it is the terminator.
      mayWait: isStream,
    };
    return book(this.#tools, settlementOf(this.#tools, call, sum));
  }

  /** The reservation of this call, as tokens of output. */
  #newExtension(reply: StreamReply, running: RunningPricing): Extension {
    const { clock } = this.#tools;
    return new Extension({
      tokens: running.firstTokens,
      limit: running.limit,
      clock,
      extend: (tokens) => this.#extend(running.amountOf(tokens, this.#price)),
      count: () => running.count(reply),
    });
  }

  /** Sets aside what is not yet of so much more; never more than the call may cost. Returns why not; undefined = it is. */
  async #extend(more: bigint): Promise<RelayFault | undefined> {
    const needed = this.#needed + more;
    if (more > 0n && this.#cap !== undefined && needed > this.#cap.amount)
      return limitErrors.tooDear(this.#cap.row);
    const { requestId, caller } = this.#billed;
    const missing = needed - this.#held;
    const order = { requestId, caller, more: missing };
    const fault = missing > 0n ? await setMoreAside(this.#tools, order) : undefined;
    if (fault !== undefined) return fault;
    if (missing > 0n) this.#held = needed;
    this.#needed = needed;
    return undefined;
  }

  #note(least: TokenUsage, nowMs: number): void {
    this.#notedMs = nowMs;
    this.#tools.ledger.checkpoint(this.#billed.requestId, {
      charge: charge(least, this.#price),
      promptTokens: least.promptTokens,
      completionTokens: least.completionTokens,
      channelId: this.#channel?.id ?? 0,
    });
  }
}

/** Why a channel is not called, where calls below cost are refused; undefined = it may be. */
export function faultBelowCost(
  { options, prices }: Pick<BillingServices, "options" | "prices">,
  { channel, sold }: { readonly channel: LiveChannel; readonly sold: Price },
  wanted: Wanted,
): RelayFault | undefined {
  if (!options.get("RefuseBelowCostEnabled")) return undefined;
  // The channel has no fault, and another one may be cheaper.
  return isBelowCost({ options, prices }, { channel, sold }, wanted)
    ? { ...localErrors.belowCost(wanted.model), retry: true }
    : undefined;
}

/** The parts of a settlement beside its sum. Times: ms. */
interface SettledCall {
  readonly requestId: string;
  readonly caller: Pick<Caller, "payerId" | "userId" | "tokenId" | "group" | "isGroupNamed">;
  /** The one that answered, with the key that was used; undefined = none. */
  readonly channel: LiveChannel | undefined;
  /** What it was charged by. */
  readonly price: Price;
  readonly model: string;
  readonly isStream: boolean;
  readonly startedMs: number;
  /** Moment of the first byte; 0 = none came. */
  readonly firstByteMs: number;
  /** How its channel was found, as the log keeps it. */
  readonly trail: string;
  /** The dearer group by whose price it was reserved; undefined = that which answered. */
  readonly heldBy?: string | undefined;
  /** The settlement may wait some milliseconds for others to share a commit with. */
  readonly mayWait?: boolean;
}

/** Behind all else: by whose price it was reserved, and which group answered. */
function withGroups(content: string, { caller, heldBy }: Pick<SettledCall, "caller" | "heldBy">): string {
  const held = heldBy === undefined ? content : `${content}（按分组 ${heldBy} 预留）`;
  return `${held}（分组 ${caller.group}）`;
}

/** The settlement of a call; without a row for the log where LogConsumeEnabled is off. */
export function settlementOf(
  tools: Pick<BillingServices, "options" | "clock" | "prices">,
  call: SettledCall,
  sum: Sum,
): Settlement {
  const { options, clock, prices } = tools;
  const { usage, amount, content, isEstimated } = sum;
  const { requestId, caller, channel, price, model, isStream, startedMs, firstByteMs, trail } = call;
  const { payerId: userId, tokenId } = caller;
  const memberId = caller.userId === userId ? undefined : caller.userId;
  const log = options.get("LogConsumeEnabled")
    ? {
        content: caller.isGroupNamed ? withGroups(content, call) : content,
        model_name: model,
        elapsed_time: clock.now() - startedMs,
        first_byte_time: firstByteMs === 0 ? 0 : Math.max(1, firstByteMs - startedMs),
        is_stream: isStream ? 1 : 0,
        estimated: isEstimated ? 1 : 0,
        trail,
        token_kinds: kindsOfUsage(usage),
        price_version: price.version ?? -1,
      }
    : null;
  const mayWait = call.mayWait === true;
  const { id: channelId, keyId } = channel ?? NO_CHANNEL;
  const dollar = dollarOf(options.get("QuotaPerUnit"));
  const { cost, saved } = callCost(prices(), { channel, price, model, dollar }, sum);
  return {
    requestId,
    userId,
    tokenId,
    channelId,
    keyId,
    memberId,
    charge: amount,
    usage,
    cost: { cost, saved, group: caller.group },
    mayWait,
    log,
  };
}

const NO_CHANNEL = { id: 0, keyId: 0 };

/** Quota of a dollar, as it was read last. */
let perDollar = { text: 500_000, quota: parseRational(500_000) };

function dollarOf(quotaPerUnit: number): Rational {
  if (perDollar.text !== quotaPerUnit) perDollar = { text: quotaPerUnit, quota: parseRational(quotaPerUnit) };
  return perDollar.quota;
}

/** Books a settlement and reports the shortfall of user or token. Throws: StoreError. */
export async function book(
  { ledger, events }: Pick<BillingServices, "ledger" | "events">,
  settlement: Settlement,
): Promise<{ readonly charged: bigint }> {
  const booking = await ledger.settle(settlement);
  const quota = Number(booking.shortfall);
  if (quota > 0) {
    const { requestId, userId, tokenId, channelId } = settlement;
    events.fellShort({ requestId, userId, tokenId, channelId, quota });
  }
  return booking;
}
