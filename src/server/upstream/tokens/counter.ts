// Counts LLM tokens where an upstream reports none (requirements W11, T22.4). Exact counts are made in a worker thread, which is started
// when first needed and ended when idle; texts that would take too long are approximated.
import { Worker } from "node:worker_threads";
import type { CountReply, CountRequest, EncodingName } from "./worker.ts";

/** The parts of a request or reply that cost tokens: texts to be counted, and a fixed number. */
export interface Countable {
  readonly texts: readonly string[];
  /** Tokens of message framing and images. */
  readonly fixedTokens: number;
}

export interface TokenCounter {
  /** Counts; never fails: a text that cannot be counted in time is approximated. */
  count(model: string, what: Countable): Promise<number>;
  /** Approximates the waiting texts. */
  close(): Promise<void>;
}

/** Above this, exactness is not worth the time (requirements W11.1). */
const EXACT_LIMIT_BYTES = 200 * 1024;
/** How long texts may wait in the queue: many calls can end at once, and each is charged by its count (requirements M15). */
const TURN_TIMEOUT_MS = 5_000;
const LOAD_TIMEOUT_MS = 10_000;
/** How long an idle worker is kept: the tables of one encoding take 75 MB. */
const IDLE_MS = 60_000;

/** The field's rule of thumb (requirements W11.1). */
export const TOKENS_PER_BYTE = 0.38;

/** Approximates texts by their bytes. */
export function approximateTokens(what: Countable): number {
  let bytes = 0;
  for (const text of what.texts) bytes += Buffer.byteLength(text);
  return what.fixedTokens + Math.trunc(bytes * TOKENS_PER_BYTE);
}

/** cl100k for gpt-3.5, gpt-4 and OpenAI's embeddings; o200k for all newer and all foreign models. */
export function encodingOf(model: string): EncodingName {
  const isOld = /^(gpt-3\.5|gpt-35|gpt-4(?!o|\.\d)|text-embedding-|davinci|babbage)/.test(model);
  return isOld ? "cl100k_base" : "o200k_base";
}

interface Waiting {
  readonly resolve: (tokens: number | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

/** One worker with its queue. A worker that takes too long is ended with all its jobs. */
class Thread {
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url));
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEnd: () => void;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #loaded = new Set<EncodingName>();

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#worker.unref();
    this.#worker.on("message", (reply: CountReply) => this.#take(reply));
    this.#worker.on("error", () => this.end());
    this.#worker.on("exit", () => this.end());
  }

  count(encoding: EncodingName, texts: readonly string[]): Promise<number | undefined> {
    const id = ++this.#next;
    const timeoutMs = this.#loaded.has(encoding) ? TURN_TIMEOUT_MS : LOAD_TIMEOUT_MS;
    clearTimeout(this.#idle);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(), timeoutMs);
      this.#waiting.set(id, { resolve, timer });
      const request: CountRequest = { id, encoding, texts };
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread; waiting jobs get no count. Idempotent. */
  end(): Promise<number> {
    clearTimeout(this.#idle);
    for (const { resolve, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      resolve(undefined);
    }
    this.#waiting.clear();
    this.#onEnd();
    return this.#worker.terminate();
  }

  #take({ id, encoding, tokens }: CountReply): void {
    this.#loaded.add(encoding);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(tokens);
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => this.end(), IDLE_MS);
    this.#idle.unref();
  }
}

/** Makes a counter. `isApproximate` = whether to skip exact counts altogether (ApproximateTokenEnabled). */
export function createTokenCounter(isApproximate: () => boolean): TokenCounter {
  let thread: Thread | undefined;
  return {
    async count(model, what) {
      const estimate = approximateTokens(what);
      if (estimate === what.fixedTokens && what.texts.every((text) => text === "")) return estimate;
      const bytes = what.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      if (isApproximate() || bytes > EXACT_LIMIT_BYTES) return estimate;
      if (thread === undefined) {
        const started: Thread = new Thread(() => {
          if (thread === started) thread = undefined;
        });
        thread = started;
      }
      const tokens = await thread.count(encodingOf(model), what.texts);
      return tokens === undefined ? estimate : what.fixedTokens + tokens;
    },
    async close() {
      await thread?.end();
    },
  };
}
