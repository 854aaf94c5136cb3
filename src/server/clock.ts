// The only reader of the time. Everything else takes a Clock, so that tests can move it.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Whole seconds since 1970. */
  seconds(): number;
}

/** A day that is no date: 24 hours, whatever clocks do that day. */
export const DAY_SEC = 86_400;

/**
 * How far what was written down may lie ahead, seconds: the clock was set back a little since. What lies further was written while
 * the clock was wrong, and would stand until that time comes (requirements F08).
 */
export const AHEAD_SEC = 2 * 3600;

export const systemClock: Clock = {
  now: () => Date.now(),
  seconds: () => Math.floor(Date.now() / 1000),
};

/** A clock that stands still until it is moved. Unit: ms. */
export function fakeClock(startMs = 1_800_000_000_000): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    seconds: () => Math.floor(nowMs / 1000),
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
