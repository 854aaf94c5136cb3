// Runs in the thread that writes the SQLite database (SqliteStore.runInWriter): ends a process that only looks alive.
import { writeSync } from "node:fs";

/** Looks without a beat between them until a loop counts as stuck. Not time: a thread that slept or was stopped did not look either. */
const LOOKS = 10;

export interface WatchOrder {
  readonly beats: Int32Array;
  readonly lookMs: number;
}

/** Looks every `lookMs` from now on. `beats` is counted up by a loop that turns; 0 = do not look. */
export function run(_database: unknown, { beats, lookMs }: WatchOrder): void {
  let last = 0;
  let looks = 0;
  setInterval(() => {
    const now = Atomics.load(beats, 0);
    looks = now === last && now !== 0 ? looks + 1 : 0;
    last = now;
    if (looks < LOOKS) return;
    // A thread's own streams go through the main thread.
    writeSync(2, `tollgate: the event loop has been stuck for ${(LOOKS * lookMs) / 1000} s, ending\n`);
    process.kill(process.pid, "SIGKILL");
  }, lookMs).unref();
}

/** Nothing was put off. */
export function flush(): void {
  // Called before each statement of another task, such as a group of the ledger.
}
