// The handler of answers that are never streamed and are rendered in OpenAI's format: embeddings, images, rerank. Their dialect decodes
// them.
import type { Quirks } from "#contract/providers.ts";
import type { Dialect, WireError } from "#server/upstream/dialects/dialect.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { SseReader } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { parseObject } from "./classify.ts";
import type { EventReader, ResponseHandler, StreamObserver, StreamOfWhole, Whole } from "./handler.ts";

/** A decoded answer. */
export interface Told {
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
