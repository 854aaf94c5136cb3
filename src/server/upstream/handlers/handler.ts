// How the response of one call becomes the client's reply: it passes through (pass-through.ts, native.ts, media.ts), is translated
// (translate.ts), or is never streamed and rendered in OpenAI's format (whole.ts). Types only.
import type { Quirks } from "#contract/providers.ts";
import type { RelayFault, UpstreamError } from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** The generated output of a reply so far. */
export interface ReplyOutput {
  /** Bytes of text. */
  readonly textBytes: number;
  /** Characters of text. */
  readonly textChars: number;
  /** Events or replies that brought text, pictures or sound. Most upstreams send one token in each. */
  readonly textPieces: number;
  text(): string;
}

/** What to do with an event: pass its bytes, drop it, send other bytes instead, or stop at the end or at an error. */
export type EventAction = "pass" | "drop" | "done" | Uint8Array | RelayFault;

/** Observes one streamed answer event by event and decides what is passed on. */
export interface StreamObserver {
  readonly output: ReplyOutput;
  /** The last usage the upstream reported, in OpenAI's shape; undefined = none. */
  readonly usage: JsonRecord | undefined;
  /** A finish reason came: the connection may close. */
  readonly isFinished: boolean;
  /** Events with a payload so far. */
  readonly events: number;
  take(event: SseEvent): EventAction;
  /** The last bytes of a complete stream: they are sent after the settlement (requirements M11). */
  tail(): Uint8Array;
  /** The reply assembled from the stream, for a client that wants it whole. */
  whole?(): Whole;
}

/** A whole body that is a valid reply, in the client's format. */
export interface Whole {
  readonly kind: "body";
  readonly body: Buffer;
  readonly usage: JsonRecord | undefined;
  /** The result is not ready yet: the URL to poll. */
  readonly next?: string;
  text(): string;
}

/** Cuts the bytes of a streamed answer into events. */
export interface EventReader {
  push(chunk: Uint8Array): SseEvent[];
  /** The remaining bytes at the end of the stream, if they can be an event. */
  end(): SseEvent | undefined;
  /** An event was too large: no more events come out. */
  readonly isOverflown: boolean;
}

export interface StreamOfWhole {
  readonly observer: StreamObserver;
  readonly bytes: Uint8Array;
  /** Replaces the upstream's content type. */
  readonly contentType?: string;
}

export interface ResponseHandler {
  /** Of the provider row; usage is read by them. */
  readonly quirks: Quirks | undefined;
  /** The answer comes as a stream even if the client wants it whole. */
  readonly onlyStreams: boolean;
  /** Whether an answer of this media type is streamed. */
  isStreamType(mediaType: string): boolean;
  /** Whether an answer of this media type may be read whole, besides JSON. */
  isWholeType?(mediaType: string): boolean;
  reader(): EventReader;
  observer(): StreamObserver;
  /** The error in the first event of a stream; undefined = it is part of an answer. Absent = the observer finds such errors. */
  first?(event: SseEvent): RelayFault | undefined;
  /** A whole 200 body for a client that wants it whole. */
  whole(body: Buffer): Whole | RelayFault;
  /** A whole 200 body for a client that wants a stream: all events but the tail, and the observer with the rest; or the body itself. */
  wholeAsStream(body: Buffer): StreamOfWhole | Whole | RelayFault;
  /** An answer with an error status. */
  fault(error: UpstreamError): RelayFault;
}
