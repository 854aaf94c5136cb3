// `npm run bench`, what may follow it is in flags.ts: Tollgate beside a bare proxy, in one run, as ratios. A
// benchmark, not a test: it ends with 0 whatever it finds, and with 1 only when it could not measure.
import { type Book, checkBooks } from "./books.ts";
import { type Case, casesFor, jobFor, median, type Outcome, runCase, type Target } from "./cases.ts";
import { measureDisk } from "./disk.ts";
import { readFlags } from "./flags.ts";
import { keyLines } from "./keys.ts";
import { measureLimits } from "./limits.ts";
import { machineText } from "./machine.ts";
import { measurePostgres } from "./postgres.ts";
import { type Load, othersShare, rssMb, startLoad, startService, watchRss } from "./processes.ts";
import { profileText, readProfiles } from "./profile.ts";
import { booksText, caseLines, type Line, tableOf, type Vitals, vitalLines } from "./report.ts";
import { reuseLines } from "./reuse.ts";
import { rewriteLines } from "./rewrite.ts";
import { measureTeam } from "./team.ts";
import { createHome, furnish, type Home, startTollgate } from "./tollgate.ts";
import { translationLines } from "./translate.ts";
import { monotonicUs } from "./wire.ts";

const SETTLE_MS = 1500;
const STARTS = 3;

const flags = readFlags(process.argv.slice(2));

function chosenCases(): Case[] {
  return casesFor(flags.quick).filter(({ name }) => flags.case === undefined || flags.case === name);
}

/** Progress goes to stderr, so that stdout holds the result alone. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function startFloor(upstreamPort: number): Promise<Target> {
  const floor = await startService("bench/floor.ts", { UPSTREAM_PORT: String(upstreamPort) });
  return { ...floor, key: "0".repeat(48) };
}

async function runCases(load: Load, floor: Target, tollgate: Target): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const one of chosenCases()) {
    say(`${one.title} …`);
    outcomes.push(await runCase(load, one, floor, tollgate));
  }
  return outcomes;
}

interface Findings {
  readonly outcomes: readonly Outcome[];
  readonly vitals: Vitals | undefined;
  readonly books: readonly Book[];
  /** Lines that need no server. */
  readonly more: readonly Line[];
  /** What Tollgate is held against, where that is not the floor. */
  readonly beside?: string;
}

const NO_SERVER: Findings = { outcomes: [], vitals: undefined, books: [], more: [] };

/** Measured in this process. */
function measureTranslation(): Promise<Line[]> {
  say("translation of streams …");
  return translationLines();
}

async function measureTollgate(): Promise<Findings> {
  const upstream = await startService("bench/upstream.ts");
  const floor = await startFloor(upstream.port);
  const home = createHome(false);
  const first = await startTollgate(home);
  const key = await furnish(first.port, upstream.port);
  await first.stop();
  const server = await startTollgate(home);
  await pause(SETTLE_MS);
  const rssIdleMb = rssMb(server.pid);
  const rss = watchRss(server.pid);
  const outcomes = await runCases(startLoad(), floor, { ...server, key });
  const rssLoadedMb = rss.stop();
  await server.stop();
  const served = outcomes.reduce((sum, outcome) => sum + outcome.served, 0);
  const books = await checkBooks(home.dataDir, served);
  const readyMs = await measureStarts(home);
  say("the disk …");
  const disk = await measureDisk(home.dataDir);
  const more = flags.case === undefined ? [...(await measureTranslation()), ...rewriteLines()] : [];
  return { outcomes, vitals: { rssIdleMb, rssLoadedMb, readyMs, disk }, books, more };
}

/** Starts on the database that the load left behind. Unit: ms; median. */
async function measureStarts(home: Home): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const server = await startTollgate(home);
    times.push(server.readyMs);
    await server.stop();
  }
  return median(times);
}

async function measureFloorTwice(): Promise<Findings> {
  const upstream = await startService("bench/upstream.ts");
  const floor = await startFloor(upstream.port);
  const other = await startFloor(upstream.port);
  return { ...NO_SERVER, outcomes: await runCases(startLoad(), floor, other) };
}

/** One case against a fresh server under the profiler. */
async function profileCase(load: Load, one: Case, upstreamPort: number): Promise<string> {
  const home = createHome(true);
  const server = await startTollgate(home);
  const key = await furnish(server.port, upstreamPort);
  const target = { ...server, key };
  await load.run(jobFor({ ...one, requests: one.requests * 2 }, target));
  let fromUs = 0;
  const result = await load.run(jobFor({ ...one, requests: one.requests * 2 }, target), () => {
    fromUs = monotonicUs();
  });
  const window = { fromUs, toUs: monotonicUs(), requests: result.requests };
  await server.stop();
  return `${one.title}\n${profileText(readProfiles(home.profileDir ?? "", window))}`;
}

async function profile(): Promise<void> {
  const upstream = await startService("bench/upstream.ts");
  const load = startLoad();
  for (const one of chosenCases()) {
    process.stdout.write(`${await profileCase(load, one, upstream.port)}\n\n`);
  }
}

function print({ outcomes, vitals, books, more, beside }: Findings, machine: string): void {
  const lines = [...caseLines(outcomes, vitals?.disk), ...(vitals ? vitalLines(vitals) : []), ...more];
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ machine, lines, books, outcomes }, null, 2)}\n`);
    return;
  }
  process.stdout.write(
    `${machine}; ${beside === undefined ? "medians over pairs of runs" : "one run of each"}\n\n${tableOf(lines, beside)}\n`,
  );
  if (books.length > 0) process.stdout.write(`\nThe books afterwards:\n${booksText(books)}\n`);
}

async function main(): Promise<void> {
  if (process.platform !== "linux") throw new Error("CPU and memory are read from /proc: this needs Linux");
  if (flags.profile) {
    await profile();
    return;
  }
  const machine = machineText(await othersShare(SETTLE_MS));
  if (flags.case === "translate") print({ ...NO_SERVER, more: await measureTranslation() }, machine);
  else if (flags.case === "rewrite") print({ ...NO_SERVER, more: rewriteLines() }, machine);
  else if (flags.case === "reuse") print({ ...NO_SERVER, more: await reuseLines() }, machine);
  else if (flags.case === "keys")
    print(
      { ...NO_SERVER, more: await keyLines({ isQuick: flags.quick, say }), beside: "the channel" },
      machine,
    );
  else if (flags.case === "postgres")
    print({ ...NO_SERVER, ...(await measurePostgres({ isQuick: flags.quick, say })) }, machine);
  else if (flags.case === "team")
    print({ ...NO_SERVER, ...(await measureTeam({ isQuick: flags.quick, say })) }, machine);
  else if (flags.case === "limits")
    print(
      { ...NO_SERVER, ...(await measureLimits({ isQuick: flags.quick, before: flags.before, say })) },
      machine,
    );
  else print(await (flags.self ? measureFloorTwice() : measureTollgate()), machine);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    say(
      error instanceof Error
        ? `${error.stack ?? error.message}\n${String(error.cause ?? "")}`
        : String(error),
    );
    process.exit(1);
  },
);
