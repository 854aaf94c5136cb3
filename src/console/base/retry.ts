// Trying again after a failure, waiting a little longer each time.

export interface RetrySchedule {
  /** How often it is tried again after the first failure. */
  readonly retries: number;
  /** Milliseconds to wait before the n-th retry, counted from 1. */
  readonly waitMs: (attempt: number) => number;
}

/** The GitHub callback waits 2 s times the number of the attempt (requirements B4). */
export const callbackSchedule: RetrySchedule = { retries: 2, waitMs: (attempt) => attempt * 2_000 };

export interface RetryTools {
  readonly sleep: (ms: number) => Promise<void>;
  /** Told after every failure; `attempt` is the retry that follows, undefined after the last one. */
  readonly onFailure: (error: unknown, attempt: number | undefined) => void;
}

/** Runs `act` until it succeeds or the schedule is used up. Returns its result, or undefined when it never succeeded. */
export async function withRetries<T>(
  act: () => Promise<T>,
  schedule: RetrySchedule,
  tools: RetryTools,
): Promise<{ readonly result: T } | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { result: await act() };
    } catch (error) {
      const isLast = attempt > schedule.retries;
      tools.onFailure(error, isLast ? undefined : attempt);
      if (isLast) return undefined;
      await tools.sleep(schedule.waitMs(attempt));
    }
  }
}
