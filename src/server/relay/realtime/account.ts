// What a realtime conversation costs, response by response (vendors/realtime): the next one is always set aside before it can begin, those
// that are made beside it are when they begin, and each is booked as soon as it is done. Knows prices and no sockets.
import type { LiveChannel } from "#server/channels/candidates.ts";
import { charge, estimate, explain, type Price } from "#server/money/price.ts";
import { chargeUnits, explainUnits } from "#server/money/units.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import { held } from "#server/relay/billing/account.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { NO_USAGE, type Sum } from "#server/relay/billing/pricing.ts";
import { book, settlementOf } from "#server/relay/billing/settlement.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { newRequestId } from "#server/secrets.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { asNumber, type JsonRecord } from "#server/upstream/json/values.ts";
import type { RealtimeNews } from "#server/upstream/realtime/events.ts";
import { readUsage, type TokenUsage } from "#server/upstream/usage.ts";
import { ResponseCover } from "./extension.ts";

/** Who speaks, and with what. */
export interface Speaker {
  readonly caller: Caller;
  readonly model: string;
}

/** What one booking is about. */
interface Entry {
  readonly requestId: string;
  readonly model: string;
  readonly startedMs: number;
  readonly sum: Sum;
}

/** A response that is being made, as far as it has come. */
interface Making {
  readonly startedMs: number;
  /** undefined = nothing is, or could be, set aside for it. */
  cover: ResponseCover | undefined;
  firstMs: number;
  text: number;
  audio: number;
}

/** Set aside for the first words of a conversation, and for the answer to them. Unit: LLM tokens. */
const FIRST_PROMPT = 1_024;
const FIRST_OUTPUT = 1_024;
/** More is asked for when it comes this near to what was set aside. */
const MARGIN_TOKENS = 256;
/** Five minutes: what a microphone sends is mostly silence, which never becomes part of the conversation. */
const MOST_SOUND = 3_000;
/** No turn of a conversation is longer than an hour. */
const MOST_SECONDS = 3_600;
/** No context of any model is longer. */
const BOUNDS = { promptTokens: 2_000_000, completionTokens: 1_000_000 };
const REMARK_ESTIMATED = "（上游未返回用量，按本地估算）";
const REMARK_BROKEN = "（会话提前结束，按已收到的内容计）";
const REMARK_IMPOSSIBLE = "（上游用量异常，不予采信，按本地估算）";

export class RealtimeBill {
  /** LLM tokens and quota booked so far, for the log line at the end. */
  readonly total = { promptTokens: 0, completionTokens: 0, charged: 0n };
  /** Channels that were called in vain before the conversation began, as the log keeps them. */
  trail = "";
  readonly #tools: BillingServices;
  readonly #speaker: Speaker;
  #price: Price;
  #channelId = 0;
  /** For the next response. */
  #spare: ResponseCover | undefined;
  /** Why nothing more is set aside: the conversation ends for it. */
  #end: RelayFault | undefined;
  /** Length of the conversation as it was last told, and what was said since. */
  #context = 0;
  #said = { text: 0, audio: 0 };
  readonly #making = new Map<string, Making>();
  #transcriber: string | undefined;
  #isNarrow = false;

  constructor(tools: BillingServices, speaker: Speaker, price: Price) {
    this.#tools = tools;
    this.#speaker = speaker;
    this.#price = price;
  }

  /** Sound comes as G.711. */
  get isNarrow(): boolean {
    return this.#isNarrow;
  }

  /** Sets the next response aside. Throws: LocalError. */
  async reserve(): Promise<void> {
    this.#spare = await this.#setAside();
  }

  /** Throws: LocalError. */
  async #setAside(): Promise<ResponseCover> {
    const { caller, model } = this.#speaker;
    const { ledger, options, clock } = this.#tools;
    const prompt = Math.max(FIRST_PROMPT, this.#context + this.#said.text + this.#said.audio);
    const amount = held(
      this.#tools,
      estimate(prompt, FIRST_OUTPUT, this.#price, options.get("PreConsumedQuota")),
    );
    const requestId = newRequestId(clock.now());
    const { userId, tokenId } = caller;
    const verdict = await ledger.reserve({ requestId, userId, tokenId, amount, modelName: model });
    if (verdict !== "reserved") throw new LocalError(REFUSED[verdict]());
    return new ResponseCover(this.#tools, requestId, amount);
  }

  /** The channel that is being called now; it may map to a name with a price of its own. */
  charge(channel: LiveChannel): void {
    const { caller, model } = this.#speaker;
    this.#channelId = channel.id;
    const found = this.#tools.prices().find(model, channel.mapping.get(model) ?? model, caller.group);
    this.#price = found ?? this.#price;
  }

  /** The client said something. */
  said({ tokens, isAudio }: { readonly tokens: number; readonly isAudio: boolean }): void {
    if (isAudio) this.#said.audio = Math.min(this.#said.audio + tokens, MOST_SOUND);
    else this.#said.text += tokens;
  }

  /** The server said something. What is to be booked is booked before the promise resolves with why the conversation must end. */
  heard(news: RealtimeNews): RelayFault | undefined | Promise<RelayFault | undefined> {
    switch (news.kind) {
      case "session":
        this.#transcriber = news.transcriber;
        this.#isNarrow = news.isNarrow;
        return undefined;
      case "begun":
        return this.#covered(this.#makingOf(news.response));
      case "output": {
        const making = this.#makingOf(news.response);
        if (making.firstMs === 0) making.firstMs = this.#tools.clock.now();
        if (news.isAudio) making.audio += news.tokens;
        else making.text += news.tokens;
        return this.#covered(making);
      }
      case "done":
        return this.#done(news);
      case "transcribed":
        return this.#transcribed(news.usage);
      default:
        throw new Error(`unknown news ${JSON.stringify(news satisfies never)}`);
    }
  }

  /** The conversation is over: what was being said is paid for as far as it came, what was set aside goes back. */
  async close(): Promise<void> {
    const spare = this.#spare;
    this.#spare = undefined;
    const makings = [...this.#making.values()];
    this.#making.clear();
    const ends = makings.map((making) => this.#bookBroken(making));
    if (spare !== undefined) ends.push(this.#tools.ledger.release(spare.requestId));
    // One that fails keeps none of the others open.
    for (const end of await Promise.allSettled(ends)) if (end.status === "rejected") throw end.reason;
  }

  #bookBroken(making: Making): Promise<void> {
    const usage = this.#roughUsage(making);
    const amount = charge(usage, this.#price);
    const content = explain(usage, this.#price, amount) + REMARK_BROKEN;
    return this.#bookResponse(making, { usage, amount, content, isEstimated: true });
  }

  /** A response as it is made; a new one takes what was set aside for the next. */
  #makingOf(response: string): Making {
    let making = this.#making.get(response);
    if (making === undefined) {
      const startedMs = this.#tools.clock.now();
      making = { startedMs, cover: this.#spare, firstMs: 0, text: 0, audio: 0 };
      this.#spare = undefined;
      this.#making.set(response, making);
    }
    return making;
  }

  /**
   * Sees to it that what has come of a response is covered: one that is made beside others is set aside now, and more is asked for before
   * it runs out. A fault = there is no more; a promise = not known yet: meanwhile nothing is handed on (requirements M04).
   */
  #covered(making: Making): RelayFault | undefined | Promise<RelayFault | undefined> {
    const { cover } = making;
    if (cover !== undefined) return this.#look(making, cover);
    return this.#trySetAside().then((made) => {
      if (!(made instanceof ResponseCover)) return made;
      making.cover = made;
      return this.#look(making, made);
    });
  }

  #look(making: Making, cover: ResponseCover): ReturnType<ResponseCover["look"]> {
    if (making.firstMs === 0) return undefined;
    const usage = this.#roughUsage(making);
    const { promptTokens, completionTokens } = usage;
    const seen = {
      promptTokens,
      completionTokens,
      charge: charge(usage, this.#price),
      channelId: this.#channelId,
    };
    return cover.look(seen, estimate(0, MARGIN_TOKENS, this.#price, 0));
  }

  async #done(news: RealtimeNews & { kind: "done" }): Promise<RelayFault | undefined> {
    const { response, usage, hasFailed } = news;
    const making = this.#makingOf(response);
    const read = usage && readUsage(usage, BOUNDS);
    // Nothing is charged for a failure before output.
    if (hasFailed && read?.usage === undefined && making.firstMs === 0)
      return this.#dropped(response, making);
    const counted = read?.usage ?? this.#roughUsage(making);
    this.#making.delete(response);
    const amount = charge(counted, this.#price);
    const isEstimated = read?.usage === undefined;
    const remark = read?.isImpossible === true ? REMARK_IMPOSSIBLE : isEstimated ? REMARK_ESTIMATED : "";
    const content = explain(counted, this.#price, amount) + remark;
    await this.#bookResponse(making, { usage: counted, amount, content, isEstimated });
    this.#context = counted.promptTokens + counted.completionTokens;
    this.#said = { text: 0, audio: 0 };
    if (this.#spare !== undefined) return undefined;
    const next = await this.#trySetAside();
    if (!(next instanceof ResponseCover)) return next;
    this.#spare = next;
    return undefined;
  }

  /** What was set aside for a response that came to nothing serves the next one. */
  async #dropped(response: string, { cover }: Making): Promise<undefined> {
    this.#making.delete(response);
    if (this.#spare === undefined) this.#spare = cover;
    else if (cover !== undefined) await this.#tools.ledger.release(cover.requestId);
  }

  /** Sets a response aside; a fault = there is nothing left for it. */
  async #trySetAside(): Promise<ResponseCover | RelayFault> {
    if (this.#end !== undefined) return this.#end;
    try {
      return await this.#setAside();
    } catch (error) {
      this.#end = error instanceof LocalError ? error.fault : localErrors.bookingFailed(String(error));
      return this.#end;
    }
  }

  /** By the transcriber's own price where it has one: by its tokens, or by the length of the sound. */
  async #transcribed(told: JsonRecord | undefined): Promise<RelayFault | undefined> {
    const { clock, prices, ledger } = this.#tools;
    const { caller, model } = this.#speaker;
    const own = this.#transcriber ?? model;
    const price = prices().find(own, own, caller.group) ?? this.#price;
    const seconds = told?.["type"] === "duration" ? asNumber(told["seconds"]) : undefined;
    const counted =
      seconds === undefined
        ? undefined
        : ({ unit: "second", seconds: Math.min(seconds, MOST_SECONDS) } as const);
    const read = told && counted === undefined ? readUsage(told, BOUNDS)?.usage : undefined;
    if (read === undefined && counted === undefined) return undefined;
    const usage = read ?? NO_USAGE;
    const amount = counted === undefined ? charge(usage, price) : chargeUnits(counted, price);
    const content =
      counted === undefined ? explain(usage, price, amount) : explainUnits(counted, price, amount);
    const startedMs = clock.now();
    const requestId = newRequestId(startedMs);
    const { userId, tokenId } = caller;
    const verdict = await ledger.reserve({ requestId, userId, tokenId, amount, modelName: own });
    const sum = { usage, amount, content, isEstimated: false };
    await this.#book({ requestId, model: own, startedMs, sum });
    return verdict === "reserved" ? undefined : REFUSED[verdict]();
  }

  /** Books a response under what was set aside for it. */
  #bookResponse(making: Making, sum: Sum): Promise<void> {
    const { cover, startedMs } = making;
    const requestId = cover?.requestId ?? newRequestId(this.#tools.clock.now());
    return this.#book({ requestId, model: this.#speaker.model, startedMs, sum }, making);
  }

  async #book(entry: Entry, making?: Making): Promise<void> {
    const { requestId, model, startedMs, sum } = entry;
    const { ledger } = this.#tools;
    const call = {
      requestId,
      caller: this.#speaker.caller,
      channelId: this.#channelId,
      model,
      isStream: true,
      startedMs,
      firstByteMs: making?.firstMs ?? 0,
      attempts: this.trail,
    };
    const settlement = settlementOf(this.#tools, call, sum);
    const { charged } = await book(this.#tools, settlement).catch(async (error: unknown) => {
      await ledger.abandon(requestId).catch(() => undefined);
      throw error;
    });
    this.total.promptTokens += sum.usage.promptTokens;
    this.total.completionTokens += sum.usage.completionTokens;
    this.total.charged += charged;
  }

  /** What a response comes to so far: the whole conversation is its prompt. */
  #roughUsage({ text, audio }: Making): TokenUsage {
    return {
      promptTokens: this.#context + this.#said.text + this.#said.audio,
      completionTokens: text + audio,
      cachedTokens: 0,
      audioPromptTokens: this.#said.audio,
      audioCompletionTokens: audio,
    };
  }
}

const REFUSED = {
  user_quota: localErrors.userQuota,
  token_quota: localErrors.tokenQuota,
  user_disabled: localErrors.userDisabled,
  token_unusable: localErrors.keyInvalid,
} as const;
