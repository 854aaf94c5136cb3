// Keys with a time each, in bounded memory: the base of limits and of "seen before".

/** About 100 bytes each; more keys than this at once means an attack, and then the oldest are forgotten. */
const MAX_KEYS = 100_000;

/**
 * Rounding must not refuse the last event of a burst: each step that is no whole number may cost a ten-thousandth beside a time of
 * day. Unit: ms.
 */
export const GCRA_SLACK_MS = 1;

export class ExpiringKeys {
  readonly #untilMs = new Map<string, number>();

  /**
   * The time of a key if it is still to come. Marks are set at most `longestMs` ahead: one that is further away is older than a
   * step back of the clock, and is brought nearer (requirements F08).
   */
  get(key: string, { nowMs, longestMs }: { nowMs: number; longestMs: number }): number | undefined {
    const untilMs = this.#untilMs.get(key);
    if (untilMs === undefined || untilMs <= nowMs) return undefined;
    const latestMs = nowMs + longestMs + GCRA_SLACK_MS;
    if (untilMs <= latestMs) return untilMs;
    this.#untilMs.set(key, latestMs);
    return latestMs;
  }

  set(key: string, untilMs: number, nowMs: number): void {
    // The order tells which are the oldest, once keys may have to go. Before that a key stays where it is: a table in which keys come and go
    // is rebuilt all the time, and each of its generations outlives young collections.
    if (this.#untilMs.size >= MAX_KEYS / 2) this.#untilMs.delete(key);
    if (this.#untilMs.size >= MAX_KEYS) this.#sweep(nowMs);
    this.#untilMs.set(key, untilMs);
  }

  #sweep(nowMs: number): void {
    for (const [key, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(key);
    // Still full: the first tenth goes, so that a sweep is paid for by many keys.
    for (const key of this.#untilMs.keys()) {
      if (this.#untilMs.size <= MAX_KEYS * 0.9) return;
      this.#untilMs.delete(key);
    }
  }
}

interface Rate {
  readonly windowMs: number;
  readonly limit: number;
  /** How many events this one is worth. */
  readonly worth?: number | undefined;
  readonly nowMs: number;
}

/**
 * Counts one event of a key: at most `limit` in a burst, refilled evenly over `windowMs` (GCRA). Returns 0 when it is allowed,
 * else how long to wait; what is refused does not count. Unit: ms.
 */
export function countEvent(
  marks: ExpiringKeys,
  key: string,
  { windowMs, limit, worth = 1, nowMs }: Rate,
): number {
  const costMs = (windowMs / limit) * worth;
  // The time at which the bucket is full again; each event moves it by its steps.
  const fullMs = marks.get(key, { nowMs, longestMs: windowMs }) ?? nowMs;
  const waitMs = fullMs - nowMs - (windowMs - costMs) - GCRA_SLACK_MS;
  if (waitMs > 0) return Math.ceil(waitMs);
  marks.set(key, fullMs + costMs, nowMs);
  return 0;
}

/** Takes back what `countEvent` allowed; a negative worth is owed. Unit: ms. */
export function uncountEvent(
  marks: ExpiringKeys,
  key: string,
  { windowMs, limit, worth = 1, nowMs }: Rate,
): void {
  const fullMs = marks.get(key, { nowMs, longestMs: windowMs });
  if (fullMs === undefined && worth > 0) return;
  marks.set(key, Math.min((fullMs ?? nowMs) - (windowMs / limit) * worth, nowMs + windowMs), nowMs);
}
