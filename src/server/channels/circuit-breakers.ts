// Circuit breakers: whether calls for a model go to a channel, by what became of the last ones. Pure but for the time it is given.

/** So many failures one after another open a circuit, or half of the results of a minute when there are enough of them. */
const FAILURES_IN_A_ROW = 3;
const RESULTS_TO_JUDGE = 10;
const SLOTS = 6;
const SLOT_MS = 10_000;

const OPEN_MS = 10_000;
/** For an upstream that is saturated and names no time. */
const SATURATED_MS = 2_000;
/** The longest time a circuit stays open, whether it grew to that or the upstream asked for more. */
const MAX_OPEN_MS = 300_000;
/** A probe that has not ended after so long no longer keeps other calls away. */
const PROBE_MS = 120_000;

/** How many circuits are kept before old ones are swept out, and how long one is kept after its last failure. */
const SWEEP_AT = 512;
const REMEMBERED_MS = 600_000;

export interface Failure {
  /** How long the upstream asked to wait; 0 = it did not say. */
  readonly askedMs: number;
  /** The upstream said that it is saturated: one such answer is enough. */
  readonly isSaturated: boolean;
}

/** What `calling` gives to a call: the call reports its outcome with it. 0 = given while the circuit was closed. */
export type Permit = number;

export class CircuitBreakers {
  /** Model → channel id → circuit. A circuit exists from its first failure until the channel is found healthy. */
  readonly #circuits = new Map<string, Map<number, Circuit>>();
  /** How many circuits there are; 0 = nothing is known of any channel: all are healthy. Written here alone; a field, since every call reads it. */
  size = 0;
  /** The last permit that an opening took, of all circuits. */
  #permits: Permit = 0;
  #sweepAt = SWEEP_AT;

  /** Whether a channel's circuit is open for this model now; undefined = no circuit is. */
  openFor(model: string, now: number): ((channelId: number) => boolean) | undefined {
    const circuits = this.#circuits.get(model);
    if (circuits === undefined) return undefined;
    return (channelId) => circuits.get(channelId)?.isOpen(now) === true;
  }

  /** Until when a channel is left alone for a model; 0 = its circuit is closed. Unit: ms since 1970. */
  untilFor(channelId: number, model: string, now: number): number {
    return this.#circuits.get(model)?.get(channelId)?.untilMs(now) ?? 0;
  }

  /** A call is about to be made. In a half-open circuit the first one is the probe: until it has ended, the circuit counts as open. */
  calling(channelId: number, model: string, now: number): Permit {
    return this.#circuits.get(model)?.get(channelId)?.calling(now) ?? 0;
  }

  answered(channelId: number, model: string, permit: Permit, now: number): void {
    const circuit = this.#circuits.get(model)?.get(channelId);
    if (circuit?.answered(permit, now) === true) this.#drop(channelId, model);
  }

  /** The call ended and says nothing about the channel's health: its caller was to blame, or left. */
  ended(channelId: number, model: string, permit: Permit): void {
    this.#circuits.get(model)?.get(channelId)?.ended(permit);
  }

  /** Drops all circuits of a channel: its past says nothing about it from now on. */
  forget(channelId: number): void {
    for (const model of this.#circuits.keys()) this.#drop(channelId, model);
  }

  failed(channelId: number, model: string, failure: Failure, call: { permit: Permit; now: number }): void {
    this.#circuit(channelId, model, call.now).failed(failure, call.permit, call.now);
  }

  #circuit(channelId: number, model: string, now: number): Circuit {
    const known = this.#circuits.get(model)?.get(channelId);
    if (known !== undefined) return known;
    if (this.size >= this.#sweepAt) this.#sweep(now);
    const circuit = new Circuit(() => ++this.#permits);
    const circuits = this.#circuits.get(model) ?? new Map<number, Circuit>();
    this.#circuits.set(model, circuits.set(channelId, circuit));
    this.size += 1;
    return circuit;
  }

  #drop(channelId: number, model: string): void {
    const circuits = this.#circuits.get(model);
    if (circuits?.delete(channelId) !== true) return;
    this.size -= 1;
    if (circuits.size === 0) this.#circuits.delete(model);
  }

  #sweep(now: number): void {
    for (const [model, circuits] of this.#circuits) {
      for (const [channelId, circuit] of circuits) if (circuit.isForgotten(now)) this.#drop(channelId, model);
    }
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.size);
  }
}

/** One channel for one model. Closed: it serves. Open: until a time. Half-open after that: until a probe succeeds. */
class Circuit {
  readonly #window = new Window();
  #failuresInARow = 0;
  /** 0 = closed. */
  #openUntil = 0;
  #openMs = 0;
  #probeUntil = 0;
  /** Drawn at each opening, unique; 0 = it never opened. Calls with an older permit say nothing about it. */
  #permit: Permit = 0;
  #lastFailedMs = 0;
  readonly #nextPermit: () => Permit;

  constructor(nextPermit: () => Permit) {
    this.#nextPermit = nextPermit;
  }

  isOpen(now: number): boolean {
    // Further ahead than they are ever set means that they were set before the clock stepped back (requirements F08).
    this.#openUntil = Math.min(this.#openUntil, now + MAX_OPEN_MS);
    this.#probeUntil = Math.min(this.#probeUntil, now + PROBE_MS);
    return now < this.#openUntil || now < this.#probeUntil;
  }

  untilMs(now: number): number {
    return this.isOpen(now) ? Math.max(this.#openUntil, this.#probeUntil) : 0;
  }

  isForgotten(now: number): boolean {
    return now - this.#lastFailedMs > REMEMBERED_MS && !this.isOpen(now);
  }

  calling(now: number): Permit {
    if (this.#openUntil === 0) return 0;
    if (now >= this.#openUntil) this.#probeUntil = now + PROBE_MS;
    return this.#permit;
  }

  /** True = the channel is healthy: the circuit can be dropped. */
  answered(permit: Permit, now: number): boolean {
    if (this.#openUntil > 0) return permit === this.#permit;
    this.#failuresInARow = 0;
    this.#window.add("answered", now);
    return this.#window.failed === 0;
  }

  ended(permit: Permit): void {
    if (permit === this.#permit) this.#probeUntil = 0;
  }

  failed({ askedMs, isSaturated }: Failure, permit: Permit, now: number): void {
    this.#lastFailedMs = now;
    if (this.#openUntil > 0) {
      const isProbe = permit === this.#permit && now >= this.#openUntil;
      if (isProbe) this.#open(askedMs || 2 * this.#openMs, now);
      else this.#openUntil = Math.max(this.#openUntil, now + Math.min(askedMs, MAX_OPEN_MS));
      return;
    }
    this.#failuresInARow += 1;
    this.#window.add("failed", now);
    if (askedMs > 0) this.#open(askedMs, now);
    else if (isSaturated) this.#open(SATURATED_MS, now);
    else if (this.#failuresInARow >= FAILURES_IN_A_ROW || this.#window.isBad()) this.#open(OPEN_MS, now);
  }

  #open(ms: number, now: number): void {
    this.#openMs = Math.min(ms, MAX_OPEN_MS);
    this.#openUntil = now + this.#openMs;
    this.#probeUntil = 0;
    this.#permit = this.#nextPermit();
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
