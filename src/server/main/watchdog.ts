// One process on SQLite: no other process watches it, so the thread that writes the database checks whether the main thread's loop turns
// (requirements D03). With PostgreSQL WORKERS above 1 does the same from outside.
import { url as inspectorUrl } from "node:inspector";
import type { Store } from "#server/store/db.ts";
import type { WatchOrder } from "./watchdog-thread.ts";

const THREAD = new URL("./watchdog-thread.ts", import.meta.url);
const BEAT_MS = 1_000;

/** Tells the database's thread every `beatMs`, as long as this loop turns, that it does. */
export async function startWatchdog(store: Store, beatMs = BEAT_MS): Promise<void> {
  if (store.dialect !== "sqlite") return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  await store.runInWriter(THREAD, { beats, lookMs: beatMs } satisfies WatchOrder);
  setInterval(() => {
    // Under a debugger the loop may stand still for any time.
    if (inspectorUrl() === undefined) Atomics.add(beats, 0, 1);
    else Atomics.store(beats, 0, 0);
  }, beatMs).unref();
}
