// How fast channels answer, by model: what the choice by latency goes by (requirements C42). Each process's own view, kept in memory; only
// calls that are chosen by latency are measured. Not money.
import type { Clock } from "#server/clock.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** A call that is measured. Each of its ends may be told more than once; the first counts. */
export interface Run {
  /** The answer is there, or its first event. */
  replied(): void;
  /** It failed, and the channel is to blame. */
  failed(): void;
  /** It is over; `tokens` = of output, 0 = not known. */
  end(tokens: number): void;
}

/** What is known of a channel for a model. */
export interface Speed {
  /** Of streams to the first event, else of the whole answer by token of output. Unit: ms; undefined = not known. */
  readonly ms: number | undefined;
  readonly inFlight: number;
}

export interface Pace {
  begin(channelId: number, model: string, isStream: boolean): Run;
  speedOf(channelId: number, model: string, isStream: boolean): Speed;
  /** What nineteen of twenty streams of the model take to their first event; undefined = too few have been seen. Unit: ms. */
  usualMs(model: string): number | undefined;
  /** The channel has got another key or address. */
  forget(channelId: number): void;
}

/** After so long without another sample an old one counts a third. */
const DECAY_MS = 60_000;
/** A failure counts as so many times the slowest usual answer: fast errors must not win. */
const FAILURE_FACTOR = 3;
/** The slowest usual answer where none has been seen. Unit: ms. */
const FAILURE_MS = 10_000;
const RECENT = 64;
const USUAL_SHARE = 0.95;
/** Of fewer answers the slowest of twenty cannot be told. */
const LEAST_SEEN = 20;
const MOST_MODELS = 2_000;

/** A mean that follows a worse sample at once and a better one by and by. */
class PeakMean {
  ms: number | undefined;
  #atMs = 0;

  add(sample: number, now: number): void {
    const { ms } = this;
    if (ms === undefined || sample >= ms) this.ms = sample;
    else {
      const kept = Math.exp(-(now - this.#atMs) / DECAY_MS);
      this.ms = ms * kept + sample * (1 - kept);
    }
    this.#atMs = now;
  }
}

/** The last answers of all channels of a model. */
class Recent {
  readonly #samples: number[] = [];
  #next = 0;

  add(sample: number): void {
    this.#samples[this.#next] = sample;
    this.#next = (this.#next + 1) % RECENT;
  }

  get count(): number {
    return this.#samples.length;
  }

  /** What nineteen of twenty stay below. Unit: ms. */
  slowest(): number {
    const sorted = this.#samples.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length * USUAL_SHARE)] ?? FAILURE_MS;
  }
}

interface Gauge {
  readonly mean: PeakMean;
  inFlight: number;
}

class ModelPace {
  readonly recent = new Recent();
  readonly gauges = new Map<number, Gauge>();

  of(channelId: number): Gauge {
    const known = this.gauges.get(channelId);
    if (known !== undefined) return known;
    const gauge = { mean: new PeakMean(), inFlight: 0 };
    this.gauges.set(channelId, gauge);
    return gauge;
  }
}

export function createPace({ now }: Pick<Clock, "now">): Pace {
  /** By kind of answer and model: their times cannot be compared. */
  const models = new Map<string, ModelPace>();
  const nameOf = (model: string, isStream: boolean) => `${isStream ? "s" : "w"} ${model}`;

  function paceOf(model: string, isStream: boolean): ModelPace {
    const name = nameOf(model, isStream);
    const known = models.get(name);
    if (known !== undefined) return known;
    if (models.size >= MOST_MODELS) models.clear();
    const pace = new ModelPace();
    models.set(name, pace);
    return pace;
  }

  return {
    begin(channelId, model, isStream) {
      const pace = paceOf(model, isStream);
      return new Measured({ gauge: pace.of(channelId), recent: pace.recent, isStream, now });
    },
    speedOf(channelId, model, isStream) {
      const gauge = models.get(nameOf(model, isStream))?.gauges.get(channelId);
      return { ms: gauge?.mean.ms, inFlight: gauge?.inFlight ?? 0 };
    },
    usualMs(model) {
      const recent = models.get(nameOf(model, true))?.recent;
      return recent === undefined || recent.count < LEAST_SEEN ? undefined : recent.slowest();
    },
    forget(channelId) {
      for (const { gauges } of models.values()) gauges.delete(channelId);
    },
  };
}

interface MeasuredParts {
  readonly gauge: Gauge;
  readonly recent: Recent;
  readonly isStream: boolean;
  readonly now: () => number;
}

class Measured implements Run {
  readonly #parts: MeasuredParts;
  readonly #startMs: number;
  /** How long the answer took; undefined = there is none. */
  #tookMs: number | undefined;
  #isOver = false;

  constructor(parts: MeasuredParts) {
    this.#parts = parts;
    this.#startMs = parts.now();
    parts.gauge.inFlight += 1;
  }

  replied(): void {
    if (this.#tookMs !== undefined || this.#isOver) return;
    this.#tookMs = Math.max(1, this.#parts.now() - this.#startMs);
    if (this.#parts.isStream) this.#note(this.#tookMs);
  }

  failed(): void {
    if (this.#isOver) return;
    const { gauge, recent, now } = this.#parts;
    gauge.mean.add(FAILURE_FACTOR * recent.slowest(), now());
    this.#leave();
  }

  end(tokens: number): void {
    if (this.#isOver) return;
    if (!this.#parts.isStream && this.#tookMs !== undefined && tokens > 0) this.#note(this.#tookMs / tokens);
    this.#leave();
  }

  #note(sample: number): void {
    const { gauge, recent, now } = this.#parts;
    gauge.mean.add(sample, now());
    recent.add(sample);
  }

  #leave(): void {
    this.#isOver = true;
    this.#parts.gauge.inFlight -= 1;
  }
}

/** Ends a run by what came of its call; a fault that is not the channel's says nothing of it. */
export function noteEnd(run: Run, result: { readonly kind: string } | RelayFault): void {
  if (!("blame" in result)) run.replied();
  else if (result.blame === "none" || result.blame === "proxy") run.end(0);
  else run.failed();
}
