// What is measured: the cases, one pair of runs (floor, Tollgate) at a time, and the medians over the pairs.
import { cpuMs, type Load, type Service } from "./processes.ts";
import { EVENTS, type Job, type JobResult, type Pace } from "./wire.ts";

export interface Case {
  readonly name: "json" | "json-idle" | "sse" | "sse-flood" | "sse-idle";
  readonly title: string;
  readonly isStream: boolean;
  readonly connections: number;
  readonly requests: number;
  readonly warmup: number;
  readonly pairs: number;
  /** Without it a stream goes as fast as it can, and the system joins events that lie too close together. */
  readonly pace?: Pace;
}

const JOB_TIMEOUT_MS = 60_000;

/** Far enough apart that every event is read alone. The usage and `[DONE]` are the last two of a stream. */
const APART: Pace = { events: EVENTS - 2, everyMs: 2 };

/** The five cases; the quick ones have the same shape and fewer requests. */
export function casesFor(isQuick: boolean): Case[] {
  const size = (full: number, quick: number) => (isQuick ? quick : full);
  return [
    {
      name: "json",
      title: "JSON chat, 64 conn.",
      isStream: false,
      connections: 64,
      requests: size(12_000, 5_000),
      warmup: 640,
      pairs: size(7, 3),
    },
    {
      name: "json-idle",
      title: "JSON chat, 1 conn.",
      isStream: false,
      connections: 1,
      requests: size(1_500, 800),
      warmup: 50,
      pairs: size(7, 3),
    },
    {
      name: "sse",
      title: `SSE, ${EVENTS} events ${APART.everyMs} ms apart, 32 conn.`,
      isStream: true,
      connections: 32,
      requests: size(384, 256),
      warmup: 32,
      pairs: size(7, 3),
      pace: APART,
    },
    {
      name: "sse-flood",
      title: `SSE, ${EVENTS} events at once, 32 conn.`,
      isStream: true,
      connections: 32,
      requests: size(2_000, 800),
      warmup: 96,
      pairs: size(7, 3),
    },
    {
      name: "sse-idle",
      title: `SSE, ${EVENTS} events at once, 1 conn.`,
      isStream: true,
      connections: 1,
      requests: size(1_000, 400),
      warmup: 20,
      pairs: size(7, 3),
    },
  ];
}

/** A server that can be loaded. */
export interface Target extends Service {
  readonly key: string;
}

/** What one run of a case against one target came to. */
export interface Sample {
  readonly cpuUsPerRequest: number;
  readonly cpuUsPerEvent: number;
  readonly requestsPerSecond: number;
  readonly latencyP50Ms: number;
  readonly latencyP99Ms: number;
  readonly firstByteP50Ms: number;
  readonly firstByteP99Ms: number;
  /** HTTP chunks that a stream of 50 events came in. */
  readonly chunksPerStream: number;
  /** From the upstream's write of an event to the client's read. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
}

export interface Outcome {
  readonly case: Case;
  readonly floor: readonly Sample[];
  readonly tollgate: readonly Sample[];
  /** Answers of Tollgate, warm-up included. */
  readonly served: number;
}

export function jobFor(one: Case, target: Target): Job {
  return {
    port: target.port,
    key: target.key,
    isStream: one.isStream,
    connections: one.connections,
    requests: one.requests,
    warmup: one.warmup,
    events: EVENTS,
    ...(one.pace ? { pace: one.pace } : {}),
    rampMs: 0,
    timeoutMs: JOB_TIMEOUT_MS,
  };
}

function sampleOf({ requests, events, elapsedMs, ...result }: JobResult, usedMs: number): Sample {
  return {
    cpuUsPerRequest: (usedMs * 1000) / requests,
    cpuUsPerEvent: events === 0 ? 0 : (usedMs * 1000) / events,
    requestsPerSecond: (requests * 1000) / elapsedMs,
    latencyP50Ms: result.latency.p50,
    latencyP99Ms: result.latency.p99,
    firstByteP50Ms: result.firstByte.p50,
    firstByteP99Ms: result.firstByte.p99,
    chunksPerStream: result.chunks / requests,
    delayP50Ms: result.delay.p50,
    delayP99Ms: result.delay.p99,
  };
}

async function runOnce(load: Load, one: Case, target: Target): Promise<{ sample: Sample; served: number }> {
  let before = 0;
  const result = await load.run(jobFor(one, target), () => {
    before = cpuMs(target.pid);
  });
  return { sample: sampleOf(result, cpuMs(target.pid) - before), served: result.requests + result.warmup };
}

/** Loads floor and Tollgate in turn, `pairs` times, after one unmeasured run of each. Throws: Error on a wrong answer. */
export async function runCase(load: Load, one: Case, floor: Target, tollgate: Target): Promise<Outcome> {
  await runOnce(load, one, floor);
  let { served } = await runOnce(load, one, tollgate);
  const samples: { floor: Sample[]; tollgate: Sample[] } = { floor: [], tollgate: [] };
  for (let pair = 0; pair < one.pairs; pair += 1) {
    samples.floor.push((await runOnce(load, one, floor)).sample);
    const run = await runOnce(load, one, tollgate);
    samples.tollgate.push(run.sample);
    served += run.served;
  }
  return { case: one, ...samples, served };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Median of a measure over the runs of one side. */
export function typical(samples: readonly Sample[], measure: keyof Sample): number {
  return median(samples.map((sample) => sample[measure]));
}

/** Median over the pairs of what `compare` makes of Tollgate's and the floor's value, taken right after each other. */
export function overPairs(
  { floor, tollgate }: Outcome,
  measure: keyof Sample,
  compare: (tollgate: number, floor: number) => number,
): number {
  return median(tollgate.map((sample, at) => compare(sample[measure], floor[at]?.[measure] ?? Number.NaN)));
}
