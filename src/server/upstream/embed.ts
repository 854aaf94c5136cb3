// Embeddings on wires that are not OpenAI's: texts in, vectors out. The client always speaks OpenAI (providers 4.8).
import type { Quirks } from "#contract/providers.ts";
import type { Course, EventReader, Meter, Whole } from "./course.ts";
import type { Embedded, EmbeddingRequest, EmbeddingWire } from "./dialects/dialect.ts";
import { type RelayFault, statusFault, type UpstreamError, unreadableFault, wireFault } from "./fault.ts";
import type { JsonRecord } from "./hub.ts";
import { Unmappable } from "./hub-request.ts";
import { SseReader } from "./sse.ts";
import { ReplyTap } from "./tap.ts";
import { parseObject } from "./verdict.ts";

/** Reads an OpenAI embeddings body. Throws: Unmappable, for token arrays among others: only their own vendor knows those. */
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

export interface EmbedOptions {
  readonly wire: EmbeddingWire;
  /** The name the client asked for. */
  readonly model: string;
  /** The client wants little-endian float32 in base64 instead of numbers. */
  readonly isBase64: boolean;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
  readonly readError:
    | ((status: number, body: JsonRecord) => Parameters<typeof wireFault>[0] | undefined)
    | undefined;
}

export class EmbedCourse implements Course {
  readonly onlyStreams = false;
  readonly #options: EmbedOptions;

  constructor(options: EmbedOptions) {
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

  meter(): Meter {
    throw new Error("embeddings are never streamed");
  }

  whole(body: Buffer): Whole | RelayFault {
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const found = this.#options.wire.decode(reply);
    if (found.kind === "error") return wireFault(found, this.#options.secrets);
    if (found.vectors.length === 0) return unreadableFault("no vectors", 200);
    const { usage } = found;
    return { kind: "body", body: this.#render(found), usage, text: () => new ReplyTap().text() };
  }

  wholeAsStream(): RelayFault {
    return unreadableFault("embeddings are never streamed", 200);
  }

  fault(error: UpstreamError): RelayFault {
    const { status, body, secrets, retryAfterMs } = error;
    const record = typeof body === "object" && body !== null ? (body as JsonRecord) : undefined; // parsed JSON
    const found = record && this.#options.readError?.(status, record);
    return found === undefined ? statusFault(error) : wireFault(found, secrets, retryAfterMs);
  }

  #render({ vectors, usage }: Embedded): Buffer {
    const { model, isBase64 } = this.#options;
    const data = vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: isBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector,
    }));
    return Buffer.from(JSON.stringify({ object: "list", data, model, usage: usage ?? NO_USAGE }));
  }
}

const NO_USAGE = { prompt_tokens: 0, total_tokens: 0 };
