// The handler of answers that are never streamed and are rendered in OpenAI's format: embeddings, images, rerank, and speech, which its
// client gets as bytes. Their dialect decodes them.
import type { Quirks } from "#contract/providers.ts";
import type {
  Dialect,
  Drawn,
  Embedded,
  EmbeddingRequest,
  ImageRequest,
  PictureFormat,
  Ranked,
  RerankRequest,
  SpeechRequest,
  Spoken,
  WireError,
} from "#server/upstream/dialects/dialect.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { SseReader } from "#server/upstream/hub/sse.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { parseObject } from "./classify.ts";
import type { EventReader, ResponseHandler, StreamObserver, StreamOfWhole, Whole } from "./handler.ts";

/** A decoded answer. */
interface Told {
  readonly kind: "told";
  /** In OpenAI's format. */
  readonly body: JsonRecord;
  /** The result is not ready yet: the URL to poll. */
  readonly next?: string;
  /** In OpenAI's shape; undefined = the upstream reported none. */
  readonly usage: JsonRecord | undefined;
}

export interface WholeOptions {
  readonly dialect: Dialect;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
  /** undefined = this was no answer. */
  read(reply: JsonRecord): Told | WireError | undefined;
}

export class WholeHandler implements ResponseHandler {
  readonly onlyStreams = false;
  readonly #options: WholeOptions;

  constructor(options: WholeOptions) {
    this.#options = options;
  }

  get quirks(): Quirks | undefined {
    return this.#options.quirks;
  }

  isStreamType(): boolean {
    return false;
  }

  reader(): EventReader {
    return new SseReader();
  }

  observer(): StreamObserver {
    throw new Error("such answers are never streamed");
  }

  whole(body: Buffer): Whole | RelayFault {
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const found = this.#options.read(reply);
    if (found === undefined) return unreadableFault("nothing in the answer", 200);
    if (found.kind === "error") return wireFault(found, this.#options.secrets);
    return {
      kind: "body",
      body: Buffer.from(JSON.stringify(found.body)),
      usage: found.usage,
      ...(found.next !== undefined && { next: found.next }),
      text: () => "",
    };
  }

  wholeAsStream(_body: Buffer): StreamOfWhole | RelayFault {
    return unreadableFault("such answers are never streamed", 200);
  }

  fault(error: UpstreamError): RelayFault {
    const body = asObject(error.body);
    const found = body && this.#options.dialect.readError?.(error.status, body);
    return found === undefined ? statusFault(error) : wireFault(found, error.secrets, error.retryAfterMs);
  }
}

// Embeddings on wires that are not OpenAI's: texts in, vectors out. The client always speaks OpenAI (vendors/openai-embeddings).

/** Reads an OpenAI embeddings body. Throws: Unmappable, e.g. for token arrays, which only their own vendor can read. */
export function embeddingRequest(body: JsonRecord, model: string): EmbeddingRequest {
  const { input, dimensions, user } = body;
  const inputs = typeof input === "string" ? [input] : input;
  if (!isTexts(inputs)) throw new Unmappable("input", "该渠道只支持文本输入");
  return {
    model,
    inputs,
    dimensions: typeof dimensions === "number" ? dimensions : undefined,
    user: typeof user === "string" ? user : undefined,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}

/** Vectors as OpenAI lists them; `isBase64` = as little-endian float32 in base64 instead of numbers. */
export function embeddingList({ vectors, usage }: Embedded, model: string, isBase64: boolean): JsonRecord {
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: isBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector,
  }));
  return { object: "list", data, model, usage: usage ?? NO_USAGE };
}

const NO_USAGE = { prompt_tokens: 0, total_tokens: 0 };

// Rerank on a dialect's own wire: a query and texts in, their order out. The client speaks Jina's format (vendors/rerank).

const RERANK_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "query",
  "documents",
  "top_n",
  "return_documents",
]);

/** Reads a rerank body. Throws: Unmappable for documents that are no texts. */
export function rerankRequest(
  body: JsonRecord,
  model: string,
): { readonly request: RerankRequest; readonly dropped: readonly string[] } {
  const documents = asList(body["documents"]).map((item) => {
    const text = asText(item) ?? asText(asObject(item)?.["text"]);
    if (text === undefined) throw new Unmappable("documents", "该渠道只支持文本");
    return text;
  });
  const request = {
    model,
    query: asText(body["query"]) ?? "",
    documents,
    top: asNumber(body["top_n"]),
    returnsDocuments: body["return_documents"] === true,
  };
  return { request, dropped: Object.keys(body).filter((name) => !RERANK_FIELDS.has(name)) };
}

/** The results in Jina's format. */
export function rerankList(
  { results, usage }: Ranked,
  { documents, returnsDocuments }: RerankRequest,
  model: string,
): JsonRecord {
  return {
    model,
    results: results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnsDocuments && { document: { text: documents[index] ?? "" } }),
    })),
    usage: usage ?? { total_tokens: 0 },
  };
}

// Image generation on wires that are not OpenAI's: a text in, images out. The client always speaks OpenAI (vendors/openai-images).

/** Members that a wire takes, or that are handled here. */
const IMAGE_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "prompt",
  "n",
  "size",
  "response_format",
  "stream",
]);

interface ImageAsked {
  readonly request: ImageRequest;
  /** Hints that only OpenAI's wire takes. */
  readonly dropped: readonly string[];
}

/** Reads an OpenAI images body for a wire that offers these formats. Throws: Unmappable for other formats and for streams. */
export function imageRequest(
  body: JsonRecord,
  model: string,
  formats: readonly PictureFormat[] = ["b64_json"],
): ImageAsked {
  const asked = body["response_format"];
  const format = formats.find((known) => asked === undefined || asked === null || known === asked);
  if (format === undefined)
    throw new Unmappable("response_format", `该渠道只支持 ${formats.join("、")} 格式的图片`);
  if (body["stream"] === true) throw new Unmappable("stream", "该渠道不支持流式返回图片");
  const size = asText(body["size"]) ?? "";
  return {
    request: {
      model,
      prompt: asText(body["prompt"]) ?? "",
      n: asNumber(body["n"]) ?? 1,
      size: size === "" || size === "auto" ? undefined : size,
      format,
    },
    dropped: Object.keys(body).filter((name) => !IMAGE_FIELDS.has(name) && body[name] !== null),
  };
}

/** Images as OpenAI lists them. `created` in seconds since 1970. */
export function imageList({ images, usage }: Drawn, created: number): JsonRecord {
  return {
    created,
    data: images.map((image) => (typeof image === "string" ? { b64_json: image } : { url: image.url })),
    ...(usage !== undefined && { usage: tokensOf(usage) }),
  };
}

/** The usage of images has other field names than that of chat (vendors/openai-images). */
function tokensOf(usage: JsonRecord): JsonRecord {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  return {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    total_tokens,
    ...(prompt_tokens_details !== undefined && { input_tokens_details: prompt_tokens_details }),
  };
}

// Speech on wires that return it inside JSON: a text in, audio out (vendors/speech). The client speaks OpenAI.

const SPEECH_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "voice",
  "response_format",
  "speed",
  "stream_format",
]);
/** Media types of the audio formats. */
const TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  aac: "audio/aac",
  opus: "audio/ogg",
  pcm: "audio/pcm",
};

/** Reads an OpenAI speech body. Throws: Unmappable for speech as events. */
export function speechRequest(
  body: JsonRecord,
  model: string,
): { readonly request: SpeechRequest; readonly dropped: readonly string[] } {
  if (body["stream_format"] === "sse") throw new Unmappable("stream_format", "该渠道不支持流式语音事件");
  const request = {
    model,
    text: asText(body["input"]) ?? "",
    voice: asText(body["voice"]) ?? "",
    format: asText(body["response_format"]) ?? "mp3",
    speed: asNumber(body["speed"]),
  };
  return { request, dropped: Object.keys(body).filter((name) => !SPEECH_FIELDS.has(name)) };
}

interface SpeechOptions extends Omit<WholeOptions, "read"> {
  readonly format: string;
  read(reply: JsonRecord): Spoken | WireError;
}

/** The relay treats every speech reply as a stream, since most upstreams stream it. */
export class SpeechHandler extends WholeHandler implements ResponseHandler {
  readonly #options: SpeechOptions;

  constructor(options: SpeechOptions) {
    super({ ...options, read: () => undefined });
    this.#options = options;
  }

  override wholeAsStream(body: Buffer): StreamOfWhole | RelayFault {
    const { read, secrets, format } = this.#options;
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const found = read(reply);
    if (found.kind === "error") return wireFault(found, secrets);
    if (found.audio.length === 0) return unreadableFault("no sound", 200);
    return {
      observer: soundObserver(),
      bytes: found.audio,
      contentType: TYPES[format] ?? "application/octet-stream",
    };
  }
}

/** The observer of audio that is already complete. */
function soundObserver(): StreamObserver {
  return {
    output: { textBytes: 0, textChars: 0, textPieces: 0, text: () => "" },
    usage: undefined,
    isFinished: true,
    events: 1,
    take: () => "pass",
    tail: () => new Uint8Array(0),
  };
}
