// A real server whose PostgreSQL is restarted, frozen, full or cut off under load: it keeps running, serves again within seconds, and the
// ledger agrees with what clients and the upstream saw (requirements F05, M12).
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createLink, type Link } from "#test/emulators/network-link.ts";
import { channelDraft, expectExactLedger, MASTER_KEY } from "#test/worlds/cluster.ts";
import {
  type Charged,
  createLoadUpstream,
  expectHonest,
  type LoadUpstream,
  startLoad,
} from "#test/worlds/load-generator.ts";
import { type PostgresServer, startPostgres } from "#test/worlds/postgres-server.ts";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

/** How soon after the database is back there is service, and nothing is left open. */
const WITHIN_MS = 5_000;
const CLIENTS = Number(process.env["STORM_CLIENTS"] ?? 24);
/** For longer runs by hand. */
const TIMES = Number(process.env["STORM_TIMES"] ?? 1);
const MAX_CONNECTIONS = 40;

const dir = temporaryDir();
let postgres: PostgresServer;
let link: Link;
let upstream: LoadUpstream;
let server: ServerProcess;
let keys: string[];

beforeAll(async () => {
  upstream = await createLoadUpstream();
  // What was committed must survive the end of the server, as it does with an operator's settings.
  postgres = await startPostgres({ max_connections: String(MAX_CONNECTIONS), synchronous_commit: "on" });
  const url = new URL(postgres.url);
  link = await createLink(url);
  url.port = String(link.port);
  server = await startServer(dir.path, { DATABASE_URL: url.href, MASTER_KEY });
  await manage(server.url, "PUT", "/api/option/", { key: "ModelRatio", value: '{"gpt-4o-mini":1}' });
  await manage(server.url, "PUT", "/api/option/", { key: "CompletionRatio", value: '{"gpt-4o-mini":1}' });
  await manage(server.url, "POST", "/api/channel/", channelDraft(upstream.url));
  keys = [rootKey, ...(await Promise.all([1, 2, 3].map(createPerson))).flat()];
}, 120_000);

afterAll(async () => {
  await server?.kill("SIGKILL");
  link?.close();
  await postgres?.stop();
  upstream?.close();
  dir.remove();
});

/** The keys of a new user: one without a limit of its own, one with. */
async function createPerson(number: number): Promise<string[]> {
  const [username, password] = [`person${number}`, "river-stone-42"];
  await manage(server.url, "POST", "/api/user/", { username, password, display_name: username });
  const users = (await manage(server.url, "GET", `/api/user/search?keyword=${username}`)) as { id: number }[];
  await manage(server.url, "PUT", "/api/user/", { id: users[0]?.id, username, quota: 1e9 });
  const login = await fetch(`${server.url}/api/user/login`, {
    method: "POST",
    body: JSON.stringify({ username, password }),
  });
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  return Promise.all(
    [true, false].map(async (unlimited_quota) => {
      const response = await fetch(`${server.url}/api/token/`, {
        method: "POST",
        headers: { cookie, "content-type": "application/json" },
        body: JSON.stringify({ name: "t", unlimited_quota, remain_quota: 1e8 }),
      });
      return String(((await response.json()) as { data: { key: string } }).data.key);
    }),
  );
}

/** Unit: ms from `sinceMs` until it is so. */
async function until(isDone: () => Promise<boolean>, sinceMs: number): Promise<number> {
  while (!(await isDone())) {
    if (performance.now() - sinceMs > 40_000) throw new Error("it does not end");
    await sleep(50);
  }
  return performance.now() - sinceMs;
}

/** Entries about calls that an earlier test has looked at. */
const known = new Set<string>();

/** What the ledger has about calls that came since the last time. */
async function newEntries(): Promise<Charged[]> {
  const rows = await ask<Charged>("SELECT request_id, amount FROM ledger WHERE kind = 'consume'");
  const fresh = rows.filter(({ request_id }) => !known.has(request_id));
  for (const { request_id } of fresh) known.add(request_id);
  return fresh;
}

/** Causes the fault under load, and checks what became of every call. */
async function expectToBear(name: string, fault: () => Promise<unknown>): Promise<void> {
  const load = startLoad(server.url, keys, CLIENTS);
  await sleep(700);
  await fault();
  const served = await until(async () => (await load.call()).end === "whole", performance.now());
  await sleep(700);
  await load.stop();
  const isClosed = async () => (await ask("SELECT request_id FROM reservations")).length === 0;
  const closed = await until(isClosed, performance.now());
  const ends = (end: string) => load.seen.filter((one) => one.end === end).length;
  process.stdout.write(
    `${name}: ${ends("whole")} whole, ${ends("refused")} refused, ${ends("broken")} broken; ` +
      `served after ${served.toFixed(0)} ms, all closed after ${closed.toFixed(0)} ms\n`,
  );
  expectHonest(load.seen, upstream.sent, await newEntries());
  await expectExactLedger({ url: postgres.url });
  expect(served).toBeLessThan(WITHIN_MS);
  expect(closed).toBeLessThan(WITHIN_MS);
}

async function killBackends(client: pg.Client): Promise<void> {
  await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE 'tollgate%' AND pid <> pg_backend_pid()`);
}

/** The rows of one statement, past the link. */
async function ask<Row extends pg.QueryResultRow>(statement: string): Promise<Row[]> {
  const client = await connected();
  const { rows } = await client.query<Row>(statement);
  await client.end();
  return rows;
}

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

afterEach(() => {
  expect(server.output()).not.toMatch(/unhandled|uncaught|unexpected fault/i);
  expect(() => process.kill(server.pid, 0)).not.toThrow();
});

test("a fast restart", () => expectToBear("fast restart", () => postgres.restart("fast")));

test("an immediate restart", () => expectToBear("immediate restart", () => postgres.restart("immediate")));

test("a stall of five seconds", () =>
  expectToBear("stall", async () => {
    const goOn = await postgres.freeze();
    await sleep(5_000);
    await goOn();
  }));

test("every connection is taken by other clients", () =>
  expectToBear("exhausted", async () => {
    const killer = await connected();
    const taken: pg.Client[] = [];
    const untilMs = performance.now() + 3_000 * TIMES;
    while (performance.now() < untilMs) {
      await killBackends(killer);
      const more = await Promise.allSettled(Array.from({ length: MAX_CONNECTIONS }, connected));
      for (const one of more) if (one.status === "fulfilled") taken.push(one.value);
      await sleep(50);
    }
    await Promise.all([killer, ...taken].map((client) => client.end()));
  }));

test("connections are ended again and again", () =>
  expectToBear("killed", async () => {
    const killer = await connected();
    const untilMs = performance.now() + 4_000 * TIMES;
    while (performance.now() < untilMs) {
      await killBackends(killer);
      await sleep(100);
    }
    await killer.end();
  }));

test("the network is cut", () =>
  expectToBear("cut", async () => {
    link.cut();
    await sleep(2_000 * TIMES);
    link.mend();
  }));

test("the database moves and its old connections fall silent", () =>
  expectToBear("silent", async () => {
    const [now] = await ask<{ now: Date }>("SELECT now()");
    link.silence();
    const silentMs = performance.now();
    // The listener for changes listens anew, and the console, which has other connections, answers.
    const isHeard = async () => {
      const listeners = await ask<{ backend_start: Date }>(
        "SELECT backend_start FROM pg_stat_activity WHERE application_name = 'tollgate coord'",
      );
      return listeners.some(({ backend_start }) => now !== undefined && backend_start > now.now);
    };
    const isShown = () =>
      manage(server.url, "GET", "/api/user/?p=0").then(
        () => true,
        () => false,
      );
    const tookMs = await Promise.all([isHeard, isShown].map((isDone) => until(isDone, silentMs)));
    // An answer may take as long as a statement of the console.
    expect(Math.max(...tookMs)).toBeLessThan(2 * WITHIN_MS);
  }));
