// When a channel is left alone for a model: a circuit breaker per channel and model. Pure: the time is an argument, and what is
// healthy is not remembered at all.

/** So many failures one after another make a channel rest, or half of the results of a minute when there are enough of them. */
const FAILURES_IN_A_ROW = 3;
const RESULTS_TO_JUDGE = 10;
const SLOTS = 6;
const SLOT_MS = 10_000;

const REST_MS = 10_000;
/** Saturation that names no time. */
const SATURATED_MS = 2_000;
/** The longest rest, whether it grew to that or the upstream asked for more. */
const MAX_REST_MS = 300_000;
/** A probe that has not come to an end for so long keeps nobody out any more. */
const PROBE_MS = 120_000;

/** Lines that are remembered before the forgotten ones are swept out, and how long one is remembered after its last failure. */
const SWEEP_AT = 512;
const REMEMBERED_MS = 600_000;

export interface Failure {
  /** How long the upstream asked to be left alone; 0 = it did not say. */
  readonly askedMs: number;
  /** It said that it has too much to do: one such word is enough. */
  readonly isSaturated: boolean;
}

/** One call's way through a line: what `calling` gave, for the one that tells how it ended. */
export type Ticket = number;

export class Cooldowns {
  /** Model → channel id → what is known. A line is there from its first failure until it is found healthy. */
  readonly #lines = new Map<string, Map<number, Line>>();
  #size = 0;
  /** How many there have been, of all lines. */
  #rests: Ticket = 0;
  #sweepAt = SWEEP_AT;

  /** Nothing is known of any channel: all are healthy. */
  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The channels that had better be left alone for this model now; undefined = none. */
  cooling(model: string, now: number): ((channelId: number) => boolean) | undefined {
    const lines = this.#lines.get(model);
    if (lines === undefined) return undefined;
    return (channelId) => lines.get(channelId)?.isCooling(now) === true;
  }

  /** A call is about to be made. After a rest, the first one is the probe: until it has ended the channel stays cooling. */
  calling(channelId: number, model: string, now: number): Ticket {
    return this.#lines.get(model)?.get(channelId)?.calling(now) ?? 0;
  }

  answered(channelId: number, model: string, ticket: Ticket, now: number): void {
    const line = this.#lines.get(model)?.get(channelId);
    if (line?.answered(ticket, now) === true) this.#drop(channelId, model);
  }

  /** The call ended without a word on the channel's health: its caller was to blame, or left. */
  ended(channelId: number, model: string, ticket: Ticket): void {
    this.#lines.get(model)?.get(channelId)?.ended(ticket);
  }

  /** All of a channel's lines: it is another one from now on. */
  forget(channelId: number): void {
    for (const model of this.#lines.keys()) this.#drop(channelId, model);
  }

  failed(channelId: number, model: string, failure: Failure, call: { ticket: Ticket; now: number }): void {
    this.#line(channelId, model, call.now).failed(failure, call.ticket, call.now);
  }

  #line(channelId: number, model: string, now: number): Line {
    const known = this.#lines.get(model)?.get(channelId);
    if (known !== undefined) return known;
    if (this.#size >= this.#sweepAt) this.#sweep(now);
    const line = new Line(() => ++this.#rests);
    const lines = this.#lines.get(model) ?? new Map<number, Line>();
    this.#lines.set(model, lines.set(channelId, line));
    this.#size += 1;
    return line;
  }

  #drop(channelId: number, model: string): void {
    const lines = this.#lines.get(model);
    if (lines?.delete(channelId) !== true) return;
    this.#size -= 1;
    if (lines.size === 0) this.#lines.delete(model);
  }

  #sweep(now: number): void {
    for (const [model, lines] of this.#lines) {
      for (const [channelId, line] of lines) if (line.isForgotten(now)) this.#drop(channelId, model);
    }
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#size);
  }
}

/** One channel for one model. Closed: it serves. Otherwise it rests until a time, and then waits for a probe to succeed. */
class Line {
  readonly #window = new Window();
  #failuresInARow = 0;
  /** 0 = closed. */
  #restUntil = 0;
  #restMs = 0;
  #probeUntil = 0;
  /** The number of its last rest, which no other has; 0 = none. Calls that began before that say nothing about it. */
  #rest: Ticket = 0;
  #lastFailedMs = 0;
  readonly #nextRest: () => Ticket;

  constructor(nextRest: () => Ticket) {
    this.#nextRest = nextRest;
  }

  isCooling(now: number): boolean {
    // Further ahead than they are ever set, they are older than a step back of the clock (requirements F08).
    this.#restUntil = Math.min(this.#restUntil, now + MAX_REST_MS);
    this.#probeUntil = Math.min(this.#probeUntil, now + PROBE_MS);
    return now < this.#restUntil || now < this.#probeUntil;
  }

  isForgotten(now: number): boolean {
    return now - this.#lastFailedMs > REMEMBERED_MS && !this.isCooling(now);
  }

  calling(now: number): Ticket {
    if (this.#restUntil === 0) return 0;
    if (now >= this.#restUntil) this.#probeUntil = now + PROBE_MS;
    return this.#rest;
  }

  /** True = nothing about this channel is worth remembering any more. */
  answered(ticket: Ticket, now: number): boolean {
    if (this.#restUntil > 0) return ticket === this.#rest;
    this.#failuresInARow = 0;
    this.#window.add("answered", now);
    return this.#window.failed === 0;
  }

  ended(ticket: Ticket): void {
    if (ticket === this.#rest) this.#probeUntil = 0;
  }

  failed({ askedMs, isSaturated }: Failure, ticket: Ticket, now: number): void {
    this.#lastFailedMs = now;
    if (this.#restUntil > 0) {
      const isProbe = ticket === this.#rest && now >= this.#restUntil;
      if (isProbe) this.#goToRest(askedMs || 2 * this.#restMs, now);
      else this.#restUntil = Math.max(this.#restUntil, now + Math.min(askedMs, MAX_REST_MS));
      return;
    }
    this.#failuresInARow += 1;
    this.#window.add("failed", now);
    if (askedMs > 0) this.#goToRest(askedMs, now);
    else if (isSaturated) this.#goToRest(SATURATED_MS, now);
    else if (this.#failuresInARow >= FAILURES_IN_A_ROW || this.#window.isBad()) this.#goToRest(REST_MS, now);
  }

  #goToRest(ms: number, now: number): void {
    this.#restMs = Math.min(ms, MAX_REST_MS);
    this.#restUntil = now + this.#restMs;
    this.#probeUntil = 0;
    this.#rest = this.#nextRest();
  }
}

/** The results of the last minute, in slots of ten seconds. */
class Window {
  readonly #counts = { answered: newSlots(), failed: newSlots() };
  #slot = 0;

  add(result: "answered" | "failed", now: number): void {
    const slot = Math.floor(now / SLOT_MS);
    for (let past = Math.max(this.#slot + 1, slot - SLOTS + 1); past <= slot; past += 1) {
      this.#counts.answered[past % SLOTS] = 0;
      this.#counts.failed[past % SLOTS] = 0;
    }
    this.#slot = slot;
    const slots = this.#counts[result];
    slots[slot % SLOTS] = (slots[slot % SLOTS] ?? 0) + 1;
  }

  get failed(): number {
    return sum(this.#counts.failed);
  }

  isBad(): boolean {
    const total = this.failed + sum(this.#counts.answered);
    return total >= RESULTS_TO_JUDGE && 2 * this.failed >= total;
  }
}

function newSlots(): number[] {
  return new Array<number>(SLOTS).fill(0);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
