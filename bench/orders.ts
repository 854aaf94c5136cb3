// `node bench/orders.ts [--rows 1000000] [--postgres]`: the lists of orders among a million of them, through the functions the server uses,
// against the budget of a page: ≤ 50 ms p95. A page is what the list call costs the database: its rows and its total.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { type Db, openStore, type Store } from "#server/store/db.ts";
import { countOrders, findOrder, listOrders, type OrderFilter } from "#server/store/orders.ts";
import type { SortedPage } from "#server/store/page.ts";
import { startPostgres } from "#test/worlds/postgres-server.ts";
import { AS_INSTALLED, type Case, measureAll, pick, say } from "./measure.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, postgres: { type: "boolean", default: false } },
});
const rows = Number(values.rows);
const PAGE_MS = 50;
const users = 2_000;
const accounts = 5;
const startSec = 1_760_000_000;
/** Ninety days. */
const spanSec = 90 * 86_400;
const SLICE = 100_000;

/** Evenly spread numbers from the row number `i` and a salt. */
const mix = (salt: number) => `((((i + ${salt}) * 2654435761) % 4294967296) * 1103515245 % 4294967296 / 64)`;

/** Skewed as real orders are: five users make half of them, most are credited, one in five hundred waits for a person. */
const ordersOf = (from: number, to: number) => `
  WITH RECURSIVE numbers(i) AS (SELECT cast(${from} AS bigint) UNION ALL SELECT i + 1 FROM numbers WHERE i < ${to}),
  dice AS (SELECT i, ${mix(1)} AS a, ${mix(7)} AS b, ${mix(13)} AS c FROM numbers),
  made AS (
    SELECT i, a, b, c, ${startSec} + i * ${spanSec} / ${rows} AS at,
      CASE WHEN a % 2 = 0 THEN 1 + b % 5 ELSE 1 + b % ${users} END AS person,
      CASE WHEN c % 100 < 85 THEN 'credited' WHEN c % 100 < 97 THEN 'closed' WHEN c % 100 < 98 THEN 'paid'
        WHEN c % 100 < 99 THEN 'created' ELSE 'pending' END AS state
    FROM dice
  )
  INSERT INTO orders (order_no, user_id, instance_id, method, product, quota, currency, amount_minor, fee_minor, giver_id, inviter_id,
    gift_quota, commission_micro, status, review, trade_no, provider_ref, paid_minor, created_at, expires_at, paid_at, credited_at,
    next_check)
  SELECT 'TG' || (100000000000 + i), person, 1 + c / 128 % ${accounts}, 'alipay',
    '{"dollars":50,"yuan":"30.00","quotaPerUnit":500000,"feeBp":0,"costBp":60,"rate":"1"}', 500000 * (1 + a % 90), 'CNY',
    60 * (1 + a % 90), 0, 0, 0, 0, 0, state, CASE WHEN i % 500 = 0 THEN 'amount' ELSE '' END,
    CASE WHEN state IN ('credited', 'paid') THEN '4200' || i ELSE '' END, '{"qr":"weixin://wxpay/1","url":"","session":""}',
    CASE WHEN state IN ('credited', 'paid') THEN 60 * (1 + a % 90) ELSE 0 END, at, at + 1800,
    CASE WHEN state IN ('credited', 'paid') THEN at + 20 ELSE 0 END, CASE state WHEN 'credited' THEN at + 21 ELSE 0 END, 0
  FROM made`;

const ACCOUNTS = `
  WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${accounts})
  INSERT INTO payment_instances (slug, provider, name, merchant_id, currency, settings, secrets_sealed, enabled, created_at, updated_at)
  SELECT 'slug' || i, 'epay-v1', 'account' || i, '1001', 'CNY', '{}', '', 1, ${startSec}, ${startSec} FROM numbers`;

const orderNo = (turn: number) => `TG${100_000_000_000 + 1 + pick(turn, rows)}`;
const busyUser = (turn: number) => 1 + (turn % 5);
const quietUser = (turn: number) => 6 + pick(turn, users - 6);
const account = (turn: number) => 1 + (turn % accounts);
const STATES = ["credited", "closed", "paid", "created", "pending"];

/** So many days, others each time. */
function span(turn: number, days: number): Pick<OrderFilter, "start" | "end"> {
  const start = startSec + pick(turn, spanSec - days * 86_400);
  return { start, end: start + days * 86_400 };
}

const filters: Readonly<Record<string, (turn: number) => OrderFilter>> = {
  all: () => ({}),
  "all the time, an end that no order is behind": (turn) => ({ start: 1, end: startSec + spanSec + turn }),
  ...Object.fromEntries(STATES.map((status) => [`state ${status}`, () => ({ status })])),
  account: (turn) => ({ instanceId: account(turn) }),
  "account + state credited": (turn) => ({ instanceId: account(turn), status: "credited" }),
  "account + state pending": (turn) => ({ instanceId: account(turn), status: "pending" }),
  review: () => ({ isInReview: true }),
  "review + account": (turn) => ({ isInReview: true, instanceId: account(turn) }),
  "busy user": (turn) => ({ userId: busyUser(turn) }),
  "quiet user": (turn) => ({ userId: quietUser(turn) }),
  "unknown user": () => ({ userId: users + 7 }),
  "busy user + state pending": (turn) => ({ userId: busyUser(turn), status: "pending" }),
  "order number": (turn) => ({ keyword: orderNo(turn) }),
  "provider's number": (turn) => ({ keyword: `4200${1 + pick(turn, rows)}` }),
  "a number of no order": () => ({ keyword: "TG0" }),
  "state credited + all the time": (turn) => ({
    status: "credited",
    start: 1,
    end: startSec + spanSec + turn,
  }),
  "one day": (turn) => span(turn, 1),
  "thirty days": (turn) => span(turn, 30),
  "state credited + thirty days": (turn) => ({ status: "credited", ...span(turn, 30) }),
  "account + thirty days": (turn) => ({ instanceId: account(turn), ...span(turn, 30) }),
};

async function page(db: Db, filter: OrderFilter, place: Partial<SortedPage> = {}): Promise<void> {
  await Promise.all([listOrders(db, filter, { page: 0, size: 10, ...place }), countOrders(db, filter)]);
}

const deep = (turn: number) => 1_000 + pick(turn, 4_000);
const SORTS = ["user_id", "amount_minor", "quota", "created_at"];

const cases: readonly Case[] = [
  ...Object.entries(filters).map(([name, filter]) => ({
    name: `page: ${name}`,
    targetMs: PAGE_MS,
    run: (db: Db, turn: number) => page(db, filter(turn)),
  })),
  ...["all", "state credited", "account", "busy user"].map((name) => ({
    name: `page 1000 to 4999: ${name}`,
    targetMs: PAGE_MS,
    run: (db: Db, turn: number) => page(db, filters[name]?.(turn) ?? {}, { page: deep(turn) }),
  })),
  ...SORTS.flatMap((order) =>
    ["all", "state credited", "account", "review", "busy user"].map((name) => ({
      name: `by ${order}: ${name}`,
      targetMs: PAGE_MS,
      run: (db: Db, turn: number) => page(db, filters[name]?.(turn) ?? {}, { order, desc: turn % 2 === 0 }),
    })),
  ),
  ...SORTS.map((order) => ({
    name: `by ${order}, page 1000 to 4999: all`,
    targetMs: PAGE_MS,
    run: (db: Db, turn: number) => page(db, {}, { order, desc: turn % 2 === 0, page: deep(turn) }),
  })),
  { name: "one order", targetMs: PAGE_MS, run: (db, turn) => findOrder(db, orderNo(turn)) },
];

async function fill({ patient: db }: Store): Promise<void> {
  const started = performance.now();
  await sql.raw(ACCOUNTS).execute(db);
  for (let done = 0; done < rows; done += SLICE)
    await sql.raw(ordersOf(done + 1, Math.min(done + SLICE, rows))).execute(db);
  // Rows whose commit is not on the disk yet are not marked as visible to all, as rows of days ago are.
  if (values.postgres) await sql.raw("CHECKPOINT").execute(db);
  await sql.raw(values.postgres ? "VACUUM ANALYZE orders" : "ANALYZE").execute(db);
  say(`${rows} orders: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** A file in a folder of this run, or a PostgreSQL server of it. */
async function openDatabase(): Promise<{ readonly store: Store; end(): Promise<void> }> {
  if (values.postgres) {
    const server = await startPostgres(AS_INSTALLED);
    return { store: await openStore({ dataDir: "", databaseUrl: server.url }), end: () => server.stop() };
  }
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-orders-"));
  const end = async () => rmSync(dataDir, { recursive: true, force: true });
  return { store: await openStore({ dataDir }), end };
}

const { store, end } = await openDatabase();
try {
  await fill(store);
  process.exitCode = (await measureAll(store.db, cases)) === 0 ? 0 : 1;
} finally {
  await store.close();
  await end();
}
