// Receives one upstream response: a whole one is collected and judged; a streamed one is judged at its first event and then passed on
// event by event. Knows no client.
import type { Quirks } from "#contract/providers.ts";
import type { EgressFault, Flow, ReplyHeaders, Sink } from "#server/egress/send.ts";
import {
  networkFault,
  ownFault,
  type RelayFault,
  retryAfterOf,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import { type Canary, maskSecrets } from "#server/upstream/errors/mask.ts";
import { errorIn, isCoded, judgedEvent, mediaTypeOf } from "#server/upstream/handlers/classify.ts";
import { PassedEvents } from "#server/upstream/handlers/events.ts";
import type {
  EventAction,
  EventReader,
  ReplyOutput,
  ResponseHandler,
  StreamObserver,
  Whole,
} from "#server/upstream/handlers/handler.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { UsageObserver } from "#server/upstream/usage.ts";
import type { StreamListener, StreamReply, Trace, WholeReply } from "./call.ts";

export interface ReceiverOptions {
  /** The client wants a stream. */
  readonly isStream: boolean;
  readonly handler: ResponseHandler;
  /** Strings that no caller may read in a header. */
  readonly secrets: readonly string[];
  readonly dropped: readonly string[];
  /** The channel's credential, to be masked in the reply. */
  readonly credentials: readonly Canary[];
  /** Time limit of an answer that is no stream; 0 = none. Unit: ms. */
  readonly totalMs: number;
  /** Until the first event of a stream, and for all of it; 0 = none. Unit: ms. */
  readonly firstEventMs: number;
  readonly streamMs: number;
  now(): number;
  readonly trace: Trace;
  /** Called once. */
  deliver(result: WholeReply | StreamReply | RelayFault): void;
}

/** A whole reply above this size is an unreadable fault. */
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;
/** An error message is read from the first bytes of the body. */
const ERROR_LIMIT_BYTES = 64 * 1024;
/** No more than this is kept of the bytes before the first event of a stream. */
const EARLY_LIMIT_BYTES = 64 * 1024;
/** How much may still arrive after the terminator before the connection is closed. */
const TAIL_LIMIT_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);
const NO_HEADERS: ReplyHeaders = {};

type Mode = "waiting" | "error" | "whole" | "stream" | "tail" | "closed";

/** The sink of one call. */
export class Receiver implements Sink, StreamReply {
  readonly kind = "stream";
  headers = NO_HEADERS;
  readonly #options: ReceiverOptions;
  readonly #startedMs: number;
  #flow: Flow | undefined;
  #mode: Mode = "waiting";
  #status = 0;
  /** Usually one; undefined = none yet. */
  #chunks: Buffer[] | undefined;
  #bytes = 0;
  #observer: StreamObserver | undefined;
  #reader: EventReader | undefined;
  readonly #passed = new PassedEvents((bytes) => this.#emit(bytes));
  #isDelivered = false;
  /** Output from before `listen` was called; undefined = none. */
  #early: Uint8Array[] | undefined;
  #earlyEnd: { fault: RelayFault | undefined } | undefined;
  #listener: StreamListener | undefined;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#startedMs = options.now();
  }

  /** Gives the receiver control of its call: pause, resume, abort. */
  attach(flow: Flow): void {
    this.#flow = flow;
  }

  onStart(status: number, headers: ReplyHeaders): void {
    this.#status = status;
    this.headers = headers;
    const { handler, isStream } = this.#options;
    const type = mediaTypeOf(headers);
    if (status !== 200 && status !== 201) this.#mode = "error";
    else if (isCoded(headers)) this.#fail(unreadableFault("coded body", status));
    else if ((isStream || handler.onlyStreams) && handler.isStreamType(type)) {
      this.#mode = "stream";
      this.#reader = handler.reader();
      this.#observer = handler.observer();
    } else if (type === "" || type === "application/json" || type.endsWith("+json")) this.#mode = "whole";
    else if (handler.isWholeType?.(type) === true) this.#mode = "whole";
    else this.#fail(unreadableFault(`content type ${type.slice(0, 80)}`, status));
  }

  onData(chunk: Buffer): void {
    const { trace, now } = this.#options;
    if (trace.firstByteMs === 0) trace.firstByteMs = now();
    this.#bytes += chunk.length;
    try {
      this.#take(chunk);
    } catch (error) {
      this.#fail(ownFault(error));
    }
  }

  onEnd(): void {
    try {
      this.#end();
    } catch (error) {
      this.#fail(ownFault(error));
    }
  }

  #take(chunk: Buffer): void {
    switch (this.#mode) {
      case "stream":
        this.#onEvents(this.#read(chunk));
        this.checkTime();
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

  #end(): void {
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
    if (this.#mode === "error") this.onEnd();
    else this.#fail(networkFault(fault));
  }

  get output(): ReplyOutput {
    return this.#observer?.output ?? new UsageObserver();
  }

  get isFinished(): boolean {
    return this.#observer?.isFinished === true;
  }

  text(): string {
    return this.output.text();
  }

  tail(): Uint8Array {
    return maskSecrets(this.#observer?.tail() ?? NOTHING, this.#options.credentials);
  }

  get dropped(): readonly string[] {
    return this.#options.dropped;
  }

  get secrets(): readonly string[] {
    return this.#options.secrets;
  }

  get quirks(): Quirks | undefined {
    return this.#options.handler.quirks;
  }

  get usage(): JsonRecord | undefined {
    return this.#observer?.usage;
  }

  listen(listener: StreamListener): void {
    this.#listener = listener;
    for (const bytes of this.#early ?? []) listener.onBytes(bytes);
    this.#early = undefined;
    if (this.#earlyEnd !== undefined) listener.onEnd(this.#earlyEnd.fault);
  }

  pause(): void {
    this.#flow?.pause();
  }

  resume(): void {
    this.#flow?.resume();
  }

  /** Ends the call; the listener gets no more events. */
  abort(): void {
    this.#mode = "closed";
    this.#flow?.abort();
  }

  #collect(chunk: Buffer, limit: number): void {
    if (this.#chunks === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
    if (this.#bytes > limit) {
      if (this.#mode === "error") this.#onError();
      else this.#fail(unreadableFault("body too large", this.#status));
      this.abort();
    } else this.checkTime();
  }

  /** Every byte restarts the idle timeout of the connection; nothing restarts these limits (requirements R08). */
  checkTime(): void {
    const { firstEventMs, streamMs, totalMs } = this.#options;
    const hasBegun = this.#mode !== "waiting" && this.#observer?.events !== 0;
    const limitMs = hasBegun ? (this.#mode === "stream" ? streamMs : totalMs) : firstEventMs;
    if (!this.#isOlderThan(limitMs)) return;
    const late = { code: "timeout", detail: "no event in time" } as const;
    this.#fail(networkFault(hasBegun ? { code: "idle", detail: "total time limit" } : late));
  }

  #isOlderThan(limitMs: number): boolean {
    return limitMs > 0 && this.#options.now() - this.#startedMs > limitMs;
  }

  #body(): Buffer {
    const chunks = this.#chunks ?? [];
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  }

  #onWhole(): void {
    const { isStream, handler } = this.#options;
    const body = this.#body();
    if (!isStream) {
      const whole = handler.whole(body);
      if (whole.kind === "fault") this.#fail(whole);
      else this.#deliverWhole(whole);
      return;
    }
    // A stream was requested and a whole reply came: it is sent as a stream of few events, or unchanged.
    const stream = handler.wholeAsStream(body);
    if ("kind" in stream) {
      if (stream.kind === "fault") this.#fail(stream);
      else this.#deliverWhole(stream);
      return;
    }
    this.#mode = "closed";
    this.#observer = stream.observer;
    const { contentType } = stream;
    if (contentType !== undefined) this.headers = { ...this.headers, "content-type": contentType };
    this.#deliver(this);
    if (stream.bytes.length > 0) this.#emit(stream.bytes);
    this.#finish(undefined);
  }

  #deliverWhole({ body, usage, next, text }: Whole): void {
    const { credentials, secrets, dropped } = this.#options;
    if (this.#mode !== "stream") this.#mode = "closed";
    const { headers, quirks } = this;
    const masked = maskSecrets(body, credentials);
    const reply = { kind: "whole", headers, body: masked, usage, quirks, secrets, dropped, text } as const;
    this.#deliver(next === undefined ? reply : { ...reply, next });
  }

  #onError(): void {
    const { handler, secrets, now } = this.#options;
    const retryAfterMs = retryAfterOf(this.headers["retry-after"], now());
    const told = errorIn(this.#body().subarray(0, ERROR_LIMIT_BYTES));
    this.#fail(handler.fault({ status: this.#status, ...told, retryAfterMs, secrets }));
  }

  #read(chunk: Buffer): SseEvent[] {
    return this.#reader?.push(chunk) ?? [];
  }

  #onEvents(events: readonly SseEvent[]): void {
    const { handler } = this.#options;
    for (const event of events) {
      // The first event may be an error: then nothing has begun, whatever comments came before.
      if (this.#observer?.events === 0) this.#passed.flush();
      const action = this.#observer === undefined ? "drop" : judgedEvent(handler, this.#observer, event);
      if (action === "pass") {
        this.#passed.add(event);
        continue;
      }
      this.#passed.flush();
      if (!this.#act(action)) return;
    }
    this.#passed.flush();
    if (this.#reader?.isOverflown === true) this.#fail(unreadableFault("event too large", this.#status));
  }

  /** Performs every action but "pass". Returns whether the stream goes on. */
  #act(action: Exclude<EventAction, "pass">): boolean {
    if (action === "drop") return true;
    if (action === "done") {
      // An end before any event is no reply.
      if (this.#observer?.events === 0) this.#fail(unreadableFault("a stream without events", this.#status));
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
    if (last !== undefined) this.#onEvents([last]);
    if (this.#mode !== "stream") return;
    if (this.#observer?.isFinished === true) this.#finish(undefined);
    else this.#fail(networkFault({ code: "reset", detail: "the stream ended without a finish" }));
  }

  #emit(bytes: Uint8Array): void {
    const masked = maskSecrets(bytes, this.#options.credentials);
    if (this.#listener !== undefined) {
      this.#listener.onBytes(masked);
      return;
    }
    // Comments are keep-alives; only an event decides whether this is a reply.
    const hasBegun = this.#isDelivered || this.#observer?.events !== 0;
    if (!hasBegun && this.#bytes > EARLY_LIMIT_BYTES) return;
    this.#early ??= [];
    this.#early.push(masked);
    if (hasBegun) this.#deliver(this);
  }

  /** The reply is complete. A connection that is still open is read to its end, so that it can be reused. */
  #finish(fault: RelayFault | undefined): void {
    if (!this.#options.isStream && fault === undefined) {
      const whole = this.#observer?.whole?.();
      if (whole !== undefined) this.#deliverWhole(whole);
      this.#toTail();
      return;
    }
    if (this.#mode === "stream") {
      if (fault === undefined) this.#toTail();
      else this.#mode = "closed";
    }
    this.#deliver(this);
    if (this.#listener !== undefined) this.#listener.onEnd(fault);
    else this.#earlyEnd ??= { fault };
  }

  #toTail(): void {
    this.#mode = "tail";
    this.#bytes = 1;
    this.#flow?.finish?.();
  }

  /** Before the result is settled a fault is the result; afterwards it ends the stream. */
  #fail(fault: RelayFault): void {
    if (this.#mode === "closed" || this.#mode === "tail") return;
    const wasDelivered = this.#isDelivered;
    this.#mode = "closed";
    this.#flow?.abort();
    if (wasDelivered) this.#finish(fault);
    else this.#deliver(fault);
  }

  #deliver(result: WholeReply | StreamReply | RelayFault): void {
    if (this.#isDelivered) return;
    this.#isDelivered = true;
    this.#options.deliver(result);
  }
}
