// `node bench/logs.ts [--rows 10000000] [--data <folder> | --postgres | --database <url>]`: the usage log at ten million rows, through the functions the
// server uses, against the budget of requirements N1: page and filter ≤ 50 ms p95, statistics ≤ 100 ms p95. A page is what the list
// call costs the database: its rows and its total. A folder or database that is named is kept and used again.
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Db, openStore, type Store } from "#server/store/db.ts";
import type { LogFilter } from "#server/store/log-filter.ts";
import { logHistory, statLogs } from "#server/store/log-stats.ts";
import { clearLogs, countLogs, listLogs, searchLogs } from "#server/store/logs.ts";
import { startPostgres } from "#test/worlds/postgres-server.ts";
import {
  buildLogs,
  buildPostgresLogs,
  channels,
  members,
  modelName,
  models,
  projects,
  spanSec,
  startSec,
  tokenName,
  userName,
  users,
  wallets,
} from "./log-rows.ts";
import { AS_INSTALLED, type Case, measureAll, pick, say } from "./measure.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    data: { type: "string" },
    postgres: { type: "boolean", default: false },
    database: { type: "string" },
  },
});
const rows = Number(values.rows);
const PAGE_MS = 50;
const STAT_MS = 100;

const busyUser = (turn: number) => 1 + (turn % 5);
const quietUser = (turn: number) => 6 + pick(turn, users - 6);
const wallet = (turn: number) => 1 + (turn % wallets);
const endSec = startSec + spanSec;
/** A window of this length somewhere in the ninety days, on no full hour. */
function window(turn: number, seconds: number): LogFilter {
  const start = startSec + pick(turn, spanSec - seconds) + 17;
  return { start, end: start + seconds };
}

async function page(db: Db, filter: LogFilter, number = 0): Promise<void> {
  await Promise.all([listLogs(db, filter, { page: number, size: 10 }), countLogs(db, filter)]);
}

const filters: Readonly<Record<string, (turn: number) => LogFilter>> = {
  "no filter": () => ({}),
  "console default window": () => ({ start: 0, end: endSec + 3600 }),
  "busy user": (turn) => ({ username: userName(busyUser(turn)) }),
  "quiet user": (turn) => ({ username: userName(quietUser(turn)) }),
  "unknown user": () => ({ username: "nobody" }),
  "common model": (turn) => ({ modelName: modelName(turn % 3) }),
  "rare model": (turn) => ({ modelName: modelName(3 + pick(turn, models - 3)) }),
  "unused model": () => ({ modelName: "model-none" }),
  token: (turn) => ({ tokenName: tokenName(quietUser(turn), 1 + (turn % 2)) }),
  "token name of many": () => ({ tokenName: tokenName(1, 0) }),
  "busy channel": (turn) => ({ channelId: 1 + (turn % 2) }),
  "quiet channel": (turn) => ({ channelId: 3 + pick(turn, channels - 3) }),
  "type consume": () => ({ type: 2 }),
  "type top-up": () => ({ type: 1 }),
  "type test": () => ({ type: 5 }),
  "one hour": (turn) => window(turn, 3_600),
  "one day": (turn) => window(turn, 86_400),
  "thirty days": (turn) => window(turn, 30 * 86_400),
  "busy user + common model": (turn) => ({ userId: busyUser(turn), modelName: modelName(turn % 3) }),
  "busy user + rare model": (turn) => ({
    userId: busyUser(turn),
    modelName: modelName(3 + pick(turn, models - 3)),
  }),
  "busy user + unused model": (turn) => ({ userId: busyUser(turn), modelName: "model-none" }),
  "busy user + channel": (turn) => ({ userId: busyUser(turn), channelId: 3 + pick(turn, channels - 3) }),
  "busy user + type top-up": (turn) => ({ userId: busyUser(turn), type: 1 }),
  "busy user + type consume": (turn) => ({ userId: busyUser(turn), type: 2 }),
  "busy user + one day": (turn) => ({ userId: busyUser(turn), ...window(turn, 86_400) }),
  "quiet user + thirty days": (turn) => ({ userId: quietUser(turn), ...window(turn, 30 * 86_400) }),
  "common model + busy channel": (turn) => ({ modelName: modelName(turn % 3), channelId: 1 + (turn % 2) }),
  "rare model + quiet channel": (turn) => ({
    modelName: modelName(3 + pick(turn, models - 3)),
    channelId: 3 + pick(turn, channels - 3),
  }),
  "busy user + token name of many": (turn) => ({ userId: busyUser(turn), tokenName: tokenName(1, 0) }),
  "quiet user + token name of many": (turn) => ({ userId: quietUser(turn), tokenName: tokenName(1, 0) }),
  "quiet token + common model": (turn) => ({
    tokenName: tokenName(quietUser(turn), 1 + (turn % 2)),
    modelName: modelName(turn % 3),
  }),
  "common model + one day": (turn) => ({ modelName: modelName(turn % 3), ...window(turn, 86_400) }),
  "member with many calls": (turn) => ({ userId: wallet(turn), memberId: 100_000 + (turn % 3) }),
  "member with few calls": (turn) => ({ userId: wallet(turn), memberId: 100_003 + pick(turn, members - 3) }),
  "member + rare model": (turn) => ({
    userId: wallet(turn),
    memberId: 100_000 + (turn % 3),
    modelName: modelName(3 + pick(turn, models - 3)),
  }),
  project: (turn) => ({ projectId: 1_000 * wallet(turn) + pick(turn, projects) }),
  "project + rare model": (turn) => ({
    projectId: 1_000 * wallet(turn) + pick(turn, projects),
    modelName: modelName(3 + pick(turn, models - 3)),
  }),
  "tag of two tokens of a busy user": (turn) => ({ userId: busyUser(turn), tag: "own" }),
  "tag of two tokens of a quiet user": (turn) => ({ userId: quietUser(turn), tag: "own" }),
  "tag of fifty users' tokens": (turn) => ({ tag: `tag${turn % 40}` }),
  "tag of forty tokens with one name": (turn) => ({ tag: `same${turn % 50}` }),
  "tag of fifty users' tokens + common model": (turn) => ({
    tag: `tag${turn % 40}`,
    modelName: modelName(turn % 3),
  }),
  "user + model + channel + type + week": (turn) => ({
    userId: busyUser(turn),
    modelName: modelName(3 + pick(turn, models - 3)),
    channelId: 3 + pick(turn, channels - 3),
    type: 2,
    ...window(turn, 7 * 86_400),
  }),
};

const cases: readonly Case[] = [
  ...Object.entries(filters).map(([name, filter]) => ({
    name: `page: ${name}`,
    targetMs: PAGE_MS,
    run: (db: Db, turn: number) => page(db, filter(turn)),
  })),
  ...[
    "no filter",
    "busy user",
    "common model",
    "busy channel",
    "thirty days",
    "busy user + common model",
    "tag of two tokens of a busy user",
  ].map((name) => ({
    name: `page 1000 to 4999: ${name}`,
    targetMs: PAGE_MS,
    run: (db: Db, turn: number) => page(db, filters[name]?.(turn) ?? {}, 1_000 + pick(turn, 4_000)),
  })),
  ...Object.entries(filters)
    .filter(([name]) => !name.startsWith("type"))
    .map(([name, filter]) => ({
      name: `stat: ${name}`,
      targetMs: STAT_MS,
      run: (db: Db, turn: number) => statLogs(db, filter(turn)),
    })),
  { name: "history by day: no filter", targetMs: STAT_MS, run: (db) => logHistory(db, {}, 86_400) },
  {
    name: "history by day: busy user",
    targetMs: STAT_MS,
    run: (db, turn) => logHistory(db, { userId: busyUser(turn) }, 86_400),
  },
  { name: "search: found", targetMs: STAT_MS, run: (db) => searchLogs(db, { keyword: "模型倍率" }) },
  {
    name: "search: found nowhere",
    targetMs: STAT_MS,
    run: (db) => searchLogs(db, { keyword: "%_%_%nothing" }),
  },
  { name: "search: type", targetMs: STAT_MS, run: (db) => searchLogs(db, { keyword: "4" }) },
  {
    name: "search: own, found nowhere",
    targetMs: STAT_MS,
    run: (db, turn) => searchLogs(db, { keyword: "nothing", userId: busyUser(turn) }),
  },
];

/** Clears the oldest week as the console's button does, and tells how long other statements waited meanwhile. */
async function measureClearing(db: Db): Promise<void> {
  let longestMs = 0;
  let isDone = false;
  const meanwhile = (async () => {
    while (!isDone) {
      const started = performance.now();
      await db.updateTable("options").set({ value: "" }).where("key", "=", "").execute();
      longestMs = Math.max(longestMs, performance.now() - started);
    }
  })();
  const started = performance.now();
  const cleared = await clearLogs(db, startSec + spanSec / 200, [2, 5]);
  isDone = true;
  await meanwhile;
  const seconds = (performance.now() - started) / 1000;
  say(
    `clearing: ${cleared} rows in ${seconds.toFixed(1)} s (${Math.round(cleared / seconds)}/s), another writer waited ${longestMs.toFixed(0)} ms at most`,
  );
}

async function openPostgres(databaseUrl: string): Promise<Store> {
  const store = await openStore({ dataDir: "", databaseUrl });
  if ((await countLogs(store.db, {})) > 0) return store;
  await store.close();
  await buildPostgresLogs(databaseUrl, rows, say);
  return openStore({ dataDir: "", databaseUrl });
}

/** A file, in a folder that is kept when it is named, or a PostgreSQL server of this run. */
async function openDatabase(): Promise<{ readonly store: Store; end(): Promise<void> }> {
  if (values.database !== undefined)
    return { store: await openPostgres(values.database), end: async () => undefined };
  if (values.postgres) {
    const server = await startPostgres(AS_INSTALLED);
    const end = () => server.stop();
    try {
      return { store: await openPostgres(server.url), end };
    } catch (error) {
      await end();
      throw error;
    }
  }
  const dataDir = values.data ?? mkdtempSync(join(tmpdir(), "tollgate-logs-"));
  if (!existsSync(join(dataDir, "tollgate.db"))) await buildLogs(dataDir, rows, say);
  say(`file: ${(statSync(join(dataDir, "tollgate.db")).size / 1e9).toFixed(2)} GB`);
  const end = async () => {
    if (values.data === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  return { store: await openStore({ dataDir }), end };
}

const { store, end } = await openDatabase();
try {
  const missed = await measureAll(store.db, cases);
  if (values.data === undefined && values.database === undefined) await measureClearing(store.db);
  process.exitCode = missed === 0 ? 0 : 1;
} finally {
  await store.close();
  await end();
}
