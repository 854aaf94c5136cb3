// How long a request waits between two calls of channels.
import { LocalError } from "#server/relay/http/local-errors.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { lastWord, wasUncalled } from "./failed-calls.ts";

/** Pauses between calls: twice as long each time, and never the same for two requests (requirements R09). */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Lets some time pass before another channel is called after this fault. Throws: LocalError when the client leaves meanwhile. */
export async function backOff(fault: RelayFault, calls: number, cancellation: Cancellation): Promise<void> {
  if (wasUncalled(fault)) return;
  await pause(pauseAfter(calls, Math.random()), cancellation);
  if (cancellation.isCancelled) throw new LocalError(lastWord(fault));
}

/** The pause after so many calls that failed. Unit: ms; `random` from 0 to 1. */
export function pauseAfter(calls: number, random: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (calls - 1), LONGEST_PAUSE_MS) * (0.5 + random / 2);
}

/** Waits, unless the client leaves. */
function pause(ms: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end() {
      clearTimeout(timer);
      cancellation.watch(undefined);
      resolve();
    }
    cancellation.watch(end);
  });
}
