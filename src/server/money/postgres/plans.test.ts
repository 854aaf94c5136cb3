// How PostgreSQL runs the ledger's statements, asked in the ledger backend's own session: a plan is kept for as long as the connection is
// open, so one that was made for an empty table must be right for a full one. And how often a call waits for an answer.
import { sql } from "kysely";
import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import { openStore, type PostgresStore } from "#server/store/db.ts";
import { bill, codeTerms, order, type Parties } from "#test/worlds/ledger-world.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { seedAccount, seedChannel, seedRedemption, seedUser } from "#test/worlds/stores.ts";

/** PostgreSQL compares plans five times before it keeps a general one, unless it is told. */
const ROUNDS = 7;
/** Operations of a group under load. For so many at once a scan of a small table looks cheap. */
const TOGETHER = 64;

let database: PostgresDatabase;
let store: PostgresStore;
let ledger: Ledger;
let session: Client;
let account: Parties;
let channelId: number;
/** How often a caller waited for the session: it was asked while nothing else was under way. */
let trips = 0;

/** Counts the round trips between the session and the database: what is sent at once is one. */
function countTrips(client: Client): Client {
  const ask = client.query.bind(client);
  let open = 0;
  const counted = (...asked: Parameters<typeof ask>) => {
    // `pg` gives a promise where no callback is given, and this test gives none.
    const answer = ask(...asked) as unknown as Promise<unknown>;
    const [statement] = asked as readonly unknown[];
    // Whether a caller waits.
    if (statement === "SELECT 1") return answer;
    if (open === 0) trips += 1;
    open += 1;
    const done = () => {
      open -= 1;
    };
    answer.then(done, done);
    return answer;
  };
  return Object.assign(client, { query: counted });
}

beforeAll(async () => {
  database = await createPostgresDatabase();
  const opened = await openStore({ dataDir: "unused", databaseUrl: database.url });
  if (opened.dialect !== "postgres") throw new Error("not PostgreSQL");
  store = opened;
  const watched: PostgresStore = {
    ...store,
    createClient(name) {
      session = countTrips(store.createClient(name));
      return session;
    },
  };
  ledger = createLedger({ store: watched, clock: systemClock, node: "plans" });
  // The first calls: every statement meets tables without a row, and without statistics.
  const parties = { userId: 1, tokenId: 1 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const calls = Array.from({ length: TOGETHER }, () => ledger.reserve(order(parties, 1n)));
    expect(await Promise.all(calls)).not.toContain("reserved");
  }
  account = await seedAccount(store.db, ledger, { quota: 1_000_000n, remain: 1_000_000n });
  channelId = await seedChannel(store.db);
});

afterAll(async () => {
  await ledger.close();
  await store.close();
  await database.drop();
});

beforeEach(() => {
  trips = 0;
});

const display = { quotaPerUnit: 500_000, inCurrency: true };

/** Everything that the ledger does, so that every statement of it is prepared. */
async function doEverything(round: number): Promise<void> {
  const { userId } = account;
  const held = order(account, 100n);
  await ledger.reserve(held);
  await ledger.extend(held.requestId, 10n);
  await ledger.settle({ ...bill(held, 30n), channelId });
  const given = order(account, 100n);
  await ledger.reserve(given);
  await ledger.release(given.requestId);
  const inviterId = await seedUser(store.db);
  const redemptionId = await seedRedemption(store.db, { quota: 1_000_000 });
  const code = { userId, redemptionId, giverId: null, inviterId, terms: codeTerms, display };
  await ledger.redeem({ operationId: `plans-${round}`, ...code });
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The nodes of a plan that read more of a table than the rows that were asked for. */
function readsTooMuch(node: PlanNode): string[] {
  const type = node["Node Type"];
  const isScan = type.endsWith("Scan") && (node["Relation Name"] ?? node["Index Name"]) !== undefined;
  const byIndex = node["Index Cond"] !== undefined || type === "Bitmap Heap Scan";
  const own = isScan && !byIndex ? [`${type} of ${node["Relation Name"] ?? node["Index Name"]}`] : [];
  return [...own, ...(node.Plans ?? []).flatMap(readsTooMuch)];
}

const MANY = `'{${Array.from({ length: TOGETHER }, (_, index) => index).join()}}'`;

/** Each prepared statement of the session → what its plan reads too much. */
async function preparedPlans(): Promise<Map<string, string[]>> {
  const { rows } = await session.query<{ name: string; types: string[] }>(
    "SELECT name, parameter_types::text[] AS types FROM pg_prepared_statements WHERE name LIKE 'ledger%' ORDER BY name",
  );
  const plans = new Map<string, string[]>();
  for (const { name, types } of rows) {
    const values = types.map((type) => (type.endsWith("[]") ? MANY : "'1'")).join(", ");
    const { rows: found } = await session.query(`EXPLAIN (FORMAT JSON) EXECUTE "${name}" (${values})`);
    // The form of PostgreSQL's own answer.
    const [{ Plan }] = found[0]["QUERY PLAN"] as [{ Plan: PlanNode }];
    plans.set(name.replace("ledger_", ""), readsTooMuch(Plan));
  }
  return plans;
}

const NAMES = [
  ...["users", "tokens", "channels", "codes", "commissions", "reservations", "booked"],
  ...["updateUsers", "updateTokens", "updateChannels", "updateCommissions", "updateCodes"],
  ...[
    "insertReservations",
    "updateReservations",
    "deleteReservations",
    "insertLedger",
    "insertPartnerLedger",
  ],
  ...["upsertSums", "upsertRollups", "insertLogs"],
];

const RIGHT = NAMES.sort().map((name) => [name, []]);

test("on a new database every statement of the ledger finds its rows by index", async () => {
  for (let round = 0; round < ROUNDS; round += 1) await doEverything(round);
  expect([...(await preparedPlans())]).toEqual(RIGHT);
});

test("so it does with statistics of tables that had a few rows, when they have many", async () => {
  // Plans are made anew with them.
  await sql`ANALYZE`.execute(store.db);
  for (let round = 0; round < ROUNDS; round += 1) await doEverything(ROUNDS + round);
  expect([...(await preparedPlans())]).toEqual(RIGHT);
  await sql`INSERT INTO ledger (created_at, kind, user_id, token_id, channel_id, amount, token_amount, request_id, shortfall, actor_id, detail)
    SELECT 1, 'consume', ${account.userId}::bigint, 0, 0, 0, 0, 'filled' || n, 0, 0, '' FROM generate_series(1, 20000) AS n`.execute(
    store.db,
  );
  const { rows } = await session.query(
    "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ledger_booked ('{nobody}')",
  );
  // The form of PostgreSQL's own answer.
  const [{ Plan }] = rows[0]["QUERY PLAN"] as [{ Plan: Record<string, number> }];
  expect(Number(Plan["Shared Hit Blocks"]) + Number(Plan["Shared Read Blocks"])).toBeLessThan(10);
});

test("a reservation and a settlement wait for the database twice each", async () => {
  const held = order(account, 100n);
  expect(await ledger.reserve(held)).toBe("reserved");
  expect(trips).toBe(2);
  await ledger.settle({ ...bill(held, 30n), channelId });
  expect(trips).toBe(4);
});
