// `--case keys`: the page of a channel with ten thousand keys, as administrators open it, on both databases. Every key was used in each hour of a
// week; a tenth of them is disabled, for twenty reasons. Beside it stands the channel alone.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { startPostgres } from "#test/worlds/postgres-server.ts";
import { manage } from "#test/worlds/process.ts";
import { keyChoiceLines } from "./key-choice.ts";
import { keyMemoryLines } from "./key-memory.ts";
import type { Line } from "./report.ts";
import { createHome, type Home, startTollgate } from "./tollgate.ts";

const KEYS = 10_000;
const HOURS = 168;
const CALLS = 200;
const QUICK_CALLS = 50;
/** Requirements C24. */
const TARGET_MS = 50;

const AGED = [
  "UPDATE channel_keys SET name = 'account ' || id WHERE id % 2 = 0",
  "UPDATE channel_keys SET balance = (id * 7919) % 1000, balance_updated_time = 1 WHERE id % 20 > 0",
  "UPDATE channel_keys SET status = 3, status_time = 1, status_reason = 'no credit ' || (id % 200) / 10 WHERE id % 10 = 0",
  `WITH RECURSIVE hours(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM hours WHERE n < ${HOURS})
  INSERT INTO log_sums (dimension, key, hour, quota, prompt_tokens, completion_tokens, requests)
  SELECT 'key', cast(id AS text), 1800000000 + n * 3600, 1000, 100, 100, 10 FROM channel_keys, hours`,
];

/** Rows of a page are twenty unless the administrator wants more. */
const PAGES: Readonly<Record<string, (turn: number) => string>> = {
  "page p95 ms": (turn) => `p=${(turn * 37) % 500}&size=20`,
  "hundred rows p95 ms": (turn) => `p=${(turn * 37) % 100}&size=100`,
  "disabled p95 ms": (turn) => `p=${turn % 50}&size=20&status=3`,
  "sorted by balance p95 ms": (turn) => `p=${turn % 100}&size=20&order=balance&desc=true`,
  "search p95 ms": (turn) => `p=0&size=20&keyword=account ${2 * turn + 2}`,
};

type Run = (sql: string) => Promise<unknown>;

async function withDatabase(home: Home, databaseUrl: string | undefined, act: (run: Run) => Promise<void>) {
  if (databaseUrl === undefined) {
    const db = new DatabaseSync(join(home.dataDir, "tollgate.db"));
    await act(async (sql) => db.exec(sql));
    db.close();
    return;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await act((sql) => client.query(sql));
  await client.query("ANALYZE");
  await client.end();
}

async function measureOn(name: string, databaseUrl: string | undefined, calls: number): Promise<Line[]> {
  const home = createHome(false);
  const env: Record<string, string> = databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl };
  const first = await startTollgate(home, env);
  const url = `http://127.0.0.1:${first.port}`;
  const channel = { type: 1, name: "bench", key: "sk-bench-0", base_url: "http://127.0.0.1:1", models: "m" };
  await manage(url, "POST", "/api/channel/", { ...channel, group: "default" });
  const text = Array.from({ length: KEYS - 1 }, (_, at) => `sk-bench-${at + 1}`).join("\n");
  await manage(url, "POST", "/api/channel/1/keys", { text });
  await first.stop();
  await withDatabase(home, databaseUrl, async (run) => {
    for (const sql of AGED) await run(sql);
  });
  const server = await startTollgate(home, env);
  const address = `http://127.0.0.1:${server.port}`;
  const floor = await p95Of(calls, () => manage(address, "GET", "/api/channel/1"));
  const lines: Line[] = [];
  for (const [measure, queryOf] of Object.entries(PAGES)) {
    const p95 = await p95Of(calls, async (turn) => {
      const rows = await manage(address, "GET", `/api/channel/1/keys?${encodeURI(queryOf(turn))}`);
      if (!Array.isArray(rows) || rows.length === 0) throw new Error("a page without rows");
    });
    lines.push(lineOf(name, measure, { floor, p95 }));
  }
  await server.stop();
  return lines;
}

/** What nineteen of twenty calls stay below, one after the other. Unit: ms. */
async function p95Of(calls: number, act: (turn: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < calls; turn += 1) {
    const start = performance.now();
    await act(turn);
    times.push(performance.now() - start);
  }
  return times.toSorted((one, other) => one - other)[Math.floor(calls * 0.95)] ?? 0;
}

function lineOf(name: string, measure: string, { floor, p95 }: { floor: number; p95: number }): Line {
  return {
    case: `a channel of ${KEYS} keys, ${name}`,
    measure,
    floor,
    tollgate: p95,
    compared: p95 - floor,
    by: "added",
    target: `≤ ${TARGET_MS} ms`,
    mark: p95 <= TARGET_MS ? "OK" : "MISS",
  };
}

/** Throws: Error when a page was refused. */
export async function keyLines(flags: { isQuick: boolean; say(text: string): void }): Promise<Line[]> {
  const calls = flags.isQuick ? QUICK_CALLS : CALLS;
  const memory = [...keyMemoryLines(KEYS), ...keyChoiceLines(KEYS)];
  flags.say(`${KEYS} keys, SQLite …`);
  const sqlite = await measureOn("SQLite", undefined, calls);
  flags.say(`${KEYS} keys, PostgreSQL …`);
  const postgres = await startPostgres({ autovacuum: "on" });
  try {
    return [...memory, ...sqlite, ...(await measureOn("PostgreSQL", postgres.url, calls))];
  } finally {
    await postgres.stop();
  }
}
