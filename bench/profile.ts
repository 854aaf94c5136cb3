// Reads V8 CPU profiles and names the functions that cost most themselves, in µs per request. Only what lies between two
// moments counts, so that the start of the process and the warm-up stay out.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A `.cpuprofile` file as V8 writes it; times in µs of the monotonic clock. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Between two moments of the monotonic clock, in µs. */
export interface Window {
  readonly fromUs: number;
  readonly toUs: number;
  readonly requests: number;
}

export interface Cost {
  readonly name: string;
  readonly usPerRequest: number;
}

export interface ThreadCosts {
  /** 0 = main. */
  readonly thread: number;
  readonly busyUsPerRequest: number;
  readonly functions: readonly Cost[];
  readonly places: readonly Cost[];
}

const TOP = 30;

const BUNDLED = /\/dist\/server\/[^/]+\.js$/;
const MODULE_ABOVE = /^\/\/ ((?:src|node_modules|\.\.)\/\S+\.\w+)$/;
const owners = new Map<string, readonly string[]>();

/** The module that each line of a bundled file comes from: the bundler writes its path above it (decision 034). */
function ownersOf(path: string): readonly string[] {
  const known = owners.get(path);
  if (known) return known;
  let owner = path;
  const found = readFileSync(path, "utf8")
    .split("\n")
    .map((line) => (owner = MODULE_ABOVE.exec(line)?.[1] ?? owner));
  owners.set(path, found);
  return found;
}

/** `src/server/relay/relay.ts`, `undici/lib/dispatcher/client.js`, `node:internal/streams`. */
function placeOf({ url, lineNumber }: Frame): string {
  const file = url.replace(/^file:\/\//, "");
  const path = (BUNDLED.test(file) ? ownersOf(file)[lineNumber] : undefined) ?? file;
  const inModules = /node_modules\/(.+)$/.exec(path)?.[1];
  return inModules ?? /(?:^|\/)(src\/.+)$/.exec(path)?.[1] ?? (path || "(V8 and native)");
}

/** Where a function begins; of a bundled one the line in the bundle, which is what can be looked up. */
function lineOf({ url, lineNumber }: Frame, place: string): string {
  const line = lineNumber + 1;
  return BUNDLED.test(url) ? `${place}  ${basename(url)}:${line}` : `${place}:${line}`;
}

function costsOf(totals: ReadonlyMap<string, number>, requests: number): Cost[] {
  return [...totals]
    .map(([name, us]) => ({ name, usPerRequest: us / requests }))
    .sort((a, b) => b.usPerRequest - a.usPerRequest)
    .slice(0, TOP);
}

function add(totals: Map<string, number>, name: string, us: number): void {
  totals.set(name, (totals.get(name) ?? 0) + us);
}

function readThread(profile: CpuProfile, thread: number, { fromUs, toUs, requests }: Window): ThreadCosts {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, number>();
  const places = new Map<string, number>();
  let at = profile.startTime;
  let busyUs = 0;
  for (const [index, id] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0;
    const us = profile.timeDeltas[index + 1] ?? 0;
    const frame = frames.get(id);
    if (frame === undefined || at < fromUs || at > toUs || frame.functionName === "(idle)") continue;
    const place = placeOf(frame);
    busyUs += us;
    add(functions, `${frame.functionName || "(anonymous)"}  ${lineOf(frame, place)}`, us);
    add(places, place, us);
  }
  return {
    thread,
    busyUsPerRequest: busyUs / requests,
    functions: costsOf(functions, requests),
    places: costsOf(places, requests),
  };
}

/** The costs of every thread that left a profile in `folder`; names are CPU.<date>.<time>.<pid>.<thread>.<n>.cpuprofile. */
export function readProfiles(folder: string, window: Window): ThreadCosts[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => {
      // V8's own format.
      const profile = JSON.parse(readFileSync(join(folder, name), "utf8")) as CpuProfile;
      return readThread(profile, Number(name.split(".")[4]), window);
    })
    .sort((a, b) => a.thread - b.thread);
}

/** The costs as lines for people. */
export function profileText(threads: readonly ThreadCosts[]): string {
  const list = (costs: readonly Cost[]) =>
    costs.map(({ name, usPerRequest }) => `${usPerRequest.toFixed(2).padStart(9)}  ${name}`).join("\n");
  return threads
    .filter(({ busyUsPerRequest }) => busyUsPerRequest > 0)
    .map(({ thread, busyUsPerRequest, functions, places }) =>
      [
        `thread ${thread}: ${busyUsPerRequest.toFixed(1)} µs per request; self time by function:`,
        list(functions),
        "by file:",
        list(places),
      ].join("\n"),
    )
    .join("\n\n");
}
