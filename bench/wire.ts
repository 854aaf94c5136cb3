// What the load generator sends and the upstream answers: fixed bytes, made once, and the messages between the processes
// of a benchmark. Both sides agree here and nowhere else.

/** A model with a built-in price, so that every request is charged. */
export const MODEL = "gpt-5.4-nano";
/** SSE events of a stream, `[DONE]` and the usage chunk included. */
export const EVENTS = 50;
/** Stands in every right answer that is not a stream. */
export const ANSWER_MARK = "A toll is paid at the gate.";
/** Stands before the send time, in µs of the monotonic clock, in the events of a paced stream. */
export const STAMP_MARK = "sent-at-";
export const STAMP_DIGITS = 16;

/** The pace of a slow stream: stands in the prompt, where every proxy leaves it alone. */
export interface Pace {
  readonly events: number;
  /** Unit: ms between two events. */
  readonly everyMs: number;
}

const PROMPT =
  "Explain in two short sentences why bridges and tunnels charge a toll, who keeps the money, and what a driver gets for it.";

/** The bytes of one `POST /v1/chat/completions`. */
export function chatRequest(port: number, key: string, isStream: boolean, pace?: Pace): Buffer {
  const prompt = pace === undefined ? PROMPT : `${PROMPT} [pace ${pace.events} ${pace.everyMs}]`;
  const body = JSON.stringify({
    model: MODEL,
    messages: [
      { role: "system", content: "You are a helpful assistant." },
      { role: "user", content: prompt },
    ],
    temperature: 0.7,
    max_tokens: 512,
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer sk-${key}`,
    "Content-Type: application/json",
    "Accept: */*",
    "User-Agent: tollgate-bench",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Reads the pace out of a request body; undefined = as fast as it goes. */
export function paceOf(body: string): Pace | undefined {
  const found = /\[pace (\d+) (\d+)\]/.exec(body);
  return found ? { events: Number(found[1]), everyMs: Number(found[2]) } : undefined;
}

/** Microseconds of a clock that all processes of this machine share. */
export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** One piece of work for the load process. */
export interface Job {
  readonly port: number;
  readonly key: string;
  /** Instead of the one: each connection has the next of them. */
  readonly keys?: readonly string[];
  readonly isStream: boolean;
  readonly connections: number;
  readonly requests: number;
  /** Instead of a number of requests: as many as go in so many ms. */
  readonly forMs?: number;
  /** Requests that fall due each second, whether the ones before are answered or not; latency counts from then. Without it each
   * connection asks again when it has its answer. */
  readonly perSecond?: number;
  /** Requests before the measurement, over the same connections. */
  readonly warmup: number;
  /** Events a stream must have. */
  readonly events: number;
  readonly pace?: Pace;
  /** Unit: ms over which the connections are opened and used for the first time. */
  readonly rampMs: number;
  /** Unit: ms; afterwards the job is a failure. */
  readonly timeoutMs: number;
}

/** Unit: ms. */
export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface JobResult {
  readonly requests: number;
  /** Warm-up requests that were answered, for the ledger check. */
  readonly warmup: number;
  readonly elapsedMs: number;
  readonly latency: Spread;
  /** To the first byte of the body. */
  readonly firstByte: Spread;
  readonly events: number;
  /** HTTP chunks with data; fewer than events when some were joined on the way. */
  readonly chunks: number;
  /** From the upstream's write to our read; paced streams only. */
  readonly delay: Spread;
  /** When each answer was there, in ms from the begin, in the order of the answers. Only of a job with `forMs`. */
  readonly endsMs: readonly number[];
}

export type ToLoad = { readonly kind: "prepare"; readonly job: Job } | { readonly kind: "go" };
export type FromLoad =
  | { readonly kind: "ready" }
  | { readonly kind: "result"; readonly result: JobResult }
  | { readonly kind: "failed"; readonly message: string };
