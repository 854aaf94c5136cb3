// `--case postgres`: Tollgate on a PostgreSQL that has just been made and has the settings of a real one, from its first call on; beside it
// SQLite under the same load, two processes, and a lone call. No pairs of runs: a database is new only once.
import { availableParallelism } from "node:os";
import pg from "pg";
import { startPostgres } from "#test/worlds/postgres-server.ts";
import { type Book, checkBooks, checkPostgresBooks } from "./books.ts";
import { median } from "./cases.ts";
import { type Load, startLoad, startService } from "./processes.ts";
import type { Line } from "./report.ts";
import { createHome, furnish, type Home, startTollgate } from "./tollgate.ts";
import type { Job, JobResult } from "./wire.ts";

/** The test server is for throw-away data; here a commit waits for the disk, and statistics come when the server makes them. */
export const SETTINGS = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  autovacuum: "on",
  shared_buffers: "128MB",
  max_wal_size: "1GB",
};
const IN_FLIGHT = 256;
const EVERY_MS = 5_000;
const LONE_CALLS = 500;
const TIMEOUT_MS = 120_000;
/** Two processes, the database, the load and the upstream; with fewer cores they take them from each other. */
const CORES_OF_TWO = 6;

interface Where {
  readonly port: number;
  readonly key: string;
}

interface Findings {
  readonly more: Line[];
  readonly books: Book[];
  readonly beside: string;
}

interface Bench {
  readonly load: Load;
  readonly upstreamPort: number;
  readonly databaseUrl: string;
  /** Of all servers on that database: its master key is in there. */
  readonly home: Home;
  readonly forMs: number;
}

function jobFor({ port, key }: Where, change: Partial<Job>): Job {
  return {
    port,
    key,
    isStream: false,
    connections: IN_FLIGHT,
    requests: Number.MAX_SAFE_INTEGER,
    warmup: 0,
    events: 0,
    rampMs: 0,
    timeoutMs: TIMEOUT_MS,
    ...change,
  };
}

function rateOf({ requests, elapsedMs }: JobResult): number {
  return (requests * 1000) / elapsedMs;
}

/** Calls a second in each whole interval of a job. */
function ratesOf({ endsMs }: JobResult, forMs: number): number[] {
  const counts: number[] = Array.from({ length: Math.floor(forMs / EVERY_MS) }, () => 0);
  for (const end of endsMs) {
    const at = Math.floor(end / EVERY_MS);
    if (at < counts.length) counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count) => (count * 1000) / EVERY_MS);
}

/** What a transaction of five statements takes that waits for each of its answers. Unit: ms; median. */
async function measureTransaction(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("CREATE TABLE bench_rows (id int PRIMARY KEY, value int NOT NULL)");
    await client.query("INSERT INTO bench_rows SELECT id, 0 FROM generate_series(1, 1000) AS id");
    const times: number[] = [];
    for (let round = 0; round < LONE_CALLS; round += 1) {
      const start = performance.now();
      await client.query("BEGIN");
      for (const id of [1, 2, 3]) {
        await client.query({
          name: "add",
          text: "UPDATE bench_rows SET value = value + 1 WHERE id = $1",
          values: [id],
        });
      }
      const insert = "INSERT INTO bench_rows VALUES ($1, 0)";
      await client.query({ name: "insert", text: insert, values: [10_000 + round] });
      const read = "SELECT value FROM bench_rows WHERE id = $1";
      await client.query({ name: "read", text: read, values: [1] });
      await client.query("COMMIT");
      times.push(performance.now() - start);
    }
    return median(times);
  } finally {
    await client.end();
  }
}

/** The load in one process on SQLite, to hold PostgreSQL against. */
async function loadSqlite({ load, upstreamPort, forMs }: Bench): Promise<{ rate: number; books: Book[] }> {
  const home = createHome(false);
  const server = await startTollgate(home);
  const key = await furnish(server.port, upstreamPort);
  const result = await load.run(jobFor({ port: server.port, key }, { forMs }));
  await server.stop();
  return { rate: rateOf(result), books: await checkBooks(home.dataDir, result.requests) };
}

interface OnPostgres {
  readonly result: JobResult;
  readonly lone: JobResult;
  readonly key: string;
  readonly served: number;
}

/** The load in one process on the new database, and then lone calls. */
async function loadOne({ load, upstreamPort, databaseUrl, home, forMs }: Bench): Promise<OnPostgres> {
  const server = await startTollgate(home, { DATABASE_URL: databaseUrl });
  const key = await furnish(server.port, upstreamPort);
  const where = { port: server.port, key };
  const result = await load.run(jobFor(where, { forMs }));
  const lone = await load.run(jobFor(where, { connections: 1, requests: LONE_CALLS }));
  await server.stop();
  return { result, lone, key, served: result.requests + lone.requests };
}

/** The load on two processes that share the database. */
async function loadTwo({ load, databaseUrl, home, forMs }: Bench, key: string): Promise<JobResult> {
  const server = await startTollgate(home, { DATABASE_URL: databaseUrl, WORKERS: "2" });
  const result = await load.run(jobFor({ port: server.port, key }, { forMs }));
  await server.stop();
  return result;
}

interface Compared {
  readonly measure: string;
  readonly beside: number;
  readonly value: number;
  readonly atLeast?: number;
  /** The target is printed and not judged. */
  readonly isOpen?: boolean;
}

function lineOf({ measure, beside, value, atLeast, isOpen = false }: Compared): Line {
  const compared = value / beside;
  const mark = atLeast === undefined || isOpen ? "" : compared >= atLeast ? "OK" : "MISS";
  const target = atLeast === undefined ? "" : `≥ ${atLeast} ×`;
  return {
    case: "JSON chat, PostgreSQL",
    measure,
    floor: beside,
    tollgate: value,
    compared,
    by: "ratio",
    target,
    mark,
  };
}

/** Throws: Error when an answer was wrong. */
export async function measurePostgres(flags: {
  isQuick: boolean;
  say(text: string): void;
}): Promise<Findings> {
  const { isQuick, say } = flags;
  const forMs = (isQuick ? 3 : 6) * EVERY_MS;
  const upstream = await startService("bench/upstream.ts");
  const postgres = await startPostgres(SETTINGS);
  try {
    const bench: Bench = {
      load: startLoad(),
      upstreamPort: upstream.port,
      databaseUrl: postgres.url,
      home: createHome(false),
      forMs,
    };
    say(`PostgreSQL, a new database, ${IN_FLIGHT} in flight …`);
    const one = await loadOne(bench);
    const rates = ratesOf(one.result, forMs);
    const best = Math.max(...rates);
    const transactionMs = await measureTransaction(postgres.url);
    say("two processes …");
    const two = await loadTwo(bench, one.key);
    say("SQLite …");
    const sqlite = await loadSqlite(bench);
    const books = await checkPostgresBooks(postgres.url, one.served + two.requests);
    const isCrowded = availableParallelism() < CORES_OF_TWO;
    return {
      more: [
        ...rates.map((value, at) => {
          const [from, to] = [at, at + 1].map((turn) => (turn * EVERY_MS) / 1000);
          return lineOf({
            measure: `calls/s, ${from} to ${to} s, beside the best`,
            beside: best,
            value,
            atLeast: 0.8,
          });
        }),
        lineOf({
          measure: "calls/s beside SQLite",
          beside: sqlite.rate,
          value: rateOf(one.result),
          atLeast: 0.5,
        }),
        lineOf({
          measure: "calls/s of two processes beside one",
          beside: rateOf(one.result),
          value: rateOf(two),
          atLeast: 1.6,
          isOpen: isCrowded,
        }),
        lineOf({
          measure: "lone call p50 ms beside a transaction of five statements",
          beside: transactionMs,
          value: one.lone.latency.p50,
        }),
      ],
      books: [...books, ...sqlite.books.map((book) => ({ ...book, promise: `SQLite: ${book.promise}` }))],
      beside: "beside",
    };
  } finally {
    await postgres.stop();
  }
}
