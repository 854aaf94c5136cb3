// What a realtime conversation costs, response by response (providers 17.4): the next one is always set aside before it can begin, and
// each is booked as soon as it is done. Knows prices and no sockets.
import type { LiveChannel } from "#server/channels/candidates.ts";
import { charge, estimate, explain, type Price } from "#server/money/price.ts";
import { chargeUnits, explainUnits } from "#server/money/units.ts";
import { newRequestId } from "#server/secrets.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import { asNumber, type JsonRecord, type TokenUsage } from "#server/upstream/hub.ts";
import type { RealtimeNews } from "#server/upstream/realtime-events.ts";
import { readUsage } from "#server/upstream/usage.ts";
import type { Caller } from "./admit.ts";
import { type BillTools, held } from "./bill.ts";
import { Refusal, refusals } from "./refusal.ts";

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
  readonly usage: TokenUsage;
  readonly amount: bigint;
  readonly content: string;
  readonly isEstimated: boolean;
}

/** A response that is being made, as far as it has come. */
interface Making {
  readonly startedMs: number;
  firstMs: number;
  text: number;
  audio: number;
}

/** Set aside for the first words of a conversation, and for the answer to them. Unit: LLM tokens. */
const FIRST_PROMPT = 1_024;
const FIRST_OUTPUT = 1_024;
/** More is asked for when it comes this near to what was set aside. */
const MARGIN_TOKENS = 256;
const LOOK_MS = 250;
/** Five minutes: what a microphone sends is mostly silence, which never becomes part of the conversation. */
const MOST_SOUND = 3_000;
/** No turn of a conversation is longer than an hour. */
const MOST_SECONDS = 3_600;
/** No context of any model is longer. */
const BOUNDS = { promptTokens: 2_000_000, completionTokens: 1_000_000 };
const NOTHING: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
const REMARK_ESTIMATED = "（上游未返回用量，按本地估算）";
const REMARK_BROKEN = "（会话提前结束，按已收到的内容计）";
const REMARK_ANOMALOUS = "（上游用量异常，已按上限计）";

export class RealtimeBill {
  /** LLM tokens and quota booked so far, for the log line at the end. */
  readonly total = { promptTokens: 0, completionTokens: 0, charged: 0n };
  /** Channels that were called in vain before the conversation began, as the log keeps them. */
  trail = "";
  readonly #tools: BillTools;
  readonly #speaker: Speaker;
  #price: Price;
  #channelId = 0;
  /** What the next response is set aside under; "" = nothing is. */
  #requestId = "";
  #reserved = 0n;
  /** Length of the conversation as it was last told, and what was said since. */
  #context = 0;
  #said = { text: 0, audio: 0 };
  readonly #making = new Map<string, Making>();
  #transcriber: string | undefined;
  #isNarrow = false;
  /** Whether there is more is not known yet. */
  #asking: Promise<RelayFault | undefined> | undefined;
  #isRefused = false;
  #lookedMs = 0;

  constructor(tools: BillTools, speaker: Speaker, price: Price) {
    this.#tools = tools;
    this.#speaker = speaker;
    this.#price = price;
  }

  /** Sound comes as G.711. */
  get isNarrow(): boolean {
    return this.#isNarrow;
  }

  /** Sets the next response aside. Throws: Refusal. */
  async reserve(): Promise<void> {
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
    if (verdict !== "reserved") throw new Refusal(REFUSED[verdict]());
    this.#requestId = requestId;
    this.#reserved = amount;
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
        this.#makingOf(news.response);
        return undefined;
      case "output": {
        const making = this.#makingOf(news.response);
        if (making.firstMs === 0) making.firstMs = this.#tools.clock.now();
        if (news.isAudio) making.audio += news.tokens;
        else making.text += news.tokens;
        return this.#look();
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
    const [making] = this.#making.values();
    if (making === undefined) {
      const requestId = this.#requestId;
      this.#requestId = "";
      if (requestId !== "") await this.#tools.ledger.release(requestId);
      return;
    }
    const requestId = this.#takeRequestId();
    const usage = this.#roughUsage();
    this.#making.clear();
    const amount = charge(usage, this.#price);
    const content = explain(usage, this.#price, amount) + REMARK_BROKEN;
    const { model } = this.#speaker;
    await this.#book({ requestId, model, ...making, usage, amount, content, isEstimated: true }, making);
  }

  #makingOf(response: string): Making {
    let making = this.#making.get(response);
    if (making === undefined) {
      making = { startedMs: this.#tools.clock.now(), firstMs: 0, text: 0, audio: 0 };
      this.#making.set(response, making);
    }
    return making;
  }

  /** Of several responses at once only one is set aside; each of them is booked. */
  #takeRequestId(): string {
    const requestId = this.#requestId;
    this.#requestId = "";
    return requestId === "" ? newRequestId(this.#tools.clock.now()) : requestId;
  }

  async #done({ response, usage }: RealtimeNews & { kind: "done" }): Promise<RelayFault | undefined> {
    const making = this.#makingOf(response);
    const read = usage && readUsage(usage, BOUNDS);
    const counted = read?.usage ?? this.#roughUsage();
    this.#making.delete(response);
    const amount = charge(counted, this.#price);
    const remark = read === undefined ? REMARK_ESTIMATED : read.isAnomalous ? REMARK_ANOMALOUS : "";
    const content = explain(counted, this.#price, amount) + remark;
    const requestId = this.#takeRequestId();
    const { model } = this.#speaker;
    const isEstimated = read === undefined;
    await this.#book({ requestId, model, ...making, usage: counted, amount, content, isEstimated }, making);
    this.#context = counted.promptTokens + counted.completionTokens;
    this.#said = { text: 0, audio: 0 };
    return this.#next();
  }

  /** Sets the next response aside; a fault = there is nothing left for it. */
  async #next(): Promise<RelayFault | undefined> {
    try {
      await this.reserve();
      return undefined;
    } catch (error) {
      return error instanceof Refusal ? error.fault : refusals.bookingFailed(String(error));
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
    const read = told && counted === undefined ? readUsage(told, BOUNDS) : undefined;
    if (read === undefined && counted === undefined) return undefined;
    const usage = read?.usage ?? NOTHING;
    const amount = counted === undefined ? charge(usage, price) : chargeUnits(counted, price);
    const content =
      counted === undefined ? explain(usage, price, amount) : explainUnits(counted, price, amount);
    const startedMs = clock.now();
    const requestId = newRequestId(startedMs);
    const { userId, tokenId } = caller;
    const verdict = await ledger.reserve({ requestId, userId, tokenId, amount, modelName: own });
    await this.#book({ requestId, model: own, startedMs, usage, amount, content, isEstimated: false });
    return verdict === "reserved" ? undefined : REFUSED[verdict]();
  }

  async #book(entry: Entry, making?: Making): Promise<void> {
    const { requestId, model, startedMs, usage, amount, content, isEstimated } = entry;
    const { userId, tokenId } = this.#speaker.caller;
    const { ledger, options, clock, events } = this.#tools;
    const firstMs = making?.firstMs ?? 0;
    const channelId = this.#channelId;
    const { charged, shortfall } = await ledger.settle({
      requestId,
      userId,
      tokenId,
      channelId,
      charge: amount,
      usage,
      log: options.get("LogConsumeEnabled")
        ? {
            content,
            model_name: model,
            elapsed_time: clock.now() - startedMs,
            first_byte_time: firstMs === 0 ? 0 : Math.max(1, firstMs - startedMs),
            is_stream: 1,
            estimated: isEstimated ? 1 : 0,
            trail: this.trail,
          }
        : null,
    });
    this.total.promptTokens += usage.promptTokens;
    this.total.completionTokens += usage.completionTokens;
    this.total.charged += charged;
    const quota = Number(shortfall);
    if (quota > 0) events.fellShort({ requestId, userId, tokenId, channelId, quota });
  }

  /** What the responses that are being made come to so far: the whole conversation is their prompt. */
  #roughUsage(): TokenUsage {
    let text = 0;
    let audio = 0;
    for (const making of this.#making.values()) {
      text += making.text;
      audio += making.audio;
    }
    return {
      promptTokens: this.#context + this.#said.text + this.#said.audio,
      completionTokens: text + audio,
      cachedTokens: 0,
      audioPromptTokens: this.#said.audio,
      audioCompletionTokens: audio,
    };
  }

  /**
   * What has come is noted, and more asked for before it runs out. A fault = there is no more; a promise = what was set aside is used
   * up, and whether there is more is not known yet: meanwhile nothing is handed on (reliability M04).
   */
  #look(): RelayFault | undefined | Promise<RelayFault | undefined> {
    if (this.#isRefused) return refusals.quotaRanOut();
    if (this.#requestId === "" || this.#making.size === 0) return undefined;
    const usage = this.#roughUsage();
    const used = charge(usage, this.#price);
    this.#note(used, usage);
    const needed = used + estimate(0, MARGIN_TOKENS, this.#price, 0);
    if (needed > this.#reserved) this.#asking ??= this.#askForMore(needed);
    return used > this.#reserved ? this.#asking : undefined;
  }

  /** For recovery, every so often. */
  #note(used: bigint, { promptTokens, completionTokens }: TokenUsage): void {
    const now = this.#tools.clock.now();
    if (now - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = now;
    const seen = { charge: used, promptTokens, completionTokens, channelId: this.#channelId };
    this.#tools.ledger.checkpoint(this.#requestId, seen);
  }

  /** As much again as is needed: few questions, however long the conversation. Never rejects. */
  async #askForMore(needed: bigint): Promise<RelayFault | undefined> {
    const requestId = this.#requestId;
    const more = needed * 2n - this.#reserved;
    try {
      const isGranted = await this.#tools.ledger.extend(requestId, more);
      // Meanwhile the response may have been booked.
      if (requestId !== this.#requestId) return undefined;
      if (isGranted) this.#reserved += more;
      else this.#isRefused = true;
      return isGranted ? undefined : refusals.quotaRanOut();
    } catch (error) {
      // The bank is in trouble, and has tried for some seconds: the next piece asks again, unless this one had to wait.
      return refusals.bankClosed(String(error));
    } finally {
      this.#asking = undefined;
    }
  }
}

const REFUSED = {
  user_quota: refusals.userQuota,
  token_quota: refusals.tokenQuota,
  user_disabled: refusals.userDisabled,
  token_unusable: refusals.keyInvalid,
} as const;
