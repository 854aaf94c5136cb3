// What text costs: by the tokens the upstream reported, else by those that are counted here.

import { kindsText } from "#contract/token-kinds.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { charge, estimate, estimateMore, explain, type Price, tierOf } from "#server/money/price.ts";
import { TEXT_ENDPOINTS } from "#server/relay/text/endpoints.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { valuesOf } from "#server/upstream/call/body.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import type { ReplyOutput } from "#server/upstream/handlers/handler.ts";
import { asNumber, asObject } from "#server/upstream/json/values.ts";
import { approximateTokens, type Countable, TOKENS_PER_BYTE } from "#server/upstream/tokens/counter.ts";
import { promptParts } from "#server/upstream/tokens/prompt.ts";
import { type ReadUsage, readUsage, type TokenUsage, type UsageBounds } from "#server/upstream/usage.ts";
import {
  type BillingServices,
  NO_USAGE,
  type Pricing,
  type Reply,
  type RunningPricing,
  type Sum,
} from "./pricing.ts";
import { MediaPricing } from "./pricing-media.ts";

/** Output reserved for a call that names no limit (requirements W10.2); a stream begins with less and asks for more. */
const WHOLE_OUTPUT = 4_096;
const STREAM_OUTPUT = 1_024;
/** The most a call can reserve for one answer. */
const MAX_OUTPUT = 131_072;
/** Anthropic reports a few tokens of output before there is any. */
const FORETOLD = 10;

export class TextPricing implements Pricing, RunningPricing {
  readonly firstTokens: number;
  readonly limit: number;
  readonly #tools: BillingServices;
  readonly #incoming: IncomingRequest;
  readonly promptTokens: number;

  constructor(tools: BillingServices, incoming: IncomingRequest) {
    const { maxTokens, choices } = incoming;
    this.#tools = tools;
    this.#incoming = incoming;
    this.promptTokens = estimatePrompt(incoming);
    this.firstTokens = expectedOutput(incoming);
    this.limit = maxTokens === undefined || maxTokens === 0 ? Number.POSITIVE_INFINITY : maxTokens * choices;
  }

  get running(): RunningPricing {
    return this;
  }

  firstAmount(price: Price): bigint {
    const floor = this.#tools.options.get("PreConsumedQuota");
    return estimate(this.promptTokens, this.firstTokens, price, floor);
  }

  fault(): undefined {
    return undefined;
  }

  isEmpty(reply: StreamReply): boolean {
    const told = this.#told(reply)?.usage?.completionTokens ?? 0;
    return estimateOutput(reply.output) === 0 && told <= FORETOLD;
  }

  atMost(reply: StreamReply): number {
    return estimateOutput(reply.output);
  }

  amountOf(tokens: number, price: Price): bigint {
    return estimateMore(tokens, tierOf(price, this.promptTokens));
  }

  least(reply: StreamReply): TokenUsage {
    const told = this.#told(reply)?.usage ?? NO_USAGE;
    return {
      ...told,
      promptTokens: told.promptTokens || leastPromptTokens(this.#incoming),
      completionTokens: Math.max(told.completionTokens, leastOutputTokens(reply.output)),
    };
  }

  /** What has come of a stream: as reported while it runs, else counted. Unit: LLM tokens. */
  async count(reply: StreamReply): Promise<number> {
    const told = this.#told(reply)?.usage?.completionTokens ?? 0;
    // Some upstreams report a few tokens at the beginning and the rest at the end.
    if (told > FORETOLD && told >= leastOutputTokens(reply.output)) return told;
    const { model } = this.#incoming;
    const counted = await this.#tools.tokens.count(model, { texts: [reply.text()], fixedTokens: 0 });
    return Math.max(told, counted);
  }

  /**
   * The charge of a call: by the usage that the upstream reported, else counted here, a promise. An unfinished stream is always counted
   * too, and the greater number is charged; `isGone`: the client left, which the entry remarks.
   */
  sum(reply: Reply, isGone: boolean, price: Price): Sum | Promise<Sum> {
    const read = this.#told(reply);
    const told = read?.usage;
    if (told !== undefined && told.promptTokens > 0 && !this.#isDoubtful(told, reply))
      return this.#summed(told, read, { isGone, price });
    const counting = told === undefined ? this.#count(reply) : this.#completed(told, reply);
    return counting.then((usage) => this.#summed(usage, read, { isGone, price }));
  }

  /** `read` = what the upstream reported, which may be this usage. */
  #summed(
    usage: TokenUsage,
    read: ReadUsage | undefined,
    { isGone, price }: { isGone: boolean; price: Price },
  ): Sum {
    const isTold = usage === read?.usage;
    const amount = charge(usage, price);
    const content =
      explain(usage, price, amount) + remarkOf({ isTold, isImpossible: read?.isImpossible, isGone });
    return { usage, amount, content, isEstimated: !isTold };
  }

  /** The usage the upstream reported, within what the request can have caused. */
  #told(reply: Reply): ReadUsage | undefined {
    if (reply?.usage === undefined) return undefined;
    const incoming = this.#incoming;
    const { usage, quirks } = reply;
    const bounds = boundsOf(incoming);
    const read = readUsage(usage, bounds, quirks);
    return read?.isImpossible === true ? readUsage(usage, widened(bounds, incoming, reply), quirks) : read;
  }

  /** Usage that is reported before the end, or without output, says little about the text that has come. */
  #isDoubtful(usage: TokenUsage, reply: Reply): boolean {
    if (TEXT_ENDPOINTS[this.#incoming.endpoint]?.isInputOnly === true) return false;
    return usage.completionTokens === 0 || (reply?.kind === "stream" && !reply.isFinished);
  }

  /** Some vendors never report the prompt of a stream; every request has one. Text that usage says little about is counted. */
  async #completed(usage: TokenUsage, reply: Reply): Promise<TokenUsage> {
    const incoming = this.#incoming;
    const { tokens } = this.#tools;
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

  /** Prompt and output received so far, counted here (the published rule of requirements M15). */
  async #count(reply: Reply): Promise<TokenUsage> {
    const incoming = this.#incoming;
    const { tokens } = this.#tools;
    const output = { texts: reply === undefined ? [] : [reply.text()], fixedTokens: 0 };
    const [promptTokens, completionTokens] = await Promise.all([
      tokens.count(incoming.model, promptOf(incoming)),
      TEXT_ENDPOINTS[incoming.endpoint]?.isInputOnly === true ? 0 : tokens.count(incoming.model, output),
    ]);
    return { promptTokens, completionTokens, cachedTokens: 0 };
  }
}

/** The output that is reserved before the call. Unit: LLM tokens. */
export function expectedOutput(incoming: IncomingRequest): number {
  const { endpoint, isStream, maxTokens, raisedTokens = 0, choices } = incoming;
  if (TEXT_ENDPOINTS[endpoint]?.isInputOnly === true) return 0;
  const limit = isStream ? STREAM_OUTPUT : WHOLE_OUTPUT;
  const most = Math.max(maxTokens ?? limit, raisedTokens);
  return Math.min(most, isStream ? limit : MAX_OUTPUT) * choices;
}

/** What a request may use, for limits of tokens per minute: its estimated input and its own limit of output, or what is expected. */
export function mostTokens(incoming: IncomingRequest): number {
  const { task, maxTokens, choices } = incoming;
  if (task !== undefined) return 0;
  return estimatePrompt(incoming) + (maxTokens ? maxTokens * choices : expectedOutput(incoming));
}

/** The parts of the prompt to count; only here the whole body is parsed. */
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

/** An image of 1024 × 1024, and any image in low detail (requirements W11.3). */
const IMAGE_TOKENS = 765;
const LEAST_IMAGE_TOKENS = 85;
/** Most text has at least four bytes a token, in whatever language, and at most six; code has fewer. */
const LEAST_BYTES_PER_TOKEN = 4;
const MOST_BYTES_PER_TOKEN = 6;
/** Of text in any language. */
const LEAST_CHARS_PER_TOKEN = 1.2;

/** The most a prompt can have: text by its bytes, media by the cost of an image of common size. Unit: LLM tokens. */
export function estimatePrompt(incoming: IncomingRequest): number {
  const { endpoint, tally, body } = incoming;
  if (TEXT_ENDPOINTS[endpoint]?.isQuestionRepeated === true)
    return approximateTokens(promptParts(endpoint, valuesOf(body)));
  return Math.trunc(tally.textBytes * TOKENS_PER_BYTE) + tally.media * IMAGE_TOKENS + given(incoming);
}

/** The least a prompt can have. Unit: LLM tokens. */
function leastPromptTokens(incoming: IncomingRequest): number {
  const { textBytes, media } = incoming.tally;
  return Math.trunc(textBytes / MOST_BYTES_PER_TOKEN) + media * LEAST_IMAGE_TOKENS + given(incoming);
}

/** The most that text can have: with events of one token each, the events count. Unit: LLM tokens. */
export function estimateOutput({ textPieces, textBytes }: ReplyOutput): number {
  return Math.max(textPieces, Math.ceil(textBytes / LEAST_BYTES_PER_TOKEN));
}

/** The least that text can have: an event has a token or more, unless they come character by character. Unit: LLM tokens. */
export function leastOutputTokens({ textPieces, textChars, textBytes }: ReplyOutput): number {
  const pieces = textChars < textPieces * LEAST_CHARS_PER_TOKEN ? 0 : textPieces;
  return Math.max(pieces, Math.trunc(textBytes / MOST_BYTES_PER_TOKEN));
}

/** A prompt can be given as token numbers. */
function given({ endpoint, tally }: IncomingRequest): number {
  return TEXT_ENDPOINTS[endpoint]?.takesNumbers === true ? tally.numbers : 0;
}

/** The most that is believed of an upstream that was given no limit. */
const MAX_BELIEVED_OUTPUT = 1_000_000;
/** A prompt has no more tokens than bytes, but for instructions that an upstream adds: Grok's have some 700, resellers' a few thousand. */
const PROMPT_SLACK = 4_096;
/** The tokens of a picture, a sound or a document that is given by address, or compressed. */
const MEDIA_TOKENS = 16_384;
/** Reasoning that is reported but not shown, and that a vendor may count beyond the client's limit. */
const MOST_REASONING = 131_072;
/** Documents at addresses, and an upstream's own searches, can fill a whole context. */
const FOUND_TOKENS = 1_048_576;
/** The real count is at most so many times the estimate. */
const REREAD = 3;

function boundsOf({ endpoint, body, tally, maxTokens, choices }: IncomingRequest): UsageBounds {
  const promptTokens = body.bytes.length + PROMPT_SLACK + MEDIA_TOKENS * tally.media;
  if (TEXT_ENDPOINTS[endpoint]?.isInputOnly === true) return { promptTokens, completionTokens: 0 };
  const each =
    maxTokens === undefined || maxTokens === 0
      ? MAX_BELIEVED_OUTPUT
      : Math.min(maxTokens, MAX_BELIEVED_OUTPUT);
  return { promptTokens, completionTokens: each * choices };
}

/**
 * The bounds for a usage that is beyond the first ones: an upstream may ignore the client's limit, and then what came counts;
 * and the documents and web pages it reads are not in the request.
 */
function widened(
  bounds: UsageBounds,
  incoming: IncomingRequest,
  reply: WholeReply | StreamReply,
): UsageBounds {
  const { endpoint, model, body } = incoming;
  const isOpen = FINDERS.test(model) || FINDINGS.some((name) => body.bytes.includes(name));
  const documents = TEXT_ENDPOINTS[endpoint]?.isQuestionRepeated === true ? estimatePrompt(incoming) : 0;
  const heard =
    TEXT_ENDPOINTS[endpoint]?.isInputOnly === true ? 0 : Buffer.byteLength(reply.text()) + hiddenIn(reply);
  return {
    promptTokens: bounds.promptTokens + (isOpen ? FOUND_TOKENS : 0) + documents * REREAD,
    completionTokens: Math.max(bounds.completionTokens, heard),
  };
}

function hiddenIn({ usage }: WholeReply | StreamReply): number {
  const details =
    asObject(usage?.["completion_tokens_details"]) ?? asObject(usage?.["output_tokens_details"]);
  return Math.min(asNumber(details?.["reasoning_tokens"]) ?? 0, MOST_REASONING);
}

/** Models that search by themselves. */
const FINDERS = /search|research|internet|sonar|compound/i;
/** Begins of the names by which requests refer to documents and allow searches, in all formats. */
const FINDINGS = [
  "file",
  "document",
  "video_url",
  "cachedContent",
  "cached_content",
  // Gemini 4's answer so far, which stays at Google's, is read again (vendor docs, "Long decode").
  "continuation",
  "web_",
  "$web_",
  "googleSearch",
  "google_search",
  "urlContext",
  "url_context",
  "code_",
  "codeExecution",
  "computer",
  "mcp",
  "plugins",
  "enable_search",
  "search_",
  "bash_",
  "text_editor",
  "tool_search",
  "data_sources",
  "knowledge",
  "retrieval",
].map((name) => Buffer.from(`"${name}`));

/** How a request is priced. */
export function pricingOf(tools: BillingServices, incoming: IncomingRequest): Pricing {
  const { task } = incoming;
  return task === undefined ? new TextPricing(tools, incoming) : new MediaPricing(task);
}

/** The request with the most output that a rule of its channels may ask for: what is set aside follows (requirements C35). */
export function raisedBy(candidates: readonly LiveChannel[], incoming: IncomingRequest): IncomingRequest {
  let asked = 0;
  for (const { rewrite } of candidates) if (rewrite !== undefined) asked = Math.max(asked, rewrite.raisesTo);
  if (asked === 0) return incoming;
  const { maxTokens } = incoming;
  const raised = Math.min(asked, MAX_OUTPUT);
  if (maxTokens === undefined || maxTokens === 0) return { ...incoming, raisedTokens: raised };
  return raised <= maxTokens ? incoming : { ...incoming, maxTokens: raised };
}

/** What a receipt tells of a call's tokens beside plain ones. */
export function kindsOfUsage(usage: TokenUsage): string {
  const isPlain =
    !usage.cacheWriteTokens &&
    !usage.reasoningTokens &&
    !usage.audioPromptTokens &&
    !usage.imagePromptTokens &&
    !usage.audioCompletionTokens &&
    !usage.imageCompletionTokens;
  // Most calls: nothing is made for them. What is written for an hour is part of what is written to the cache.
  if (isPlain) return "";
  return kindsText({
    cache_write: usage.cacheWriteTokens,
    cache_write_hour: usage.cacheWriteHourTokens,
    audio_input: usage.audioPromptTokens,
    image_input: usage.imagePromptTokens,
    reasoning: usage.reasoningTokens,
    audio_output: usage.audioCompletionTokens,
    image_output: usage.imageCompletionTokens,
  });
}
