// What a wire must be able to say: address, request, reply, stream, error. A dialect is an object of pure functions: no clock, no
// network, no chance.
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
  /** `api-version` of the client's own query; "" = it gave none. */
  readonly apiVersion: string;
  readonly isStream: boolean;
  /** Names the account in the request itself, for wires that want it there. */
  readonly account?: string;
}

/** A request in the wire's words. */
export interface Encoded {
  readonly body: JsonRecord;
  /** Headers of this very call, names and values in turn. */
  readonly headers?: readonly string[];
  /** Hints that this wire has no word for, by OpenAI's names; the caller is told (`x-tollgate-dropped`). */
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
  /** Letters and digits of this request alone; ids that the wire does not give are made from it. */
  readonly seed: string;
}

/** An error in the upstream's own words; they are redacted before anybody sees them. */
export interface WireError {
  readonly kind: "error";
  /** The HTTP status this error stands for, whatever status it came with. */
  readonly status: number;
  readonly message: string;
  readonly code: string | number | null;
  /** e.g. `baidu_error`. */
  readonly type: string;
  /** How long the upstream asks to be left alone, where its body says it; undefined = only a header may. */
  readonly retryAfterMs?: number | undefined;
  /** The exchanged credential is no longer good: a new one may be. */
  readonly isStaleCredential?: true;
}

/** One event of a streamed answer, whatever framed it. */
export interface WireEvent {
  /** The payload; "" = it has none. */
  readonly data: string;
  /** Another field of the event, e.g. `event`; "" = absent. Where there are no fields: always "". */
  field(name: string): string;
}

/** Follows one streamed answer. Unknown events give no chunks. */
export interface StreamDecoder {
  take(event: WireEvent): readonly HubChunk[] | WireError;
}

/** Texts to be turned into vectors. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly inputs: readonly string[];
  readonly dimensions: number | undefined;
  readonly user: string | undefined;
  /** What the client said beyond that, by its own names. */
  readonly hints?: JsonRecord;
}

export interface Embedded {
  readonly kind: "embedded";
  readonly vectors: readonly (readonly number[])[];
  /** In OpenAI's shape; undefined = the upstream told none. */
  readonly usage: JsonRecord | undefined;
}

export interface EmbeddingWire {
  /** Names of the hints that this wire takes; all others are reported as dropped. Absent = it takes none. */
  readonly hints?: readonly string[];
  encode(request: EmbeddingRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord): Embedded | WireError;
}

/** How a client takes pictures: at an address, or inline. */
export type PictureFormat = "url" | "b64_json";

/** A text to be turned into pictures. */
export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  /** Pictures wanted. */
  readonly n: number;
  /** As OpenAI writes it, e.g. 1024x1536; undefined = as the model likes. */
  readonly size: string | undefined;
  readonly format: PictureFormat;
}

export interface Drawn {
  readonly kind: "drawn";
  /** In base64, or where they stand. */
  readonly images: readonly (string | { readonly url: string })[];
  /** In OpenAI's shape; undefined = the upstream told none. */
  readonly usage: JsonRecord | undefined;
}

/** The upstream is still at it: its task is asked after again. */
export interface Pending {
  readonly kind: "pending";
  readonly task: string;
}

export interface ImageWire {
  /** Forms in which it gives pictures; the first stands where the client named none. Absent = inline only. */
  readonly formats?: readonly PictureFormat[];
  /** Throws: Unmappable. */
  encode(request: ImageRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Drawn | Pending | WireError;
  /** Where a pending task is asked after. Absent = nothing is ever pending. */
  taskAddress?(task: string, target: Target): string;
}

/** Texts to be put in the order in which they answer a question. */
export interface RerankRequest {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** undefined = all of them. */
  readonly top: number | undefined;
  readonly returnsDocuments: boolean;
}

export interface Ranked {
  readonly kind: "ranked";
  readonly results: readonly { readonly index: number; readonly score: number }[];
  /** In OpenAI's shape; undefined = the upstream told none. */
  readonly usage: JsonRecord | undefined;
}

export interface RerankWire {
  encode(request: RerankRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Ranked | WireError;
}

/** A text to be said. */
export interface SpeechRequest {
  readonly model: string;
  readonly text: string;
  readonly voice: string;
  /** As OpenAI names it: mp3, wav … */
  readonly format: string;
  readonly speed: number | undefined;
}

export interface Spoken {
  readonly kind: "spoken";
  readonly audio: Uint8Array;
}

/** A wire whose speech stands in a JSON answer. */
export interface SpeechWire {
  /** Throws: Unmappable. */
  encode(request: SpeechRequest, context: EncodeContext): Encoded;
  decode(body: JsonRecord, context: DecodeContext): Spoken | WireError;
}

/** Members of a body that passes otherwise: new values, and names that go. */
export interface NativeEdits {
  readonly set: JsonRecord;
  readonly drop: readonly string[];
}

export interface Dialect {
  /** The client format whose bytes this wire takes as they are; undefined = every request is translated. */
  readonly native: GenerationEndpoint | undefined;
  /** How streamed answers are framed; `lines` = one JSON text per line; `aws` = AWS event stream. Absent = SSE. */
  readonly frames?: "lines" | "aws";
  /** Answers may come as streams whatever was asked for: a client that wants a whole one gets it put together. */
  readonly onlyStreams?: true;
  /** Media by address must be fetched by us and sent inline. */
  readonly inlinesMedia?: true;
  /** Addresses that the upstream opens itself nevertheless. Absent = none. */
  opens?(url: string): boolean;
  /** The full URL, query included. `endpoint` is `chat` for every generation that is translated. */
  address(endpoint: EndpointName, wire: Wire, target: Target): string;
  /** Whether the upstream accepts OpenAI's `stream_options`. Absent = no. */
  takesStreamOptions?(wire: Wire, target: Target): boolean;
  /** Throws: Unmappable. */
  encode(request: HubRequest, context: EncodeContext): Encoded;
  /**
   * What a body in the wire's own format must say otherwise because the model's name says more than a name; undefined = nothing.
   * Throws: Unmappable.
   */
  nativeEdits?(model: string, request: () => HubRequest): NativeEdits | undefined;
  /** A whole 200 body. */
  decode(body: JsonRecord, context: DecodeContext): readonly HubChunk[] | WireError;
  decoder(context: DecodeContext): StreamDecoder;
  /** An error body with a status of its own; undefined = nothing special: it is read as any error (requirements T21.1). */
  readError?(status: number, body: JsonRecord): WireError | undefined;
  readonly embeddings?: EmbeddingWire;
  readonly images?: ImageWire;
  readonly rerank?: RerankWire;
  readonly speech?: SpeechWire;
}
