// The handler of a foreign format that client and upstream share: Anthropic Messages, Gemini, Responses. Bytes pass unchanged; usage,
// errors and the end are observed.
import type { Quirks } from "#contract/providers.ts";
import type { NativeFormat, ReplyKeys } from "#server/upstream/clients/client.ts";
import type { Dialect } from "#server/upstream/dialects/dialect.ts";
import {
  nativeFault,
  type RelayFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { type KeyTable, keyTable, Seen, UsageObserver } from "#server/upstream/usage.ts";
import { countEvent, errorAtFirst, parseObject } from "./classify.ts";
import { EventStreamHandler } from "./events.ts";
import type { EventAction, ResponseHandler, StreamObserver, Whole } from "./handler.ts";

export interface NativeOptions {
  readonly format: NativeFormat;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
  /** The stream goes out as one JSON array (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  /** Reads the true status and code of the wire's errors. */
  readonly readError?: Dialect["readError"] | undefined;
  /** Makes a stream of a whole reply, for upstreams that do not stream when asked. */
  readonly translated: () => ResponseHandler;
}

export class NativeHandler extends EventStreamHandler<NativeOptions> implements ResponseHandler {
  observer(): StreamObserver {
    return new NativeObserver(this.options);
  }

  whole(body: Buffer): Whole | RelayFault {
    const { format, secrets } = this.options;
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const { usage, error } = format.news(reply);
    if (error !== undefined) return wireFault(error, secrets);
    if (!format.isReply(reply)) return unreadableFault("no reply of this format", 200);
    return {
      kind: "body",
      body,
      usage: usage && format.usage(usage),
      text() {
        const observer = new UsageObserver(tableOf(format.wholeKeys ?? format.keys));
        observer.scan(body, 0, body.length);
        return observer.text() + (format.calls?.(reply) ?? "");
      },
    };
  }

  wholeAsStream(body: Buffer): ReturnType<ResponseHandler["wholeAsStream"]> {
    const whole = this.whole(body);
    return whole.kind === "fault" ? whole : this.options.translated().wholeAsStream(body);
  }

  first(event: SseEvent): RelayFault | undefined {
    const { format, secrets } = this.options;
    const error = errorAtFirst(event, format.name);
    return error && this.fault({ ...error, secrets });
  }

  /** The dialect may read another status from the body; when it does not, the upstream's error body is kept. */
  fault(error: UpstreamError): RelayFault {
    const { secrets, readError } = this.options;
    const body = asObject(error.body);
    const found = body && readError?.(error.status, body);
    if (found === undefined) return nativeFault(error);
    if (found.status !== error.status) return wireFault(found, secrets, error.retryAfterMs);
    return nativeFault({ ...error, retryAfterMs: found.retryAfterMs ?? error.retryAfterMs });
  }
}

const tables = new WeakMap<ReplyKeys, KeyTable>();

function tableOf(keys: ReplyKeys): KeyTable {
  const table = tables.get(keys) ?? keyTable(keys);
  tables.set(keys, table);
  return table;
}

const EMPTY = new Uint8Array(0);
const CR = 0x0d;
const LF = 0x0a;

class NativeObserver implements StreamObserver {
  readonly output: UsageObserver;
  isFinished = false;
  events = 0;
  readonly #options: NativeOptions;
  #raw: JsonRecord | undefined;
  /** Payload of the last event whose usage has not been read yet. */
  #unread: Uint8Array | undefined;
  /** Bytes that are held back until the settlement. */
  #held: Uint8Array = EMPTY;
  #isFirst = true;
  #hasEnd = false;

  constructor(options: NativeOptions) {
    this.#options = options;
    this.output = new UsageObserver(tableOf(options.format.keys));
  }

  get usage(): JsonRecord | undefined {
    const unread = this.#unread && parseObject(this.#unread);
    this.#unread = undefined;
    if (unread !== undefined) this.#note(this.#options.format.news(unread).usage);
    return this.#raw && this.#options.format.usage(this.#raw);
  }

  take(event: SseEvent): EventAction {
    const { data, dataStart, dataEnd } = event;
    const { format, isArray } = this.#options;
    if (dataStart < 0 || dataStart === dataEnd) return isArray ? "drop" : this.#aside(event);
    this.events = countEvent(this.events, event);
    const seen = this.output.scan(data, dataStart, dataEnd);
    const isCurious = (seen & (Seen.usage | Seen.finish | Seen.error)) !== 0;
    if (!isCurious && dataEnd - dataStart > format.shortBytes) return this.#next(event);
    const payload = data.subarray(dataStart, dataEnd);
    const isUsageAlone = (seen & (Seen.finish | Seen.error)) === 0 && this.#raw !== undefined;
    if (isUsageAlone && format.repeatsUsage === true) {
      this.#unread = payload;
      return this.#next(event);
    }
    const told = parseObject(payload);
    if (told === undefined) return unreadableFault("a stream event is no JSON object", 200);
    const { usage, isFinish, isEnd, error } = format.news(told);
    // An answer that fails partway still has its price.
    this.#note(usage);
    if (error !== undefined) return wireFault(error, this.#options.secrets);
    if (isFinish === true) this.isFinished = true;
    if (isEnd === true) {
      this.isFinished = true;
      this.#hasEnd = true;
      this.#held = Buffer.concat([this.#held, this.#framed(event)]);
      return "done";
    }
    return isFinish === true && format.holdsFinish ? this.#hold(event) : this.#next(event);
  }

  tail(): Uint8Array {
    const { isArray, format } = this.#options;
    if (!isArray && !this.#hasEnd && format.lastEvent !== undefined) return Buffer.from(format.lastEvent);
    // The CR of the blank line ended the event; its LF may not have arrived.
    if (!isArray) return this.#held.at(-1) === CR ? withLf(this.#held) : this.#held;
    return Buffer.concat([this.#held, Buffer.from(this.#isFirst ? "[]" : "]")]);
  }

  #note(usage: JsonRecord | undefined): void {
    if (usage === undefined) return;
    this.#unread = undefined;
    this.#raw = { ...this.#raw, ...withoutNulls(usage) };
  }

  /** Withholds an event, and releases the one held before. */
  #hold(event: SseEvent): EventAction {
    const before = this.#held;
    this.#held = Uint8Array.from(this.#framed(event));
    return before.length === 0 ? "drop" : before;
  }

  /** An event without payload passes at once; a late LF belongs to the event before it, which may be held. */
  #aside({ bytes, start, end }: SseEvent): EventAction {
    const isLate = end - start === 1 && bytes[start] === LF && this.#held.at(-1) === CR;
    if (!isLate) return "pass";
    this.#held = withLf(this.#held);
    return "drop";
  }

  #next(event: SseEvent): EventAction {
    if (this.#held.length === 0) return this.#options.isArray ? this.#framed(event) : "pass";
    const bytes = Buffer.concat([this.#held, this.#framed(event)]);
    this.#held = EMPTY;
    return bytes;
  }

  #framed({ bytes, start, end, data, dataStart, dataEnd }: SseEvent): Uint8Array {
    if (!this.#options.isArray) return bytes.subarray(start, end);
    const before = Buffer.from(this.#isFirst ? "[" : ",\r\n");
    this.#isFirst = false;
    return Buffer.concat([before, data.subarray(dataStart, dataEnd)]);
  }
}

function withLf(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.of(LF)]);
}

function withoutNulls(usage: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}
