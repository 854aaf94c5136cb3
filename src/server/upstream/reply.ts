// Receives one upstream answer: a whole one is collected and judged, a streamed one is judged at its first event and then handed
// on event by event. Knows no client.
import type { Quirks } from "#contract/providers.ts";
import type { EgressFault, Flow, ReplyHeaders, Sink } from "#server/egress/send.ts";
import { networkFault, type RelayFault, retryAfterOf, statusFault, unreadableFault } from "./fault.ts";
import type { JsonRecord } from "./hub.ts";
import { maskSecrets } from "./mask.ts";
import { type EventAction, type MeterOptions, StreamMeter, wholeAsEvents } from "./meter.ts";
import { type SseEvent, SseReader } from "./sse.ts";
import { ReplyTap } from "./tap.ts";
import { findUsage } from "./usage.ts";
import { isCoded, judgeReply, mediaTypeOf, parseObject, readReply } from "./verdict.ts";

/** A whole answer that was found to be a reply. */
export interface WholeReply {
  readonly kind: "whole";
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
  /** As the upstream told it; undefined = it did not. */
  readonly usage: JsonRecord | undefined;
  /** Of the row that spoke; usage is read by them. */
  readonly quirks: Quirks | undefined;
  /** Strings that must not stand in a header that is passed on. */
  readonly secrets: readonly string[];
}

/** What the reader of a stream hears. After `onEnd` nothing more comes. */
export interface StreamListener {
  /** Bytes for the client: complete events. */
  onBytes(bytes: Uint8Array): void;
  /** The terminator came, or the stream ended after its finish reason (undefined), or it broke. */
  onEnd(fault: RelayFault | undefined): void;
}

/** A stream whose first event has come and is no error. */
export interface StreamReply {
  readonly kind: "stream";
  readonly headers: ReplyHeaders;
  /** Text seen so far. */
  readonly tap: ReplyTap;
  /** The last usage the upstream told so far; undefined = none. */
  readonly usage: JsonRecord | undefined;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
  /** Starts delivery; what was read already comes at once. */
  listen(listener: StreamListener): void;
  pause(): void;
  resume(): void;
  abort(): void;
}

/** What a request learns of its calls while they run. */
export interface Trace {
  /** When the first byte of any body came; 0 = none has. Unit: ms since 1970. */
  firstByteMs: number;
  /** A call was on the wire when the client left: the upstream may have worked for us. */
  isSent: boolean;
}

export interface ReceiverOptions extends MeterOptions {
  /** The client wants a stream. */
  readonly isStream: boolean;
  /** The channel's credential: not to reach the client in a reply. */
  readonly credentials: readonly Buffer[];
  /** Time limit of an answer that is no stream; 0 = none. Unit: ms. */
  readonly totalMs: number;
  now(): number;
  readonly trace: Trace;
  /** Called once. */
  settle(result: WholeReply | StreamReply | RelayFault): void;
}

/** A whole reply of this size ends as unreadable. */
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;
/** An error's words are in its first bytes. */
const ERROR_LIMIT_BYTES = 64 * 1024;
/** What may still come after the terminator before the connection is given up. */
const TAIL_LIMIT_BYTES = 64 * 1024;

type Mode = "waiting" | "error" | "whole" | "stream" | "tail" | "closed";

/** The sink of one call. */
export class Receiver implements Sink, StreamReply {
  readonly kind = "stream";
  headers: ReplyHeaders = {};
  readonly #options: ReceiverOptions;
  readonly #startedMs: number;
  #flow: Flow | undefined;
  #mode: Mode = "waiting";
  #status = 0;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #meter: StreamMeter | undefined;
  #reader: SseReader | undefined;
  #isSettled = false;
  /** Output that came before somebody listened. */
  #early: Uint8Array[] = [];
  #earlyEnd: { fault: RelayFault | undefined } | undefined;
  #listener: StreamListener | undefined;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#startedMs = options.now();
  }

  /** Gives the receiver the reins of its call. */
  attach(flow: Flow): void {
    this.#flow = flow;
  }

  onStart(status: number, headers: ReplyHeaders): void {
    this.#status = status;
    this.headers = headers;
    const type = mediaTypeOf(headers);
    if (status !== 200 && status !== 201) this.#mode = "error";
    else if (isCoded(headers)) this.#fail(unreadableFault("coded body", status));
    else if (type === "text/event-stream" && this.#options.isStream) {
      this.#mode = "stream";
      this.#reader = new SseReader();
      this.#meter = new StreamMeter(this.#options);
    } else if (type === "" || type === "application/json" || type.endsWith("+json")) this.#mode = "whole";
    else this.#fail(unreadableFault(`content type ${type.slice(0, 80)}`, status));
  }

  onData(chunk: Buffer): void {
    const { trace, now } = this.#options;
    if (trace.firstByteMs === 0) trace.firstByteMs = now();
    this.#bytes += chunk.length;
    switch (this.#mode) {
      case "stream":
        this.#onEvents(this.#read(chunk));
        break;
      case "whole":
        this.#collect(chunk, BODY_LIMIT_BYTES);
        break;
      case "error":
        this.#collect(chunk, ERROR_LIMIT_BYTES);
        break;
      case "tail":
        if (this.#bytes > TAIL_LIMIT_BYTES) this.abort();
        break;
      case "waiting":
      case "closed":
        break;
    }
  }

  onEnd(): void {
    switch (this.#mode) {
      case "stream":
        this.#onStreamEnd();
        break;
      case "whole":
        this.#onWhole();
        break;
      case "error":
        this.#onError();
        break;
      case "waiting":
        this.#fail(unreadableFault("no answer", 0));
        break;
      case "tail":
      case "closed":
        break;
    }
  }

  onFault(fault: EgressFault): void {
    if (this.#mode === "error") this.#onError();
    else this.#fail(networkFault(fault));
  }

  get tap(): ReplyTap {
    return this.#meter?.tap ?? new ReplyTap();
  }

  get secrets(): readonly string[] {
    return this.#options.secrets;
  }

  get quirks(): Quirks | undefined {
    return this.#options.quirks;
  }

  get usage(): JsonRecord | undefined {
    return this.#meter?.usage;
  }

  listen(listener: StreamListener): void {
    this.#listener = listener;
    for (const bytes of this.#early) listener.onBytes(bytes);
    this.#early = [];
    if (this.#earlyEnd !== undefined) listener.onEnd(this.#earlyEnd.fault);
  }

  pause(): void {
    this.#flow?.pause();
  }

  resume(): void {
    this.#flow?.resume();
  }

  /** Ends the call; nothing more is heard. */
  abort(): void {
    this.#mode = "closed";
    this.#flow?.abort();
  }

  #collect(chunk: Buffer, limit: number): void {
    this.#chunks.push(chunk);
    const { totalMs, now } = this.#options;
    if (this.#bytes > limit) {
      if (this.#mode === "error") this.#onError();
      else this.#fail(unreadableFault("body too large", this.#status));
      this.abort();
    } else if (totalMs > 0 && now() - this.#startedMs > totalMs) {
      this.#fail(networkFault({ code: "idle", detail: "total time limit" }));
    }
  }

  #body(): Buffer {
    const [first] = this.#chunks;
    return this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
  }

  #onWhole(): void {
    const body = this.#body();
    const { isStream, quirks } = this.#options;
    // Usage among the choices, or a reply that goes on as a stream: only then is all of it parsed.
    const isParsed = isStream || quirks?.usageIn === "choices[0].usage";
    const reply = isParsed ? parseObject(body) : readReply(body);
    const fault = judgeReply(reply, this.#options);
    if (fault !== undefined || reply === undefined) {
      this.#fail(fault ?? unreadableFault("no JSON object", this.#status));
      return;
    }
    const usage = findUsage(reply, quirks);
    this.#mode = "closed";
    if (!isStream) {
      const masked = maskSecrets(body, this.#options.credentials);
      this.#settle({
        kind: "whole",
        headers: this.headers,
        body: masked,
        usage,
        quirks,
        secrets: this.secrets,
      });
      return;
    }
    // A stream was asked for and a whole reply came: it goes on as a stream of one event.
    this.#meter = new StreamMeter(this.#options);
    this.#meter.usage = usage;
    this.#meter.tap.scan(body, 0, body.length);
    this.#settle(this);
    this.#emit(wholeAsEvents(reply, !this.#options.hidesUsage));
    this.#finish(undefined);
  }

  #onError(): void {
    const body = this.#body().subarray(0, ERROR_LIMIT_BYTES);
    const text = body.toString();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    const retryAfterMs = retryAfterOf(this.headers["retry-after"], this.#options.now());
    const { secrets } = this.#options;
    this.#fail(
      statusFault({ status: this.#status, body: json, text: text.slice(0, 4_096), retryAfterMs, secrets }),
    );
  }

  #read(chunk: Buffer): SseEvent[] {
    return this.#reader?.push(chunk) ?? [];
  }

  /** Hands events on, those that stand side by side in one piece. */
  #onEvents(events: readonly SseEvent[]): void {
    let open: SseEvent | undefined;
    let openEnd = 0;
    const flush = () => {
      if (open !== undefined) this.#emit(piece(open.bytes, open.start, openEnd));
      open = undefined;
    };
    for (const event of events) {
      const action = this.#meter?.take(event) ?? "drop";
      if (action === "pass") {
        if (open !== undefined && (open.bytes !== event.bytes || openEnd !== event.start)) flush();
        open ??= event;
        openEnd = event.end;
        continue;
      }
      flush();
      if (!this.#act(action)) return;
    }
    flush();
    if (this.#reader?.isOverflown === true) this.#fail(unreadableFault("event too large", this.#status));
  }

  /** Does what is not just passing on. Returns whether the stream goes on. */
  #act(action: Exclude<EventAction, "pass">): boolean {
    if (action === "drop") return true;
    if (action === "done") {
      // An end before any event is no reply.
      if (this.#meter?.events === 0) this.#fail(unreadableFault("a stream without events", this.#status));
      else this.#finish(undefined);
      return false;
    }
    if (action instanceof Uint8Array) {
      this.#emit(action);
      return true;
    }
    this.#fail(action);
    return false;
  }

  #onStreamEnd(): void {
    const last = this.#reader?.end();
    // A payload cut off in the middle is no event.
    if (last !== undefined && isWhole(last)) this.#onEvents([last]);
    if (this.#mode !== "stream") return;
    if (this.#meter?.isFinished === true) this.#finish(undefined);
    else this.#fail(networkFault({ code: "reset", detail: "the stream ended without a finish" }));
  }

  #emit(bytes: Uint8Array): void {
    const masked = maskSecrets(bytes, this.#options.credentials);
    if (this.#listener !== undefined) {
      this.#listener.onBytes(masked);
      return;
    }
    this.#early.push(masked);
    // Comments keep the line alive; only an event decides whether this is a reply.
    if (this.#meter !== undefined && this.#meter.events > 0) this.#settle(this);
  }

  /** The reply is complete. A connection that is still open is read to its end, so that it can serve again. */
  #finish(fault: RelayFault | undefined): void {
    if (this.#mode === "stream") {
      this.#mode = fault === undefined ? "tail" : "closed";
      this.#bytes = 1;
    }
    this.#settle(this);
    if (this.#listener !== undefined) this.#listener.onEnd(fault);
    else this.#earlyEnd ??= { fault };
  }

  /** Before anybody saw a byte a fault is the result; afterwards it is the end of the stream. */
  #fail(fault: RelayFault): void {
    if (this.#mode === "closed" || this.#mode === "tail") return;
    const wasSettled = this.#isSettled;
    this.#mode = "closed";
    this.#flow?.abort();
    if (wasSettled) this.#finish(fault);
    else this.#settle(fault);
  }

  #settle(result: WholeReply | StreamReply | RelayFault): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#options.settle(result);
  }
}

/** A part of a chunk; mostly it is all of it. */
function piece(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}

/** Whether a last event without its blank line is still complete. */
function isWhole(event: SseEvent): boolean {
  const payload = Buffer.from(event.data.subarray(Math.max(event.dataStart, 0), event.dataEnd))
    .toString()
    .trim();
  if (payload === "[DONE]") return true;
  try {
    JSON.parse(payload);
    return true;
  } catch {
    return false;
  }
}
