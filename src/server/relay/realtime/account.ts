// What a realtime conversation costs, response by response (vendors/realtime): the next one is always reserved before it can begin, a
// response beside another one when it begins, and each is booked as soon as it is done. Knows prices and no sockets.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { LimitRefusal, ReserveVerdict } from "#server/money/operations.ts";
import { charge, estimate, estimateMore, explain, type Price } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";
import type { LimitRef } from "#server/money/rows.ts";
import { chargeUnits, explainUnits } from "#server/money/units.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { plansOf, windowFault } from "#server/relay/admission/call-limits.ts";
import { windowsOf } from "#server/relay/admission/set-limits.ts";
import { book, faultBelowCost, held, settlementOf } from "#server/relay/billing/account.ts";
import { costCapOf } from "#server/relay/billing/cost-cap.ts";
import { type BillingServices, NO_USAGE, type Sum } from "#server/relay/billing/pricing.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { newRequestId } from "#server/secrets.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { asNumber, type JsonRecord } from "#server/upstream/json/values.ts";
import type { RealtimeNews } from "#server/upstream/realtime/events.ts";
import { readUsage, type TokenUsage } from "#server/upstream/usage.ts";
import { ResponseReservation } from "./extension.ts";

/** The caller and the model of a conversation. */
export interface BilledSession {
  readonly caller: Caller;
  readonly model: string;
  /** Told of what each response has used. */
  readonly onUsed?: (usage: TokenUsage) => void;
}

/** What one booking is about. */
interface Entry {
  readonly requestId: string;
  readonly model: string;
  readonly price: Price;
  readonly startedMs: number;
  readonly sum: Sum;
}

/** A response that is not done yet, as far as it has come. */
interface RunningResponse {
  readonly startedMs: number;
  /** undefined = nothing is, or could be, reserved for it. */
  reservation: ResponseReservation | undefined;
  firstMs: number;
  text: number;
  audio: number;
}

/** Reserved for the first input of a conversation, and for the answer to it. Unit: LLM tokens. */
const FIRST_PROMPT = 1_024;
const FIRST_OUTPUT = 1_024;
/** More is requested when a response comes this near to its reservation. */
const MARGIN_TOKENS = 256;
/** Five minutes: a microphone sends mostly silence, which never becomes part of the conversation. */
const MOST_SOUND = 3_000;
/** No turn of a conversation is longer than an hour. */
const MOST_SECONDS = 3_600;
/** No context of any model is longer. */
const BOUNDS = { promptTokens: 2_000_000, completionTokens: 1_000_000 };
const REMARK_ESTIMATED = "（上游未返回用量，按本地估算）";
const REMARK_BROKEN = "（会话提前结束，按已收到的内容计）";
const REMARK_IMPOSSIBLE = "（上游用量异常，不予采信，按本地估算）";

type Windows = ReturnType<typeof windowsOf>;

/** The caller's windows and those of the channel. */
function withLimits(
  windows: Windows,
  more: readonly LimitRef[],
  options: Pick<BillingServices["options"], "get">,
): Windows {
  if (more.length === 0) return windows;
  return { limits: [...(windows?.limits ?? []), ...more], zone: options.get("BudgetTimeZone") };
}

export class RealtimeBill {
  /** LLM tokens and quota booked so far, for the log line at the end. */
  readonly total = { promptTokens: 0, completionTokens: 0, charged: 0n };
  /** How its channel was found before the conversation began, as the log keeps it. */
  trail = "";
  readonly #tools: BillingServices;
  readonly #session: BilledSession;
  /** Those that its first response was reserved by, whatever is published while it lasts. */
  readonly #prices: PriceBook;
  #price: Price;
  #channel: LiveChannel | undefined;
  #channelLimits: readonly LimitRef[] = [];
  /** The reservation for the next response. */
  #spare: ResponseReservation | undefined;
  /** Why nothing more is reserved: the conversation ends with it. */
  #end: RelayFault | undefined;
  /** Length of the conversation as last reported, and the client's input since. */
  #context = 0;
  #said = { text: 0, audio: 0 };
  readonly #running = new Map<string, RunningResponse>();
  #transcriber: string | undefined;
  #isNarrow = false;

  constructor(tools: BillingServices, session: BilledSession, price: Price) {
    this.#tools = tools;
    this.#session = session;
    this.#prices = tools.prices();
    this.#price = price;
  }

  /** Sound comes as G.711. */
  get isNarrow(): boolean {
    return this.#isNarrow;
  }

  /** Reserves for the next response. Throws: LocalError. */
  async reserve(): Promise<void> {
    this.#spare = await this.#setAside();
  }

  /** Throws: LocalError. */
  async #setAside(): Promise<ResponseReservation> {
    const { caller, model } = this.#session;
    const { ledger, options, clock } = this.#tools;
    const prompt = Math.max(FIRST_PROMPT, this.#context + this.#said.text + this.#said.audio);
    const amount = held(
      this.#tools,
      estimate(prompt, FIRST_OUTPUT, this.#price, options.get("PreConsumedQuota")),
      caller,
    );
    const cap = costCapOf(caller, model, clock.seconds());
    if (cap !== undefined && amount > cap.amount) throw new LocalError(limitErrors.tooDear(cap.row));
    const requestId = newRequestId(clock.now());
    const { payerId: userId, tokenId } = caller;
    const windows = {
      ...withLimits(windowsOf(caller, model, options), this.#channelLimits, options),
      ...plansOf(caller, model),
    };
    const verdict = await ledger.reserve({
      requestId,
      userId,
      tokenId,
      amount,
      modelName: model,
      ...windows,
    });
    if (verdict !== "reserved") throw new LocalError(this.#refusal(verdict));
    return new ResponseReservation(this.#tools, { requestId, caller, amount, cap });
  }

  /**
   * Counts the reservation that there is in windows of the channel that is to be called, and each later one too: those are never refused,
   * since a conversation that has begun goes on.
   */
  async holdFor(limits: readonly LimitRef[]): Promise<LimitRefusal | undefined> {
    const { ledger, options } = this.#tools;
    const zone = options.get("BudgetTimeZone");
    const refusal = this.#spare && (await ledger.hold(this.#spare.requestId, { limits, zone }));
    if (refusal === undefined) this.#channelLimits = limits;
    return refusal;
  }

  /** The channel that is to be called now; it may map to a name with a price of its own. Returns why it is not called; undefined = it is. */
  priceFor(channel: LiveChannel): RelayFault | undefined {
    const { caller, model } = this.#session;
    this.#channel = channel;
    const found = this.#prices.find(model, channel.mapping.get(model) ?? model, caller.group);
    this.#price = found ?? this.#price;
    const wanted = { model, promptTokens: FIRST_PROMPT, isSpoken: true };
    return faultBelowCost(this.#tools, { channel, sold: this.#price }, wanted);
  }

  /** Notes input of the client. */
  said({ tokens, isAudio }: { readonly tokens: number; readonly isAudio: boolean }): void {
    if (isAudio) this.#said.audio = Math.min(this.#said.audio + tokens, MOST_SOUND);
    else this.#said.text += tokens;
  }

  /** Handles an event of the server. Bookings are done before the promise resolves; it resolves with why the conversation must end. */
  heard(news: RealtimeNews): RelayFault | undefined | Promise<RelayFault | undefined> {
    switch (news.kind) {
      case "session":
        this.#transcriber = news.transcriber;
        this.#isNarrow = news.isNarrow;
        return undefined;
      case "begun":
        return this.#checkReserved(this.#runningOf(news.response));
      case "output": {
        const running = this.#runningOf(news.response);
        if (running.firstMs === 0) running.firstMs = this.#tools.clock.now();
        if (news.isAudio) running.audio += news.tokens;
        else running.text += news.tokens;
        return this.#checkReserved(running);
      }
      case "done":
        return this.#done(news);
      case "transcribed":
        return this.#transcribed(news.usage);
      default:
        throw new Error(`unknown news ${JSON.stringify(news satisfies never)}`);
    }
  }

  /** The conversation is over: unfinished responses are charged as far as they came, unused reservations are released. */
  async close(): Promise<void> {
    const spare = this.#spare;
    this.#spare = undefined;
    const unfinished = [...this.#running.values()];
    this.#running.clear();
    const ends = unfinished.map((running) => this.#bookBroken(running));
    if (spare !== undefined) ends.push(this.#tools.ledger.release(spare.requestId));
    // A booking that fails keeps none of the others open.
    for (const end of await Promise.allSettled(ends)) if (end.status === "rejected") throw end.reason;
  }

  #bookBroken(running: RunningResponse): Promise<void> {
    const usage = this.#estimatedUsage(running);
    const amount = charge(usage, this.#price);
    const content = explain(usage, this.#price, amount) + REMARK_BROKEN;
    return this.#bookResponse(running, { usage, amount, content, isEstimated: true });
  }

  /** The running response of an id; a new one takes the reservation for the next. */
  #runningOf(response: string): RunningResponse {
    let running = this.#running.get(response);
    if (running === undefined) {
      const startedMs = this.#tools.clock.now();
      running = { startedMs, reservation: this.#spare, firstMs: 0, text: 0, audio: 0 };
      this.#spare = undefined;
      this.#running.set(response, running);
    }
    return running;
  }

  /**
   * Makes sure that a reservation suffices for what has come of a response: a response beside others gets its own now, and more is
   * requested before it runs out. A fault = there is no more; a promise = not known yet: meanwhile nothing is passed on (requirements M04).
   */
  #checkReserved(running: RunningResponse): RelayFault | undefined | Promise<RelayFault | undefined> {
    const { reservation } = running;
    if (reservation !== undefined) return this.#check(running, reservation);
    return this.#trySetAside().then((made) => {
      if (!(made instanceof ResponseReservation)) return made;
      running.reservation = made;
      return this.#check(running, made);
    });
  }

  #check(
    running: RunningResponse,
    reservation: ResponseReservation,
  ): ReturnType<ResponseReservation["check"]> {
    if (running.firstMs === 0) return undefined;
    const usage = this.#estimatedUsage(running);
    const { promptTokens, completionTokens } = usage;
    const seen = {
      promptTokens,
      completionTokens,
      charge: charge(usage, this.#price),
      channelId: this.#channel?.id ?? 0,
    };
    return reservation.check(seen, estimateMore(MARGIN_TOKENS, this.#price));
  }

  async #done(news: RealtimeNews & { kind: "done" }): Promise<RelayFault | undefined> {
    const { response, usage, hasFailed } = news;
    const running = this.#runningOf(response);
    const read = usage && readUsage(usage, BOUNDS);
    // Nothing is charged for a failure before output.
    if (hasFailed && read?.usage === undefined && running.firstMs === 0)
      return this.#dropped(response, running);
    const counted = read?.usage ?? this.#estimatedUsage(running);
    this.#running.delete(response);
    const amount = charge(counted, this.#price);
    const isEstimated = read?.usage === undefined;
    const remark = read?.isImpossible === true ? REMARK_IMPOSSIBLE : isEstimated ? REMARK_ESTIMATED : "";
    const content = explain(counted, this.#price, amount) + remark;
    await this.#bookResponse(running, { usage: counted, amount, content, isEstimated });
    this.#context = counted.promptTokens + counted.completionTokens;
    this.#said = { text: 0, audio: 0 };
    if (this.#spare !== undefined) return undefined;
    const next = await this.#trySetAside();
    if (!(next instanceof ResponseReservation)) return next;
    this.#spare = next;
    return undefined;
  }

  /** The reservation of a response that failed before output serves the next one. */
  async #dropped(response: string, { reservation }: RunningResponse): Promise<undefined> {
    this.#running.delete(response);
    if (this.#spare === undefined) this.#spare = reservation;
    else if (reservation !== undefined) await this.#tools.ledger.release(reservation.requestId);
  }

  /** Reserves for a response; a fault = there is no quota left for it. */
  async #trySetAside(): Promise<ResponseReservation | RelayFault> {
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
    const { clock, ledger } = this.#tools;
    const { caller, model } = this.#session;
    const own = this.#transcriber ?? model;
    const price = this.#prices.find(own, own, caller.group) ?? this.#price;
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
    const { payerId: userId, tokenId } = caller;
    const windows = { ...windowsOf(caller, own, this.#tools.options), ...plansOf(caller, own) };
    const verdict = await ledger.reserve({ requestId, userId, tokenId, amount, modelName: own, ...windows });
    const sum = { usage, amount, content, isEstimated: false };
    await this.#book({ requestId, model: own, price, startedMs, sum });
    return verdict === "reserved" ? undefined : this.#refusal(verdict);
  }

  #refusal(verdict: Exclude<ReserveVerdict, "reserved">): RelayFault {
    if (typeof verdict === "string") return REFUSED[verdict]();
    const { options, clock } = this.#tools;
    const now = { zone: options.get("BudgetTimeZone"), nowMs: clock.now() };
    return windowFault(this.#session.caller, verdict, now);
  }

  /** Books a response under its reservation. */
  async #bookResponse(running: RunningResponse, sum: Sum): Promise<void> {
    const { reservation, startedMs } = running;
    const requestId = reservation?.requestId ?? newRequestId(this.#tools.clock.now());
    const { model } = this.#session;
    await this.#book({ requestId, model, price: this.#price, startedMs, sum }, running);
    this.#session.onUsed?.(sum.usage);
  }

  async #book(entry: Entry, running?: RunningResponse): Promise<void> {
    const { requestId, model, price, startedMs, sum } = entry;
    const { ledger } = this.#tools;
    const call = {
      requestId,
      caller: this.#session.caller,
      channel: this.#channel,
      price,
      model,
      isStream: true,
      startedMs,
      firstByteMs: running?.firstMs ?? 0,
      trail: this.trail,
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
  #estimatedUsage({ text, audio }: RunningResponse): TokenUsage {
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
