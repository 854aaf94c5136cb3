// The load generator, in a process of its own: keep-alive connections, prepared bytes, every answer checked. Takes one
// job at a time over the IPC channel: prepare (connect, warm up), go (measure). Never retries: one wrong answer ends it.
import { connect, type Socket } from "node:net";
import { MessageReader } from "./http-reader.ts";
import {
  ANSWER_MARK,
  chatRequest,
  type FromLoad,
  type Job,
  type JobResult,
  monotonicUs,
  type Spread,
  STAMP_DIGITS,
  STAMP_MARK,
  type ToLoad,
} from "./wire.ts";

const NEWLINE = 10;
const EVENT_END = Buffer.from("\n\n");
const DONE = Buffer.from("data: [DONE]\n\n");
const MARK = Buffer.from(ANSWER_MARK);
const STAMP = Buffer.from(STAMP_MARK);

/** What one phase (warm-up or measurement) has seen. Numbers in ms. */
interface Tally {
  readonly latencies: number[];
  readonly firstBytes: number[];
  readonly delays: number[];
  /** By the clock of `performance`. */
  readonly ends: number[];
  events: number;
}

function emptyTally(): Tally {
  return { latencies: [], firstBytes: [], delays: [], ends: [], events: 0 };
}

/** One keep-alive connection that asks again and again, as long as `next` says so. */
class Client {
  readonly reader: MessageReader;
  tally: Tally = emptyTally();
  readonly #job: Job;
  readonly #request: Buffer;
  /** Opened by the first request. */
  #socket: Socket | undefined;
  #onDone: (error?: Error) => void = () => undefined;
  #sentAt = 0;
  #firstByteAt = 0;
  #head = "";
  #events = 0;
  #endsWithNewline = false;
  #tail: Buffer = DONE;
  #body: Buffer = DONE;

  constructor(job: Job, request: Buffer) {
    this.#job = job;
    this.#request = request;
    this.reader = new MessageReader({
      onHead: (head) => {
        this.#head = head;
      },
      onBody: (piece) => this.#take(piece),
      onEnd: () => this.#onDone(this.#judge()),
    });
  }

  #connect(): Socket {
    const socket = connect({ port: this.#job.port, host: "127.0.0.1", noDelay: true });
    socket.on("data", (data: Buffer) => this.#read(data));
    socket.on("error", (error) => this.#onDone(error));
    socket.on("close", () => this.#onDone(new Error("the connection was closed")));
    return socket;
  }

  /** Sends the request once; `dueAt` = when it should have gone. Throws: Error when the answer is not the right one. */
  ask(dueAt?: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onDone = (error) => {
        this.#onDone = () => undefined;
        if (error) reject(error);
        else resolve();
      };
      this.#firstByteAt = 0;
      this.#events = 0;
      this.#endsWithNewline = false;
      this.#socket ??= this.#connect();
      this.#sentAt = dueAt ?? performance.now();
      // A connection that was closed in between makes this an error, which is the point of keep-alive.
      this.#socket.write(this.#request, (error) => (error ? this.#onDone(error) : undefined));
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #read(data: Buffer): void {
    try {
      this.reader.push(data);
    } catch (error) {
      this.#onDone(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #take(piece: Buffer): void {
    const isFirst = this.#firstByteAt === 0;
    if (isFirst) this.#firstByteAt = performance.now();
    if (this.#job.isStream) this.#countEvents(piece);
    else this.#body = isFirst ? piece : Buffer.concat([this.#body, piece]);
  }

  #countEvents(piece: Buffer): void {
    let from = 0;
    if (this.#endsWithNewline && piece[0] === NEWLINE) {
      this.#events += 1;
      from = 1;
    }
    for (let at = piece.indexOf(EVENT_END, from); at >= 0; at = piece.indexOf(EVENT_END, from)) {
      this.#events += 1;
      from = at + EVENT_END.length;
    }
    this.#endsWithNewline = from < piece.length && piece[piece.length - 1] === NEWLINE;
    this.#tail =
      piece.length >= DONE.length ? piece : Buffer.concat([this.#tail.subarray(-DONE.length), piece]);
    if (this.#job.pace) this.#readStamps(piece);
  }

  #readStamps(piece: Buffer): void {
    const now = monotonicUs();
    for (let at = piece.indexOf(STAMP); at >= 0; at = piece.indexOf(STAMP, at + STAMP.length)) {
      const from = at + STAMP.length;
      const to = from + STAMP_DIGITS;
      if (to <= piece.length)
        this.tally.delays.push((now - Number(piece.toString("latin1", from, to))) / 1000);
    }
  }

  /** Counts a right answer; returns what is wrong with another. */
  #judge(): Error | undefined {
    if (!this.#head.startsWith("HTTP/1.1 200")) {
      const body = this.#job.isStream ? this.#tail : this.#body;
      return new Error(`status: ${this.#head.slice(0, 40).split("\r")[0]}; ${body.toString().slice(0, 300)}`);
    }
    if (this.#job.isStream) {
      if (this.#events !== this.#job.events)
        return new Error(`${this.#events} events, not ${this.#job.events}`);
      if (!this.#tail.subarray(-DONE.length).equals(DONE)) return new Error("a stream without [DONE]");
    } else if (!this.#body.includes(MARK)) {
      return new Error(`wrong body: ${this.#body.toString().slice(0, 300)}`);
    }
    const now = performance.now();
    this.tally.ends.push(now);
    this.tally.latencies.push(now - this.#sentAt);
    this.tally.firstBytes.push(this.#firstByteAt - this.#sentAt);
    this.tally.events += this.#events;
    return undefined;
  }
}

interface Phase {
  readonly count: number;
  readonly rampMs: number;
  /** Nothing is asked after this time. */
  readonly until: number;
  readonly perSecond?: number | undefined;
}

/** Sends `count` requests over the clients, each taking the next when its last one is answered. */
async function runPhase(
  clients: readonly Client[],
  { count, rampMs, until, perSecond }: Phase,
): Promise<Tally> {
  const tally = emptyTally();
  const start = performance.now();
  let left = count;
  const work = async (client: Client, index: number): Promise<void> => {
    client.tally = tally;
    if (rampMs > 0) await pause((index * rampMs) / clients.length);
    while (left > 0 && performance.now() < until) {
      const dueAt = perSecond === undefined ? undefined : start + ((count - left) * 1_000) / perSecond;
      left -= 1;
      if (dueAt !== undefined && dueAt > performance.now()) await pause(dueAt - performance.now());
      await client.ask(dueAt);
    }
  };
  await Promise.all(clients.map(work));
  return tally;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function spread(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function tell(message: FromLoad): void {
  process.send?.(message);
}

/** A job between `prepare` and `go`. */
let prepared: { job: Job; clients: Client[]; warmup: number; timer: NodeJS.Timeout } | undefined;

async function prepare(job: Job): Promise<void> {
  const requests = (job.keys ?? [job.key]).map((key) => chatRequest(job.port, key, job.isStream, job.pace));
  const clients = Array.from(
    { length: job.connections },
    (_, at) => new Client(job, requests[at % requests.length] ?? Buffer.alloc(0)),
  );
  const timer = setTimeout(() => fail(new Error(`not done after ${job.timeoutMs} ms`)), job.timeoutMs);
  prepared = { job, clients, warmup: 0, timer };
  const { latencies } = await runPhase(clients, {
    count: job.warmup,
    rampMs: 0,
    until: Number.POSITIVE_INFINITY,
  });
  prepared.warmup = latencies.length;
  tell({ kind: "ready" });
}

async function go(): Promise<void> {
  if (prepared === undefined) throw new Error("nothing is prepared");
  const { job, clients, warmup } = prepared;
  const chunksOf = () => clients.reduce((sum, { reader }) => sum + reader.chunks, 0);
  const chunksBefore = chunksOf();
  const start = performance.now();
  const tally = await runPhase(clients, {
    count: job.requests,
    rampMs: job.rampMs,
    perSecond: job.perSecond,
    until: start + (job.forMs ?? Number.POSITIVE_INFINITY),
  });
  const result: JobResult = {
    requests: tally.latencies.length,
    warmup,
    elapsedMs: performance.now() - start,
    latency: spread(tally.latencies),
    firstByte: spread(tally.firstBytes),
    events: tally.events,
    chunks: chunksOf() - chunksBefore,
    delay: spread(tally.delays),
    endsMs: job.forMs === undefined ? [] : tally.ends.map((end) => end - start),
  };
  close();
  tell({ kind: "result", result });
}

function close(): void {
  clearTimeout(prepared?.timer);
  for (const client of prepared?.clients ?? []) client.close();
  prepared = undefined;
}

function fail(error: unknown): void {
  if (prepared === undefined) return;
  close();
  tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
}

process.on("message", (message: ToLoad) => {
  const work = message.kind === "prepare" ? prepare(message.job) : go();
  work.catch(fail);
});
process.on("disconnect", () => process.exit(0));
