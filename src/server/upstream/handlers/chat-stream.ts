// Observes one streamed reply on OpenAI's wire event by event: decides what is passed to the client, keeps the last usage, notices text,
// finish and errors. It changes an event only where a quirk of the row asks for it.

import { statusFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import {
  DONE_EVENT,
  dataText,
  fieldOf,
  isDone,
  renderEvent,
  type SseEvent,
} from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { findUsage } from "#server/upstream/usage.ts";
import { countEvent, errorIn200, parseObject, type ReplyContext } from "./classify.ts";
import type { EventAction, StreamObserver } from "./handler.ts";
import { tidied } from "./normalize.ts";
import { Seen, UsageObserver } from "./usage-observer.ts";

export interface ChatStreamOptions extends ReplyContext {
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
