// The handler of OpenAI's own wire: bodies and events pass through and are only observed, but for what quirks of the row ask for.
import type { Quirks } from "#contract/providers.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import { FINISHES, splitContent } from "#server/upstream/hub/chat-reply.ts";
import {
  DONE_EVENT,
  dataText,
  fieldOf,
  isDone,
  renderEvent,
  type SseEvent,
} from "#server/upstream/hub/sse.ts";
import { asList, asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { findUsage, Seen, UsageObserver } from "#server/upstream/usage.ts";
import {
  countEvent,
  errorAtFirst,
  errorIn200,
  judgeReply,
  parseObject,
  type ReplyContext,
  readReply,
} from "./classify.ts";
import { EventStreamHandler } from "./events.ts";
import type { EventAction, ResponseHandler, StreamObserver, Whole } from "./handler.ts";

export class PassThroughHandler extends EventStreamHandler<ChatStreamOptions> implements ResponseHandler {
  observer(): StreamObserver {
    return new ChatStreamObserver(this.options);
  }

  whole(body: Buffer): Whole | RelayFault {
    const { quirks } = this.options;
    // The body is parsed completely only if a quirk concerns the choices.
    const isAll =
      quirks?.usageIn === "choices[0].usage" ||
      quirks?.ownWords === true ||
      quirks?.answerEvents !== undefined;
    const reply = isAll ? parseObject(body) : readReply(body);
    const fault = judgeReply(reply, this.options);
    if (fault !== undefined || reply === undefined) return fault ?? unreadableFault("no JSON object", 200);
    const plain = tidied(reply, quirks);
    const bytes = plain === undefined ? body : Buffer.from(JSON.stringify(plain));
    return {
      kind: "body",
      body: bytes,
      usage: findUsage(reply, quirks),
      text: () => textIn(answerOf(bytes, reply, quirks)),
    };
  }

  wholeAsStream(body: Buffer): { observer: StreamObserver; bytes: Uint8Array } | RelayFault {
    const reply = parseObject(body);
    const fault = judgeReply(reply, this.options);
    if (fault !== undefined || reply === undefined) return fault ?? unreadableFault("no JSON object", 200);
    const observer = new ChatStreamObserver(this.options);
    observer.usage = findUsage(reply, this.options.quirks);
    observer.output.scan(body, 0, body.length);
    const plain = tidied(reply, this.options.quirks) ?? reply;
    return { observer, bytes: wholeAsEvents(plain, !this.options.hidesUsage) };
  }

  first(event: SseEvent): RelayFault | undefined {
    const { endpoint, secrets } = this.options;
    const error = errorAtFirst(event, endpoint === "completions" ? endpoint : "chat");
    return error && this.fault({ ...error, secrets });
  }

  fault(error: UpstreamError): RelayFault {
    return statusFault(error);
  }
}

/** The generated part of a whole reply. */
function answerOf(body: Buffer, { choices }: JsonRecord, quirks: Quirks | undefined): Buffer {
  return quirks?.answerEvents === undefined ? body : Buffer.from(JSON.stringify({ choices }));
}

/** The generated text of a whole reply on OpenAI's wire. */
function textIn(body: Buffer): string {
  const observer = new UsageObserver();
  observer.scan(body, 0, body.length);
  return observer.text();
}

interface ChatStreamOptions extends ReplyContext {
  /** The gateway requested usage and the client did not: a chunk with nothing but usage is withheld. */
  readonly hidesUsage: boolean;
}

export class ChatStreamObserver implements StreamObserver {
  readonly output = new UsageObserver();
  usage: JsonRecord | undefined;
  isFinished = false;
  events = 0;
  readonly #options: ChatStreamOptions;
  /** Whether the row needs every event parsed. */
  readonly #isCurious: boolean;

  constructor(options: ChatStreamOptions) {
    this.#options = options;
    const { quirks } = options;
    this.#isCurious =
      quirks?.errorIn200 !== undefined ||
      quirks?.endsWithWholeReply === true ||
      quirks?.ownWords === true ||
      quirks?.dropsEmptyChunks === true;
  }

  take(event: SseEvent): EventAction {
    const { data, dataStart, dataEnd } = event;
    if (dataStart < 0 || dataStart === dataEnd) return "pass";
    const named = this.#takeNamed(event);
    if (named !== undefined) return named;
    // `[DONE]` is the only payload that begins with a bracket.
    if (data[dataStart] !== 0x7b && isDone(event)) {
      // Some upstreams never send a finish reason; with the terminator their reported usage is final too.
      this.isFinished = true;
      return "done";
    }
    this.events = countEvent(this.events, event);
    const known = this.#isCurious ? parseObject(data.subarray(dataStart, dataEnd)) : undefined;
    // A repeated answer is not counted twice: without reported usage the observed text is charged.
    const output = this.#repeats(known) ? new UsageObserver() : this.output;
    const seen = output.scan(data, dataStart, dataEnd);
    if ((seen & Seen.finish) !== 0) this.isFinished = true;
    if ((seen & (Seen.usage | Seen.error)) === 0 && !this.#isCurious) return "pass";
    const chunk = known ?? parseObject(data.subarray(dataStart, dataEnd));
    return chunk === undefined
      ? unreadableFault("a stream event is no JSON object", 200)
      : this.#judge(chunk);
  }

  tail(): Uint8Array {
    return DONE_EVENT;
  }

  /** The action for an event whose name says that it is no part of the answer; undefined = it is a part. */
  #takeNamed(event: SseEvent): EventAction | undefined {
    const { quirks, secrets } = this.#options;
    if (quirks?.answerEvents === undefined) return undefined;
    const name = fieldOf(event, "event");
    if (quirks.answerEvents.includes(name)) return undefined;
    if (name !== "error") return "pass";
    this.events += 1;
    const body = readJson(dataText(event));
    return statusFault({ status: 502, body, text: dataText(event), retryAfterMs: 0, secrets });
  }

  #judge(chunk: JsonRecord): EventAction {
    const { quirks } = this.#options;
    const usage = findUsage(chunk, quirks);
    // An answer that fails partway still has its price.
    if (usage !== undefined) this.usage = usage;
    const refusal = errorIn200(chunk, this.#options);
    if (refusal !== undefined) return refusal;
    const choices = chunk["choices"];
    const isEmpty = Array.isArray(choices) && choices.length === 0;
    if (isEmpty && usage === undefined && quirks?.dropsEmptyChunks === true) return "drop";
    if (isEmpty && usage !== undefined && this.#options.hidesUsage) return "drop";
    if (this.#repeats(chunk)) return this.#wholeAsChunk(chunk, choices);
    const plain = tidied(chunk, quirks);
    return plain === undefined ? "pass" : renderEvent(JSON.stringify(plain));
  }

  /** Whether this is the whole reply that some vendors send at the end of a stream. */
  #repeats(chunk: JsonRecord | undefined): boolean {
    return this.#options.quirks?.endsWithWholeReply === true && chunk?.["object"] === "chat.completion";
  }

  /** A whole reply at the end of a stream repeats its text: only its finish reason and usage are passed on. */
  #wholeAsChunk(reply: JsonRecord, choices: unknown): Uint8Array {
    const list = Array.isArray(choices) ? choices : [];
    const chunk = {
      ...reply,
      object: "chat.completion.chunk",
      choices: list.map((item: unknown, index) => {
        const { message: _, ...choice } = asObject(item) ?? {};
        return { index, ...choice, delta: {} };
      }),
    };
    return renderEvent(JSON.stringify(chunk));
  }
}

/** A whole chat or completions reply as stream events, for a client that requested a stream (requirements T1.4). */
export function wholeAsEvents(reply: JsonRecord, wantsUsage: boolean): Uint8Array {
  const { usage, choices, ...head } = reply;
  const list = Array.isArray(choices) ? choices : [];
  const chunk = {
    ...head,
    object: head["object"] === "chat.completion" ? "chat.completion.chunk" : head["object"],
    choices: list.map((item: unknown) => {
      const { message, ...choice } = asObject(item) ?? {};
      return message === undefined ? choice : { ...choice, delta: message };
    }),
  };
  const events = [renderEvent(JSON.stringify(chunk))];
  if (wantsUsage && usage !== undefined)
    events.push(renderEvent(JSON.stringify({ ...chunk, choices: [], usage })));
  return Buffer.concat(events);
}

/** The normalized reply or chunk; undefined = no change needed, its bytes may pass. */
function tidied(reply: JsonRecord, quirks: Quirks | undefined): JsonRecord | undefined {
  if (quirks?.ownWords !== true) return undefined;
  const choices = asList(reply["choices"]);
  const next = choices.map(tidiedChoice);
  return next.some((choice, at) => choice !== choices[at]) ? { ...reply, choices: next } : undefined;
}

function tidiedChoice(item: unknown): unknown {
  const choice = asObject(item);
  if (choice === undefined) return item;
  const word = choice["finish_reason"];
  const finish = typeof word === "string" ? FINISHES[word] : undefined;
  const isForeign = finish !== undefined && finish !== word;
  const renamed = isForeign ? { ...choice, finish_reason: finish } : choice;
  return withPlainContent(withPlainContent(renamed, "delta"), "message");
}

function withPlainContent(choice: JsonRecord, member: "delta" | "message"): JsonRecord {
  const message = asObject(choice[member]);
  if (message === undefined || !Array.isArray(message["content"])) return choice;
  const { text, thought } = splitContent(message["content"]);
  const plain = { ...message, content: text, ...(thought !== "" && { reasoning_content: thought }) };
  return { ...choice, [member]: plain };
}
