// `--case team`: two hundred members of a team call through one process on PostgreSQL, beside the same members with a wallet each
// (requirements O03): first five hundred calls a second, then as many as go, in turns. The reservation is all that a call waits for that
// differs between the two; its own p99 is printed by the test of the hot wallet in `npm run soak`.
import { systemClock } from "#server/clock.ts";
import { createLedger } from "#server/money/ledger.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { type Db, openStore } from "#server/store/db.ts";
import { startPostgres } from "#test/worlds/postgres-server.ts";
import { seedUser } from "#test/worlds/stores.ts";
import { moveToken, seedMember, seedTeam } from "#test/worlds/teams.ts";
import type { Book } from "./books.ts";
import { median } from "./cases.ts";
import { SETTINGS } from "./postgres.ts";
import { type Load, startLoad, startService } from "./processes.ts";
import type { Line } from "./report.ts";
import { createHome, furnish, furnishToken, startTollgate } from "./tollgate.ts";
import type { Job, JobResult } from "./wire.ts";

const MEMBERS = 200;
const CALLS_PER_SECOND = 500;
const IN_FLIGHT = 64;
/** What a wallet starts with. Unit: quota units. */
const PLENTY = 10n ** 12n;
/** A hot wallet's share of the calls that separate ones take. */
const AT_LEAST = 0.7;
const TIMEOUT_MS = 120_000;

interface Keys {
  readonly hot: string[];
  readonly apart: string[];
}

/** Gives each member a token that the team pays for and one that a team of his own pays for. */
async function seed(databaseUrl: string, port: number): Promise<Keys> {
  const store = await openStore({ dataDir: "", databaseUrl });
  try {
    const ledger = createLedger({ store, clock: systemClock, node: "bench" });
    const keys: Keys = { hot: [], apart: [] };
    const hot = await seedTeam(store.db, ledger, { quota: PLENTY });
    for (let member = 0; member < MEMBERS; member += 1) {
      const userId = await seedUser(store.db);
      const own = await seedTeam(store.db, ledger, { quota: PLENTY });
      keys.hot.push(await tokenOf(store.db, port, userId, hot.walletId));
      keys.apart.push(await tokenOf(store.db, port, userId, own.walletId));
    }
    await ledger.close();
    return keys;
  } finally {
    await store.close();
  }
}

/** A member's token for a wallet. Returns its key. */
async function tokenOf(db: Db, port: number, userId: number, walletId: number): Promise<string> {
  const { id, key } = await furnishToken(port);
  await moveToken(db, id, { wallet_id: walletId, user_id: userId });
  await seedMember(db, userId, walletId);
  return key;
}

interface Turn {
  readonly hot: JobResult;
  readonly apart: JobResult;
}

/** The same load on both, one after the other. */
async function turn(load: Load, port: number, keys: Keys, change: Partial<Job>): Promise<Turn> {
  const job: Job = {
    ...{ port, key: "", isStream: false, connections: MEMBERS, requests: 0, warmup: MEMBERS },
    ...{ events: 0, rampMs: 0, timeoutMs: TIMEOUT_MS, ...change },
  };
  const apart = await load.run({ ...job, keys: keys.apart });
  return { apart, hot: await load.run({ ...job, keys: keys.hot }) };
}

interface Measure {
  readonly case: string;
  readonly measure: string;
  of(result: JobResult): number;
  readonly atLeast?: number;
}

/** Medians over the turns. */
function lineOf({ of, atLeast, ...what }: Measure, turns: readonly Turn[]): Line {
  const compared = median(turns.map(({ hot, apart }) => of(hot) / of(apart)));
  return {
    ...what,
    floor: median(turns.map(({ apart }) => of(apart))),
    tollgate: median(turns.map(({ hot }) => of(hot))),
    ...{ compared, by: "ratio" },
    target: atLeast === undefined ? "" : `≥ ${atLeast} ×`,
    mark: atLeast === undefined ? "" : compared >= atLeast ? "OK" : "MISS",
  };
}

const rateOf = ({ requests, elapsedMs }: JobResult) => (requests * 1_000) / elapsedMs;

/** Throws: Error when an answer was wrong. */
export async function measureTeam({ isQuick, say }: { isQuick: boolean; say(text: string): void }): Promise<{
  readonly more: Line[];
  readonly books: Book[];
  readonly beside: string;
}> {
  const turns = isQuick ? 1 : 5;
  const seconds = isQuick ? 4 : 20;
  const upstream = await startService("bench/upstream.ts");
  const postgres = await startPostgres(SETTINGS);
  try {
    const home = createHome(false);
    const env = { DATABASE_URL: postgres.url };
    say(`PostgreSQL, ${MEMBERS} members …`);
    const first = await startTollgate(home, env);
    await furnish(first.port, upstream.port);
    const keys = await seed(postgres.url, first.port);
    await first.stop();
    const server = await startTollgate(home, env);
    const load = startLoad();
    const paced: Turn[] = [];
    const full: Turn[] = [];
    for (let at = 0; at < turns; at += 1) {
      say(`turn ${at + 1} of ${turns} …`);
      const requests = CALLS_PER_SECOND * seconds;
      paced.push(await turn(load, server.port, keys, { perSecond: CALLS_PER_SECOND, requests }));
      full.push(await turn(load, server.port, keys, { connections: IN_FLIGHT, requests }));
    }
    await server.stop();
    const runs = [...paced, ...full].flatMap(({ hot, apart }) => [hot, apart]);
    const served = runs.reduce((sum, { requests, warmup }) => sum + requests + warmup, 0);
    const atPace = `${CALLS_PER_SECOND} calls/s`;
    const asMany = `as many as go, ${IN_FLIGHT} conn.`;
    const p50 = ({ latency }: JobResult) => latency.p50;
    const p99 = ({ latency }: JobResult) => latency.p99;
    return {
      more: [
        lineOf({ case: atPace, measure: "calls/s", of: rateOf }, paced),
        lineOf({ case: atPace, measure: "p50 ms", of: p50 }, paced),
        lineOf({ case: atPace, measure: "p99 ms", of: p99 }, paced),
        lineOf({ case: asMany, measure: "calls/s", of: rateOf, atLeast: AT_LEAST }, full),
        lineOf({ case: asMany, measure: "p99 ms", of: p99 }, full),
      ],
      books: await readBooks(postgres.url, served),
      beside: "apart",
    };
  } finally {
    await postgres.stop();
  }
}

async function readBooks(databaseUrl: string, served: number): Promise<Book[]> {
  const { db, close } = await openStore({ dataDir: "", databaseUrl });
  try {
    const faults = await checkLedger(db);
    const entries = db.selectFrom("ledger").where("kind", "=", "consume");
    const { count } = await entries
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow();
    return [
      { promise: "the ledger check finds nothing", isTrue: faults.length === 0, detail: `${faults.length}` },
      {
        promise: "one consume entry per request",
        isTrue: Number(count) === served,
        detail: `${count} of ${served}`,
      },
    ];
  } finally {
    await close();
  }
}
