// The main thread's end of one SQLite worker: requests out, answers back, no request left waiting when it dies; and the order of what
// goes to it.
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

/** Work that failed is not tried again before: a database in trouble must not hold up every reader, one lock can take long. */
const RETRY_MS = 1_000;

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

/** While a transaction is open on the one writing connection, all other statements wait in a queue. */
export class Gate {
  #held = false;
  #opening: Promise<unknown> = Promise.resolve();
  readonly #queue: (() => void)[] = [];

  /** A transaction is open. */
  get isHeld(): boolean {
    return this.#held;
  }

  /** Who waits for a transaction to end. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves when the transaction that holds the gate, or held it last, has begun or failed to. */
  get opening(): Promise<unknown> {
    return this.#opening;
  }

  /** Runs `action` as soon as no transaction is open. What it posts is ordered before any later transaction. */
  pass<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) return action();
    return new Promise((resolve, reject) => {
      this.#queue.push(() => void action().then(resolve, reject));
    });
  }

  /** Closes the gate behind the caller as soon as it is open; `action` begins the transaction. */
  enter<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) return this.#begin(action);
    return new Promise((resolve, reject) => {
      this.#queue.push(() => void this.#begin(action).then(resolve, reject));
    });
  }

  /** Opens the gate for those who waited, up to and including the next transaction. */
  leave(): void {
    this.#held = false;
    while (!this.#held) {
      const startNext = this.#queue.shift();
      if (!startNext) return;
      startNext();
    }
  }

  #begin<T>(action: () => Promise<T>): Promise<T> {
    this.#held = true;
    const begun = action();
    this.#opening = begun.then(
      () => undefined,
      () => undefined,
    );
    return begun;
  }
}

/** One piece of work that was put off until the next statement needs it done. Knows nothing of what it is. */
export class DeferredFlush {
  #work: (() => Promise<void>) | undefined;
  #running: Promise<void> | undefined;

  /** Puts work off; what was put off before is replaced. */
  schedule(work: () => Promise<void>): void {
    this.#work = work;
  }

  /** Nothing is put off, and nothing that was is still being done. */
  get isIdle(): boolean {
    return this.#work === undefined && this.#running === undefined;
  }

  /** Does what was put off; callers of the same moment share it. Work that fails is put off for a while. Never throws. */
  async flush(): Promise<void> {
    // What is being done may have begun before the last work was scheduled. What is scheduled from now on is for later callers: under load
    // there is always more.
    if (this.#running !== undefined) await this.#running;
    if (this.#work !== undefined) this.#running ??= this.#do();
    await this.#running;
  }

  async #do(): Promise<void> {
    const work = this.#work;
    this.#work = undefined;
    try {
      await work?.();
    } catch {
      setTimeout(() => {
        this.#work ??= work;
      }, RETRY_MS).unref();
    } finally {
      this.#running = undefined;
    }
  }
}
