// `node bench/streams.ts [count] [--floor]`: so many open streams, one event a second for 20 s, through Tollgate (or
// through the bare proxy): whether all finish, what they weigh, and how late an event comes.
import { parseArgs } from "node:util";
import { checkBooks } from "./books.ts";
import { casesFor, jobFor as quickJobFor } from "./cases.ts";
import { fileLimit, type Load, openFiles, rssMb, startLoad, startService, watchRss } from "./processes.ts";
import { booksText } from "./report.ts";
import { createHome, furnish, type Home, startTollgate, type Tollgate } from "./tollgate.ts";
import type { Job, Pace } from "./wire.ts";

const PACE: Pace = { events: 20, everyMs: 1000 };
/** Usage and `[DONE]` follow the paced events. */
const EVENTS = PACE.events + 2;
/** New streams per second while they are being opened. */
const OPENED_PER_SECOND = 1000;
/** Files of a server that are no streams, with room. */
const OTHER_FILES = 200;
const DEFAULT_COUNT = 2000;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { floor: { type: "boolean", default: false } },
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A proxy holds two sockets per stream, so the system's limit may allow fewer streams than were asked for. */
function allowedCount(asked: number): number {
  const possible = Math.floor((fileLimit() - OTHER_FILES) / 2);
  if (asked <= possible) return asked;
  say(`one process may open ${fileLimit()} files: ${possible} streams instead of ${asked}`);
  return possible;
}

function jobFor(target: { port: number; key: string }, count: number): Job {
  const rampMs = (count * 1000) / OPENED_PER_SECOND;
  return {
    ...target,
    isStream: true,
    connections: count,
    requests: count,
    warmup: 0,
    events: EVENTS,
    pace: PACE,
    rampMs,
    timeoutMs: rampMs + PACE.events * PACE.everyMs + 40_000,
  };
}

/** Some quick streams first, so that cold code is not what is measured. Returns how many. */
async function warmUp(load: Load, target: { pid: number; port: number; key: string }): Promise<number> {
  const quick = casesFor(true).find(({ name }) => name === "sse-flood");
  if (quick === undefined) return 0;
  const { requests, warmup } = await load.run(quickJobFor(quick, target));
  return requests + warmup;
}

/** Holds the streams open and prints what came of them. Returns how many requests were answered in all. */
async function hold(target: { pid: number; port: number; key: string }, count: number): Promise<number> {
  const idleMb = rssMb(target.pid);
  const load = startLoad();
  const warmed = await warmUp(load, target);
  const rss = watchRss(target.pid);
  const { pid, ...address } = target;
  let files = 0;
  const timer = setInterval(() => {
    files = Math.max(files, openFiles(pid));
  }, 1000);
  const result = await load.run(jobFor(address, count));
  clearInterval(timer);
  say(
    `streams finished   ${result.requests} of ${count}, ${result.events} events, in ${(result.elapsedMs / 1000).toFixed(1)} s`,
  );
  say(`files open at once ${files} of ${fileLimit()}`);
  say(`RSS                ${idleMb.toFixed(0)} MB idle, ${rss.stop().toFixed(0)} MB at most`);
  say(
    `first byte         p50 ${result.firstByte.p50.toFixed(1)}, p99 ${result.firstByte.p99.toFixed(1)}, max ${result.firstByte.max.toFixed(1)} ms`,
  );
  say(
    `event delay        p50 ${result.delay.p50.toFixed(2)}, p99 ${result.delay.p99.toFixed(2)}, max ${result.delay.max.toFixed(1)} ms from the upstream's write to the client's read`,
  );
  return warmed + result.requests;
}

async function throughTollgate(count: number, upstreamPort: number): Promise<void> {
  const home: Home = createHome(false);
  const server: Tollgate = await startTollgate(home);
  const key = await furnish(server.port, upstreamPort);
  const served = await hold({ pid: server.pid, port: server.port, key }, count);
  await server.stop();
  say(booksText(await checkBooks(home.dataDir, served)));
}

async function main(): Promise<void> {
  const count = allowedCount(Number(positionals[0] ?? DEFAULT_COUNT));
  const upstream = await startService("bench/upstream.ts");
  if (!flags.floor) return throughTollgate(count, upstream.port);
  const floor = await startService("bench/floor.ts", { UPSTREAM_PORT: String(upstream.port) });
  await hold({ ...floor, key: "0".repeat(48) }, count);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
