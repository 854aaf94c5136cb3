// The main thread's end of one SQLite worker: requests out, answers back, no request left waiting when it dies.
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import { StoreError } from "./fault.ts";
import type { QueryAnswer, SqlValue, WorkerOptions, WorkerReply, WorkerRequest } from "./sqlite-messages.ts";

/** Hears what is told ahead of an answer. */
export type OnEarly = (value: unknown) => void;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  readonly onEarly?: OnEarly | undefined;
}

/** A request without its number. */
type Order = WorkerRequest extends infer Request
  ? Request extends { id: number }
    ? Omit<Request, "id">
    : never
  : never;

/** More than any page of rows takes; V8 prepares less for a heap with such a limit, 2 MB. */
const HEAP_LIMIT_MB = 1024;

/** Where compiled modules are kept, if anywhere: without them each thread loads the compiler, some 20 MB. */
function environment(): NodeJS.ProcessEnv {
  const directory = getCompileCacheDir();
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}

/** The messages of an error and of what caused it. */
function wordsOf(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...wordsOf(error.cause)] : [];
}

export class SqliteThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #gone: StoreError | undefined;
  #hasOpened = false;
  #isClosing = false;

  private constructor(worker: Worker, onDeath: (error: StoreError) => void) {
    this.#worker = worker;
    worker.on("message", (reply: WorkerReply) => this.#receive(reply));
    // What it said before is heard before its exit, but not always before its error.
    let cause: unknown;
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", () => {
      const words = ["the database worker ended", ...wordsOf(cause)].join(": ");
      this.#die(new StoreError("lost", words, cause), onDeath);
    });
  }

  /** Starts a worker and opens its database. Throws: StoreError with SQLite's words when that fails. */
  static async open(options: WorkerOptions, onDeath: (error: StoreError) => void): Promise<SqliteThread> {
    const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), {
      workerData: options,
      // The options of the main thread's own command line are not for this file, nor are the secrets of its environment.
      execArgv: [],
      env: environment(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MB },
    });
    const thread = new SqliteThread(worker, onDeath);
    // The worker answers number 0 by itself once it is open.
    await new Promise<unknown>((resolve, reject) => thread.#waiting.set(0, { resolve, reject }));
    return thread;
  }

  /** Requests without an answer yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs one statement. Throws: StoreError. */
  query(sql: string, values: readonly SqlValue[]): Promise<QueryAnswer> {
    // The worker answers `query` with a QueryAnswer.
    return this.#call({ kind: "query", sql, values }) as Promise<QueryAnswer>;
  }

  /** Loads a module, so that `run` can run it. */
  async load(module: string): Promise<void> {
    await this.#call({ kind: "load", module });
  }

  /** Runs a loaded module. Throws: StoreError. */
  run(module: string, input: unknown, onEarly?: OnEarly): Promise<unknown> {
    return this.#call({ kind: "run", module, input }, onEarly);
  }

  /** Lets the worker finish what was asked before, close its files and end. */
  async close(): Promise<void> {
    if (this.#gone) return;
    const ended = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    const closed = this.#call({ kind: "close" });
    // The exit may be told in the same breath as the answer, before we hear of either.
    this.#isClosing = true;
    await closed;
    this.#gone = new StoreError("lost", "the database is closed");
    await ended;
  }

  #call(order: Order, onEarly?: OnEarly): Promise<unknown> {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onEarly });
      try {
        this.#worker.postMessage({ ...order, id });
      } catch (cause) {
        // A value that cannot be copied to another thread: the caller's mistake.
        this.#waiting.delete(id);
        reject(new StoreError("other", "a value cannot be stored", cause));
      }
    });
  }

  #receive(reply: WorkerReply): void {
    const waiting = this.#waiting.get(reply.id);
    if ("early" in reply) {
      waiting?.onEarly?.(reply.early);
      return;
    }
    this.#waiting.delete(reply.id);
    if (!waiting) return;
    if ("fault" in reply) waiting.reject(new StoreError(reply.fault.kind, reply.fault.message));
    else waiting.resolve(reply.value);
    if (reply.id === 0) this.#hasOpened = !("fault" in reply);
  }

  #die(error: StoreError, onDeath: (error: StoreError) => void): void {
    if (!this.#gone) {
      this.#gone = error;
      // Of one that never opened `open` tells why; its exit may be heard in the same breath.
      if (this.#hasOpened && !this.#isClosing) onDeath(error);
    }
    for (const waiting of this.#waiting.values()) waiting.reject(this.#gone);
    this.#waiting.clear();
  }
}
