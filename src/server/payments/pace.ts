// How often a provider is asked: each merchant account at most twenty times in any second, however much is due at once (requirements Y42).
import { setTimeout as sleep } from "node:timers/promises";
import type { Coord } from "#server/coord/coord.ts";

/** Twenty a second, and room for timers that are late. Unit: ms. */
export const EVERY_MS = 60;
/** However many people ask, what comes in the background waits no longer because of them. Unit: ms. */
const MOST_AHEAD_MS = 2_000;

/** Time by a monotonic clock. Unit: ms. */
export interface Timer {
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

const realTimer: Timer = { now: () => performance.now(), sleep: (ms) => sleep(ms) };

export class Pace {
  /** When each account may be asked next. */
  readonly #free = new Map<number, number>();
  readonly #timer: Timer;

  constructor(timer: Timer = realTimer) {
    this.#timer = timer;
  }

  /** Waits until the account may be asked, one after the other. */
  async turn(account: number): Promise<void> {
    const nowMs = this.#timer.now();
    const at = Math.max(nowMs, this.#free.get(account) ?? 0);
    this.#free.set(account, at + EVERY_MS);
    if (at > nowMs) await this.#timer.sleep(at - nowMs);
  }

  /** A person waits for the answer: it is asked for at once, and what comes in the background waits a little longer. */
  count(account: number): void {
    const nowMs = this.#timer.now();
    const free = this.#free.get(account) ?? 0;
    const next = Math.min(Math.max(nowMs, free) + EVERY_MS, nowMs + MOST_AHEAD_MS);
    this.#free.set(account, Math.max(free, next));
  }
}

const paces = new WeakMap<Coord, Pace>();

/** That of this process: one process at a time asks in the background. */
export function paceOf(coord: Coord): Pace {
  const pace = paces.get(coord) ?? new Pace();
  paces.set(coord, pace);
  return pace;
}
