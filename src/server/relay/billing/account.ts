// What a request costs, from the first estimate to the last settlement: one account per request over the bank's verbs. The only
// place of the relay that knows prices; it knows no HTTP.
import type { LiveChannel } from "#server/channels/candidates.ts";
import type { Context } from "#server/context.ts";
import type { ReserveVerdict } from "#server/money/operations.ts";
import { charge, estimate, explain, type Price, tierOf } from "#server/money/price.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Verdict } from "#server/relay/http/pipe.ts";
import { type IncomingRequest, WITHOUT_OUTPUT } from "#server/relay/text/incoming.ts";
import { type Failure, printTrail } from "#server/store/log-trail.ts";
import type { StreamReply, Trace, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { asObject } from "#server/upstream/json/values.ts";
import type { Countable, TokenCounter } from "#server/upstream/tokens/counter.ts";
import { promptParts } from "#server/upstream/tokens/prompt.ts";
import { type ReadUsage, readUsage, type TokenUsage } from "#server/upstream/usage.ts";
import { estimateOutput, estimatePrompt, leastOutputTokens, leastPromptTokens } from "./estimate.ts";
import { Extension } from "./extension.ts";
import { boundsOf, widened } from "./usage-bounds.ts";

export type BillingServices = Pick<Context, "ledger" | "prices" | "options" | "clock" | "events"> & {
  readonly tokens: TokenCounter;
};

/** What the account needs to know of its request. */
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

/** What a call comes to. */
export interface Sum {
  readonly usage: TokenUsage;
  /** Unit: quota. */
  readonly amount: bigint;
  /** The log's explanation. */
  readonly content: string;
  readonly isEstimated: boolean;
}

/** Output set aside for a call that names no limit (contract 10.2 [P]); a stream begins with less and asks for more. */
const WHOLE_OUTPUT = 4_096;
const STREAM_OUTPUT = 1_024;
/** The most a call can reserve for one answer. */
const MAX_OUTPUT = 131_072;
const CHECKPOINT_MS = 250;
/** Anthropic tells a few tokens of output before there is any. */
const FORETOLD = 10;

const NOTHING: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/** The first candidate that has a price for this model, by its own name or the mapped one. Throws: LocalError. */
export function priceOf(
  tools: BillingServices,
  { model }: Pick<IncomingRequest, "model">,
  caller: Caller,
  candidates: readonly LiveChannel[],
): Price {
  const book = tools.prices();
  for (const candidate of candidates) {
    const price = book.find(model, candidate.mapping.get(model) ?? model, caller.group);
    if (price !== undefined) return price;
  }
  throw new LocalError(localErrors.priceMissing(model));
}

/** What is held for an amount: for nothing the least there is, so that free models need some balance, unless none is asked for (reliability M31). */
export function held({ options }: Pick<BillingServices, "options">, amount: bigint): bigint {
  return amount === 0n && !options.get("FreeAtZeroEnabled") ? 1n : amount;
}

export class Account {
  protected readonly tools: BillingServices;
  protected readonly billed: Billed;
  protected price: Price;
  #channelId = 0;
  #usage = NOTHING;
  /** Of a stream that runs. */
  #cover: Extension | undefined;
  #notedMs: number;
  #roughPrompt: number;

  constructor(tools: BillingServices, billed: Billed, price: Price) {
    this.tools = tools;
    this.billed = billed;
    this.price = price;
    this.#notedMs = billed.startedMs;
    this.#roughPrompt = estimatePrompt(billed.incoming);
  }

  /** What was booked, or is about to be: what the upstream told, or was counted here. */
  get usage(): TokenUsage {
    return this.#usage;
  }

  /** Sets the estimate aside. Returns what the bank says; only what it reserved is settled. */
  open(): Promise<ReserveVerdict> {
    const { requestId, caller, incoming } = this.billed;
    return this.tools.ledger.reserve({
      requestId,
      userId: caller.userId,
      tokenId: caller.tokenId,
      amount: held(this.tools, this.firstAmount()),
      modelName: incoming.model,
    });
  }

  /** What is set aside before the call. Unit: quota. */
  protected firstAmount(): bigint {
    const floor = this.tools.options.get("PreConsumedQuota");
    return estimate(this.#roughPrompt, firstOutput(this.billed.incoming), this.price, floor);
  }

  /**
   * The channel that is to be called now; it may map to a name with a price of its own. Returns why it cannot be called at that price;
   * undefined = it can.
   */
  charge(channel: LiveChannel): RelayFault | undefined {
    const { caller, incoming } = this.billed;
    const { model } = incoming;
    this.#channelId = channel.id;
    this.price =
      this.tools.prices().find(model, channel.mapping.get(model) ?? model, caller.group) ?? this.price;
    return undefined;
  }

  /**
   * Looks at a running stream: notes what has come and asks for more before it runs out. Nothing is delivered for which there may be no
   * quota (reliability M04).
   */
  watch(reply: StreamReply): Verdict {
    const now = this.tools.clock.now();
    if (now - this.#notedMs >= CHECKPOINT_MS) this.#note(reply, now);
    // An answer that is complete was complete: nothing more comes that would have to be covered.
    if (reply.isFinished) return undefined;
    this.#cover ??= this.#newCover(reply);
    return this.#cover.look(estimateOutput(reply.tap));
  }

  /** Nothing of a streamed answer has come, though it may have begun. */
  isEmpty(reply: StreamReply): boolean {
    const told = this.#told(reply)?.usage?.completionTokens ?? 0;
    return estimateOutput(reply.tap) === 0 && told <= FORETOLD;
  }

  /**
   * Books a call whose answer came, whole or in part, or returns what was set aside (undefined = nothing was booked); once. `trail` = who
   * was called in vain before. What it is booked with stands in `usage`.
   */
  settle(
    reply: WholeReply | StreamReply | undefined,
    isGone: boolean,
    trail: readonly Failure[],
  ): Promise<Pick<Booked, "charged"> | undefined> {
    const { requestId, trace } = this.billed;
    if (reply === undefined && !trace.isSent) {
      this.#cover?.close();
      return this.tools.ledger.release(requestId).then(() => undefined);
    }
    const summed = this.sum(reply, isGone);
    return summed instanceof Promise
      ? summed.then((sum) => this.#book(sum, trail))
      : this.#book(summed, trail);
  }

  /**
   * Follows a settlement that failed: whoever is refused a whole answer pays nothing; of a stream something has been delivered, and that is
   * charged as recovery would. Where the bank takes nothing more, recovery itself does. Never throws.
   */
  async giveBack(reply: WholeReply | StreamReply | undefined): Promise<void> {
    const { ledger } = this.tools;
    const { requestId } = this.billed;
    this.#cover?.close();
    const closed = reply?.kind === "stream" ? ledger.abandon(requestId) : ledger.release(requestId);
    await closed.catch(() => undefined);
  }

  #book(
    { usage, amount, content, isEstimated }: Sum,
    trail: readonly Failure[],
  ): Promise<Pick<Booked, "charged">> {
    const { requestId, caller, incoming, startedMs, trace } = this.billed;
    const elapsedMs = this.tools.clock.now() - startedMs;
    this.#usage = usage;
    this.#cover?.close();
    const { userId, tokenId } = caller;
    const channelId = this.#channelId;
    const settlement = {
      requestId,
      userId,
      tokenId,
      channelId,
      charge: amount,
      usage,
      // The last of many events: what is left of it is the terminator.
      mayWait: incoming.isStream,
      log: this.tools.options.get("LogConsumeEnabled")
        ? {
            content,
            model_name: incoming.model,
            elapsed_time: elapsedMs,
            first_byte_time: trace.firstByteMs === 0 ? 0 : Math.max(1, trace.firstByteMs - startedMs),
            is_stream: incoming.isStream ? 1 : 0,
            estimated: isEstimated ? 1 : 0,
            trail: printTrail(trail),
          }
        : null,
    };
    return this.tools.ledger.settle(settlement).then((booking) => {
      const quota = Number(booking.shortfall);
      if (quota > 0) this.tools.events.fellShort({ requestId, userId, tokenId, channelId, quota });
      return booking;
    });
  }

  /** What a call comes to: by the usage the upstream told, else counted here, which takes a while. */
  protected sum(reply: WholeReply | StreamReply | undefined, isGone: boolean): Sum | Promise<Sum> {
    const read = this.#told(reply);
    const told = read?.usage;
    if (told !== undefined && told.promptTokens > 0 && !this.#isDoubtful(told, reply))
      return this.#summed(told, read, isGone);
    const counting = told === undefined ? this.#count(reply) : this.#completed(told, reply);
    return counting.then((usage) => this.#summed(usage, read, isGone));
  }

  /** `read` = what the upstream told, which may be this usage. */
  #summed(usage: TokenUsage, read: ReadUsage | undefined, isGone: boolean): Sum {
    const isTold = usage === read?.usage;
    const amount = charge(usage, this.price);
    const content =
      explain(usage, this.price, amount) + remarkOf({ isTold, isImpossible: read?.isImpossible, isGone });
    return { usage, amount, content, isEstimated: !isTold };
  }

  /** The usage the upstream told, within what the request can have caused. */
  #told(reply: WholeReply | StreamReply | undefined): ReadUsage | undefined {
    if (reply?.usage === undefined) return undefined;
    const { incoming } = this.billed;
    const { usage, quirks } = reply;
    const bounds = boundsOf(incoming);
    const read = readUsage(usage, bounds, quirks);
    return read?.isImpossible === true ? readUsage(usage, widened(bounds, incoming, reply), quirks) : read;
  }

  /** What is told before the end, or tells of no output, says little of the text that has come. */
  #isDoubtful(usage: TokenUsage, reply: WholeReply | StreamReply | undefined): boolean {
    if (WITHOUT_OUTPUT.has(this.billed.incoming.endpoint)) return false;
    return usage.completionTokens === 0 || (reply?.kind === "stream" && !reply.isFinished);
  }

  /** Some vendors never tell the prompt of a stream; no request has none. Text that usage says little of is counted. */
  async #completed(usage: TokenUsage, reply: WholeReply | StreamReply | undefined): Promise<TokenUsage> {
    const { incoming } = this.billed;
    const { tokens } = this.tools;
    const isPromptMissing = usage.promptTokens === 0;
    const text = this.#isDoubtful(usage, reply) ? (reply?.text() ?? "") : "";
    const completion =
      text === "" ? 0 : await tokens.count(incoming.model, { texts: [text], fixedTokens: 0 });
    if (!isPromptMissing && completion <= usage.completionTokens) return usage;
    return {
      ...usage,
      promptTokens: isPromptMissing
        ? await tokens.count(incoming.model, promptOf(incoming))
        : usage.promptTokens,
      completionTokens: Math.max(completion, usage.completionTokens),
    };
  }

  /** Prompt and output received so far, counted here (the published rule of reliability M15). */
  async #count(reply: WholeReply | StreamReply | undefined): Promise<TokenUsage> {
    const { incoming } = this.billed;
    const { tokens } = this.tools;
    const output = { texts: reply === undefined ? [] : [reply.text()], fixedTokens: 0 };
    const [promptTokens, completionTokens] = await Promise.all([
      tokens.count(incoming.model, promptOf(incoming)),
      WITHOUT_OUTPUT.has(incoming.endpoint) ? 0 : tokens.count(incoming.model, output),
    ]);
    return { promptTokens, completionTokens, cachedTokens: 0 };
  }

  /** What was set aside for this call, seen as output. */
  #newCover(reply: StreamReply): Extension {
    const { ledger, clock } = this.tools;
    const { requestId, incoming } = this.billed;
    const { maxTokens, choices } = incoming;
    return new Extension({
      tokens: firstOutput(incoming),
      limit: maxTokens === undefined || maxTokens === 0 ? Number.POSITIVE_INFINITY : maxTokens * choices,
      clock,
      extend: (tokens) =>
        ledger.extend(requestId, estimate(0, tokens, tierOf(this.price, this.#roughPrompt), 0)),
      count: () => this.#countOutput(reply),
    });
  }

  /** What has come of a stream: as told while it runs, else counted. Unit: LLM tokens. */
  async #countOutput(reply: StreamReply): Promise<number> {
    const told = this.#told(reply)?.usage?.completionTokens ?? 0;
    // Some tell a few tokens at the beginning and the rest at the end.
    if (told > FORETOLD && told >= leastOutputTokens(reply.tap)) return told;
    const { model } = this.billed.incoming;
    const counted = await this.tools.tokens.count(model, { texts: [reply.text()], fixedTokens: 0 });
    return Math.max(told, counted);
  }

  /** What recovery charges if this process dies now: never more than came (reliability M12). */
  #note(reply: StreamReply, nowMs: number): void {
    this.#notedMs = nowMs;
    const told = this.#told(reply)?.usage ?? NOTHING;
    const usage = {
      ...told,
      promptTokens: told.promptTokens || leastPromptTokens(this.billed.incoming),
      completionTokens: Math.max(told.completionTokens, leastOutputTokens(reply.tap)),
    };
    this.tools.ledger.checkpoint(this.billed.requestId, {
      charge: charge(usage, this.price),
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      channelId: this.#channelId,
    });
  }
}

function firstOutput({ endpoint, isStream, maxTokens, choices }: IncomingRequest): number {
  if (WITHOUT_OUTPUT.has(endpoint)) return 0;
  const limit = isStream ? STREAM_OUTPUT : WHOLE_OUTPUT;
  const each = isStream ? Math.min(maxTokens ?? limit, limit) : Math.min(maxTokens ?? limit, MAX_OUTPUT);
  return each * choices;
}

/** What of the prompt is to be counted; only here is all of the body parsed. */
function promptOf({ endpoint, body }: IncomingRequest): Countable {
  const values = asObject(JSON.parse(Buffer.from(body.bytes).toString()));
  return promptParts(endpoint, values ?? {});
}

interface Remarkable {
  readonly isTold: boolean;
  readonly isImpossible: boolean | undefined;
  readonly isGone: boolean;
}

function remarkOf({ isTold, isImpossible, isGone }: Remarkable): string {
  if (isImpossible === true) return "（上游用量异常，不予采信，按本地计数）";
  if (isGone) return "（客户端提前断开，按已收到的内容计）";
  return isTold ? "" : "（上游未返回用量，按本地估算）";
}
