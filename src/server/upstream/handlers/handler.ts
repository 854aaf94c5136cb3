// How the answer of one call becomes the client's reply: bytes that pass (passing.ts, native.ts, tasks.ts), answers that are translated
// (translate.ts), and those that come whole and are told in OpenAI's words (whole.ts, speak.ts). Types only.
import type { Quirks } from "#contract/providers.ts";
import type { RelayFault, UpstreamError } from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** What was generated of a reply, as far as it has come. */
export interface ReplyOutput {
  /** Bytes of text seen. */
  readonly textBytes: number;
  /** Characters of it. */
  readonly textChars: number;
  /** Events or replies that brought text, pictures or sound. Most upstreams send one token in each. */
  readonly textPieces: number;
  text(): string;
}

/** What to do with an event: hand its bytes on, withhold it, send other bytes instead, or stop at the end or at an error. */
export type EventAction = "pass" | "drop" | "done" | Uint8Array | RelayFault;

/** Follows one streamed answer. */
export interface StreamObserver {
  readonly output: ReplyOutput;
  /** The last usage the upstream told, in OpenAI's shape; undefined = none. */
  readonly usage: JsonRecord | undefined;
  /** A finish reason came: the connection may end. */
  readonly isFinished: boolean;
  /** Events with a payload so far. */
  readonly events: number;
  take(event: SseEvent): EventAction;
  /** The last bytes of a complete stream: they wait for the settlement (requirements M11). */
  tail(): Uint8Array;
  /** The whole reply that the stream made, for a client that wants no stream. */
  whole?(): Whole;
}

/** A whole body that was found to be a reply, in the client's format. */
export interface Whole {
  readonly kind: "body";
  readonly body: Buffer;
  readonly usage: JsonRecord | undefined;
  /** The answer is not ready yet: where it is asked for again. */
  readonly next?: string;
  text(): string;
}

/** Cuts the bytes of a streamed answer into events. */
export interface EventReader {
  push(chunk: Uint8Array): SseEvent[];
  /** What is left at the end, if it can be an event. */
  end(): SseEvent | undefined;
  /** An event was too large: nothing more comes out. */
  readonly isOverflown: boolean;
}

export interface StreamOfWhole {
  readonly observer: StreamObserver;
  readonly bytes: Uint8Array;
  /** Stands instead of the upstream's. */
  readonly contentType?: string;
}

export interface ResponseHandler {
  /** Usage is read by them. */
  readonly quirks: Quirks | undefined;
  /** The answer comes as a stream even if the client wants it whole. */
  readonly onlyStreams: boolean;
  /** Whether an answer of this media type is streamed. */
  isStreamType(mediaType: string): boolean;
  /** Whether an answer of this media type may be read whole, besides JSON. */
  isWholeType?(mediaType: string): boolean;
  reader(): EventReader;
  observer(): StreamObserver;
  /** What the first event of a stream says in place of an answer; undefined = it is a piece of one. Absent = the meter knows. */
  first?(event: SseEvent): RelayFault | undefined;
  /** A whole 200 body for a client that wants it whole. */
  whole(body: Buffer): Whole | RelayFault;
  /** A whole 200 body for a client that wants a stream: all events but the tail, and the meter that tells the rest; or the body itself. */
  wholeAsStream(body: Buffer): StreamOfWhole | Whole | RelayFault;
  /** An answer with an error status. */
  fault(error: UpstreamError): RelayFault;
}
