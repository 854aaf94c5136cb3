// The interface of a wire: address, request, reply, stream, error. A dialect is an object of pure functions: no clock, no network, no
// randomness.
import type { EndpointName, GenerationEndpoint, Wire } from "#contract/providers.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** One request's destination. */
export interface Target {
  /** The channel's base address, or the row's default; no slash at the end. */
  readonly baseUrl: string;
  readonly other: string;
  /** Upstream name, after the model mapping. */
  readonly model: string;
  /** `api-version` of the client's query; "" = none. */
  readonly apiVersion: string;
  readonly isStream: boolean;
  /** The account id, for wires that need it in the request itself. */
  readonly account?: string;
}

/** A request encoded for the wire. */
export interface Encoded {
  readonly body: JsonRecord;
  /** Headers of this call, names and values in turn. */
  readonly headers?: readonly string[];
  /** Hints that this wire does not support, by OpenAI's names; reported to the caller (`x-tollgate-dropped`). */
  readonly dropped?: readonly string[];
  /** Tools that had to be renamed: name on the wire → the client's name. */
  readonly toolNames?: ReadonlyMap<string, string>;
}

export interface EncodeContext {
  readonly wire: Wire;
  readonly target: Target;
  /** The client's headers that belong to its format, names and values in turn. */
  readonly passHeaders?: readonly string[];
}

export interface DecodeContext {
  readonly wire: Wire;
  /** Upstream name of the model. */
  readonly model: string;
  /** Letters and digits unique to this request; missing ids are made from it. */
  readonly seed: string;
}

/** An error as the upstream reported it; its text is redacted before it leaves this room. */
export interface WireError {
  readonly kind: "error";
  /** The true HTTP status of this error, whatever status it came with. */
  readonly status: number;
  readonly message: string;
  readonly code: string | number | null;
  /** e.g. `baidu_error`. */
  readonly type: string;
  /** How long the upstream asks to wait, if its body says so; undefined = only a header may. */
  readonly retryAfterMs?: number | undefined;
  /** The exchanged credential is no longer valid: a new one may be. */
  readonly isStaleCredential?: true;
}

/** One event of a streamed answer, in any framing. */
export interface WireEvent {
  /** The payload; "" = it has none. */
  readonly data: string;
  /** Another field of the event, e.g. `event`; "" = absent, or the framing has no fields. */
  field(name: string): string;
}

/** Decodes one streamed answer. Unknown events give no chunks. */
export interface StreamDecoder {
  take(event: WireEvent): readonly HubChunk[] | WireError;
}

/** Texts to be embedded. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly inputs: readonly string[];
  readonly dimensions: number | undefined;
  readonly user: string | undefined;
  /** The other members of the client's body, by their names. */
  readonly hints?: JsonRecord;
}

export interface Embedded {
  readonly kind: "embedded";
  readonly vectors: readonly (readonly number[])[];
  /** In OpenAI's shape; undefined = the upstream reported none. */
  readonly usage: JsonRecord | undefined;
}

export interface EmbeddingWire {
  /** Names of the hints that this wire takes; all others are reported as dropped. Absent = it takes none. */
  readonly hints?: readonly string[];
  encode(request: EmbeddingRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord): Embedded | WireError;
}

/** How a client takes images: by URL, or inline. */
export type PictureFormat = "url" | "b64_json";

/** A request for images. */
export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  /** Number of images. */
  readonly n: number;
  /** In OpenAI's notation, e.g. 1024x1536; undefined = the model decides. */
  readonly size: string | undefined;
  readonly format: PictureFormat;
}

export interface Drawn {
  readonly kind: "drawn";
  /** In base64, or by URL. */
  readonly images: readonly (string | { readonly url: string })[];
  /** In OpenAI's shape; undefined = the upstream reported none. */
  readonly usage: JsonRecord | undefined;
}

/** The upstream's task is unfinished: it is polled again. */
export interface Pending {
  readonly kind: "pending";
  readonly task: string;
}

export interface ImageWire {
  /** Forms in which it returns images; the first is the default. Absent = inline only. */
  readonly formats?: readonly PictureFormat[];
  /** Throws: Unmappable. */
  encode(request: ImageRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Drawn | Pending | WireError;
  /** The URL to poll a pending task. Absent = no task is ever pending. */
  taskAddress?(task: string, target: Target): string;
}

/** Texts to be ranked by their relevance to a query. */
export interface RerankRequest {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** Number of results; undefined = all. */
  readonly top: number | undefined;
  readonly returnsDocuments: boolean;
}

export interface Ranked {
  readonly kind: "ranked";
  readonly results: readonly { readonly index: number; readonly score: number }[];
  /** In OpenAI's shape; undefined = the upstream reported none. */
  readonly usage: JsonRecord | undefined;
}

export interface RerankWire {
  encode(request: RerankRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Ranked | WireError;
}

/** A text to be spoken. */
export interface SpeechRequest {
  readonly model: string;
  readonly text: string;
  readonly voice: string;
  /** By OpenAI's name: mp3, wav … */
  readonly format: string;
  readonly speed: number | undefined;
}

export interface Spoken {
  readonly kind: "spoken";
  readonly audio: Uint8Array;
}

/** A wire that returns speech inside JSON. */
export interface SpeechWire {
  /** Throws: Unmappable. */
  encode(request: SpeechRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Spoken | WireError;
}

/** Edits of a body that passes through: new values, and names to drop. */
export interface NativeEdits {
  readonly set: JsonRecord;
  readonly drop: readonly string[];
}

export interface Dialect {
  /** The client format whose bytes this wire takes unchanged; undefined = every request is translated. */
  readonly native: GenerationEndpoint | undefined;
  /** How streamed answers are framed; `lines` = one JSON text per line; `aws` = AWS event stream. Absent = SSE. */
  readonly frames?: "lines" | "aws";
  /** Answers may be streams even if none was requested: for a client that wants a whole answer the stream is assembled. */
  readonly onlyStreams?: true;
  /** Media given by URL must be fetched by the gateway and sent inline. */
  readonly inlinesMedia?: true;
  /** URLs that the upstream opens itself nevertheless. Absent = none. */
  opens?(url: string): boolean;
  /** The full URL, query included. `endpoint` is `chat` for every generation that is translated. */
  address(endpoint: EndpointName, wire: Wire, target: Target): string;
  /** Whether the upstream accepts OpenAI's `stream_options`. Absent = no. */
  takesStreamOptions?(wire: Wire, target: Target): boolean;
  /** Throws: Unmappable. */
  encode(request: HubRequest, context: EncodeContext): Encoded;
  /**
   * Edits of a body in the wire's own format for a model name with a suffix that sets more than the model; undefined = none. Throws:
   * Unmappable.
   */
  nativeEdits?(model: string, request: () => HubRequest): NativeEdits | undefined;
  /** Decodes a whole 200 body. */
  decode(body: JsonRecord, context: DecodeContext): readonly HubChunk[] | WireError;
  decoder(context: DecodeContext): StreamDecoder;
  /** Reads an error body of this wire; undefined = it is read generically (requirements T21.1). */
  readError?(status: number, body: JsonRecord): WireError | undefined;
  readonly embeddings?: EmbeddingWire;
  readonly images?: ImageWire;
  readonly rerank?: RerankWire;
  readonly speech?: SpeechWire;
}
