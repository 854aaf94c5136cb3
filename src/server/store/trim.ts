// Memory that a thread holds and does not need.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Gives the memory back that only starting needed: in the main thread about 20 MB of young generation and garbage of the
 * module loader, in a worker 3 MB. The one collection takes some 20 ms, so it is for a moment when no caller is served yet.
 */
export function trimMemory(): void {
  collector()({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** Collects what no object holds any more, once. Where nothing is allocated V8 would not, however much of it there is. */
export function collectGarbage(): void {
  collector()({ type: "major", execution: "sync" });
}

function collector(): (options: object) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
