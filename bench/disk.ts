// What the disk alone takes for what a settlement waits for: a few pages of a log, forced to it. No call can be faster than that.
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

const PAGES = Buffer.alloc(2 * 4096, 1);
/** As large as the log becomes before it begins anew. */
const PLACES = 2_000;
const TIMES = 1_000;

export interface DiskTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Overwrites a file in this directory and takes each write to the disk, a millisecond apart. Takes some seconds. */
export async function measureDisk(directory: string): Promise<DiskTimes> {
  const handle = openSync(join(directory, "disk"), "w+");
  const write = (at: number) => writeSync(handle, PAGES, 0, PAGES.length, (at % PLACES) * PAGES.length);
  for (let at = 0; at < PLACES; at += 1) write(at);
  fsyncSync(handle);
  const times: number[] = [];
  for (let at = 0; at < TIMES; at += 1) {
    write(at);
    const beginMs = performance.now();
    fdatasyncSync(handle);
    times.push(performance.now() - beginMs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  closeSync(handle);
  times.sort((a, b) => a - b);
  const of = (share: number) => times[Math.floor(TIMES * share)] ?? Number.NaN;
  return { p50Ms: of(0.5), p99Ms: of(0.99) };
}
