// The course of answers that come whole and are told in OpenAI's words: vectors, pictures. Their dialect reads them, and what it found
// is written here.
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

/** What an answer comes to. */
export interface Told {
  readonly kind: "told";
  /** In OpenAI's words. */
  readonly body: JsonRecord;
  /** The answer is not ready yet: where it is asked for again. */
  readonly next?: string;
  /** In OpenAI's shape; undefined = the upstream told none. */
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
