// Coordination of several processes and hosts through PostgreSQL: LISTEN/NOTIFY for changes, advisory locks for work that
// one process does for all, a table for limits and marks.
import { sql } from "kysely";
import type { Client } from "pg";
import type { Clock } from "#server/clock.ts";
import type { PostgresStore } from "#server/store/db.ts";
import { Announcements } from "./announcements.ts";
import type { Coord, Counted, CountedEvent, Topic } from "./coord.ts";
import { DATABASE_NOW, type DatabaseClock, openDatabaseClock } from "./database-clock.ts";
import { GCRA_SLACK_MS } from "./expiring-keys.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { IS_NO_SLOT, SlotLeases, sweepSlots } from "./leases.ts";
import { Subscriptions } from "./subscriptions.ts";

const CHANNEL = "tollgate";
const SWEEP_MS = 60_000;
const SYNC_MS = 60_000;
const COMPARE_MS = 600_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 1_000;
/** Advisory locks of ours share this class, so that they meet no other locks. */
const LOCK_CLASS = 0x7011;

export interface PostgresCoordDeps {
  readonly store: PostgresStore;
  readonly clock: Clock;
  /** Boot id: tells our own messages from those of others. */
  readonly node: string;
  /** How often all may have changed: a node that died may not have told of its last change. */
  readonly syncMs?: number;
  readonly onError?: (error: unknown) => void;
}

/** Connects and listens. Throws: when the database cannot be reached now; later it reconnects by itself. */
export async function createPostgresCoord(deps: PostgresCoordDeps): Promise<Coord> {
  const onError = deps.onError ?? (() => undefined);
  const subscriptions = new Subscriptions(onError);
  const clock = await openDatabaseClock({ db: deps.store.db, clock: deps.clock });
  const session = new Session(deps, {
    onMessage: (payload) => {
      const message = parseMessage(payload);
      if (message && message.node !== deps.node) subscriptions.deliver(message.topic, message.payload);
    },
    onReconnect: () => subscriptions.deliverAll(),
    onError,
  });
  await session.connect();
  const announcements = new Announcements({
    send: (text) => sql`SELECT pg_notify(${CHANNEL}, ${text})`.execute(deps.store.db),
    onError,
  });
  const timers = [
    setInterval(() => subscriptions.deliverAll(), deps.syncMs ?? SYNC_MS).unref(),
    setInterval(() => void sweep(deps.store).catch(onError), SWEEP_MS).unref(),
    setInterval(() => void clock.compare().catch(onError), COMPARE_MS).unref(),
  ];
  const locked = new Set<string>();
  const counts = new KeyedQueue<Counted>(({ allowed }) => !allowed);
  const shared = { store: deps.store, clock };
  const slots = new SlotLeases({ db: deps.store.db, onError });
  // What one is refused others that are worth less may get.
  const countOne = ({ key, windowMs, limit, worth }: CountedEvent): Promise<Counted> =>
    limit <= 0
      ? Promise.resolve({ allowed: true, retryAfterMs: 0, fullAfterMs: 0 })
      : counts.ask(`${limit} ${worth} ${key}`, () => count(shared, key, { windowMs, limit, worth }));
  const uncountOne = ({ key, windowMs, limit, worth }: CountedEvent): Promise<void> =>
    limit <= 0 ? Promise.resolve() : uncount(shared, key, { windowMs, limit, worth });
  return {
    async publish(topic, payload) {
      subscriptions.deliver(topic, payload);
      await announcements.tell(JSON.stringify({ node: deps.node, topic, payload } satisfies Message));
    },
    subscribe: (topic, handler) => subscriptions.add(topic, handler),
    async lock(name, work) {
      // Advisory locks belong to the session: a second try of this process would succeed.
      if (locked.has(name)) return undefined;
      locked.add(name);
      try {
        return await session.lock(name, work);
      } finally {
        locked.delete(name);
      }
    },
    isLocked: async (name) => locked.has(name) || (await isLocked(deps.store, name)),
    count: (key, windowMs, limit, worth = 1) => countOne({ key, windowMs, limit, worth }),
    countEach: (events) => countEach(events, countOne, (event) => void uncountOne(event).catch(onError)),
    uncount: (key, windowMs, limit, worth = 1) => uncountOne({ key, windowMs, limit, worth }),
    hold: (key, limit) => (limit <= 0 ? Promise.resolve(() => undefined) : slots.take(key, limit)),
    fullAfter: (keys) => fullAfter(shared, keys),
    heldOf: (keys) => slots.count(keys),
    remember: (key, ttlMs) => remember(shared, key, ttlMs),
    async close() {
      for (const timer of timers) clearInterval(timer);
      announcements.close();
      slots.close();
      await session.close();
    },
  };
}

/** Looks at the lock without trying it: a process that wanted it meanwhile would be refused. PostgreSQL shows both numbers unsigned. */
async function isLocked(store: PostgresStore, name: string): Promise<boolean> {
  const { rows } = await sql`
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid::bigint = ${LOCK_CLASS}::bigint
      AND objid::bigint = hashtext(${name})::bigint & 4294967295`.execute(store.db);
  return rows.length > 0;
}

interface Message {
  readonly node: string;
  readonly topic: Topic;
  readonly payload: string;
}

/** What windows are counted by: nodes whose clocks differ count as one (requirements L06). */
interface Shared {
  readonly store: PostgresStore;
  readonly clock: DatabaseClock;
}

/** Reads a notification; anything that is not ours is undefined. */
function parseMessage(text: string | undefined): Message | undefined {
  try {
    // Only nodes of ours notify on this channel; a text of another program lacks the fields and is dropped.
    const message = JSON.parse(text ?? "") as Partial<Message>;
    const { node, topic, payload } = message;
    return node !== undefined && topic !== undefined && payload !== undefined
      ? { node, topic, payload }
      : undefined;
  } catch {
    return undefined;
  }
}

interface Rate {
  readonly windowMs: number;
  readonly limit: number;
  readonly worth: number;
}

async function count(
  { store, clock }: Shared,
  key: string,
  { windowMs, limit, worth }: Rate,
): Promise<Counted> {
  const nowMs = clock.now();
  const costMs = (windowMs / limit) * worth;
  const roomMs = windowMs - costMs + GCRA_SLACK_MS;
  const name = `count:${key}`;
  // An event that is worth more than the limit has no room even where nothing was counted yet.
  const counted = await sql<{ until_ms: number }>`
    INSERT INTO coord_marks AS mark (key, until_ms) SELECT ${name}, ${nowMs + costMs}::double precision
      WHERE ${roomMs}::double precision >= 0
    ON CONFLICT (key) DO UPDATE SET until_ms = greatest(mark.until_ms, ${nowMs}) + ${costMs}
      WHERE mark.until_ms - ${nowMs} <= ${roomMs}
    RETURNING until_ms`.execute(store.db);
  const [row] = counted.rows;
  if (row !== undefined) return { allowed: true, retryAfterMs: 0, fullAfterMs: row.until_ms - nowMs };
  const untilMs = (await nearMark(store, name, nowMs + windowMs + GCRA_SLACK_MS)) ?? nowMs;
  const retryAfterMs = Math.max(1, Math.ceil(untilMs - nowMs - roomMs));
  return { allowed: false, retryAfterMs, fullAfterMs: Math.max(0, untilMs - nowMs) };
}

/** Counts up to the first that has no room. When one cannot be asked, those before it are given back: who asked does not learn of them. */
async function countEach(
  events: readonly CountedEvent[],
  countOne: (event: CountedEvent) => Promise<Counted>,
  giveBack: (event: CountedEvent) => void,
): Promise<readonly Counted[]> {
  const counted: Counted[] = [];
  try {
    for (const event of events) {
      const one = await countOne(event);
      counted.push(one);
      if (!one.allowed) break;
    }
  } catch (error) {
    events.slice(0, counted.length).forEach(giveBack);
    throw error;
  }
  return counted;
}

async function fullAfter(
  { store, clock }: Shared,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map();
  const nowMs = clock.now();
  const names = new Map(keys.map((key) => [`count:${key}`, key]));
  const { rows } = await sql<{ key: string; until_ms: number }>`
    SELECT key, until_ms FROM coord_marks WHERE key = ANY(${[...names.keys()]}) AND until_ms > ${nowMs}`.execute(
    store.db,
  );
  return new Map(rows.map((row) => [names.get(row.key) ?? "", row.until_ms - nowMs]));
}

/**
 * The time of a mark. One beyond the latest that could have been set is older than a step back of the clock, and is brought nearer
 * (requirements F08).
 */
async function nearMark(store: PostgresStore, name: string, latestMs: number): Promise<number | undefined> {
  const { rows } = await sql<{ until_ms: number }>`
    SELECT until_ms FROM coord_marks WHERE key = ${name}`.execute(store.db);
  const untilMs = rows[0]?.until_ms;
  if (untilMs === undefined || untilMs <= latestMs) return untilMs;
  await sql`UPDATE coord_marks SET until_ms = ${latestMs} WHERE key = ${name} AND until_ms > ${latestMs}`.execute(
    store.db,
  );
  return latestMs;
}

async function uncount(
  { store, clock }: Shared,
  key: string,
  { windowMs, limit, worth }: Rate,
): Promise<void> {
  const nowMs = clock.now();
  const backMs = (windowMs / limit) * worth;
  const name = `count:${key}`;
  if (worth >= 0) {
    await sql`UPDATE coord_marks SET until_ms = until_ms - ${backMs}
      WHERE key = ${name} AND until_ms > ${nowMs}`.execute(store.db);
    return;
  }
  const owedMs = Math.min(-backMs, windowMs);
  await sql`INSERT INTO coord_marks AS mark (key, until_ms) VALUES (${name}, ${nowMs + owedMs})
    ON CONFLICT (key) DO UPDATE
      SET until_ms = least(greatest(mark.until_ms, ${nowMs}) + ${owedMs}, ${nowMs + windowMs})`.execute(
    store.db,
  );
}

async function remember({ store, clock }: Shared, key: string, ttlMs: number): Promise<boolean> {
  const nowMs = clock.now();
  const name = `seen:${key}`;
  const { rows } = await sql`
    INSERT INTO coord_marks AS mark (key, until_ms) VALUES (${name}, ${nowMs + ttlMs})
    ON CONFLICT (key) DO UPDATE SET until_ms = excluded.until_ms WHERE mark.until_ms <= ${nowMs}
    RETURNING key`.execute(store.db);
  if (rows.length === 1) return true;
  await nearMark(store, name, nowMs + ttlMs);
  return false;
}

async function sweep(store: PostgresStore): Promise<void> {
  await sql`DELETE FROM coord_marks WHERE ${IS_NO_SLOT} AND until_ms < ${DATABASE_NOW}`.execute(store.db);
  await sweepSlots(store.db);
}

interface SessionEvents {
  onMessage(payload: string | undefined): void;
  onReconnect(): void;
  onError(error: unknown): void;
}

/** The one connection that listens and holds locks. Connects anew until it is closed. */
class Session {
  readonly #deps: PostgresCoordDeps;
  readonly #events: SessionEvents;
  #client: Client | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: PostgresCoordDeps, events: SessionEvents) {
    this.#deps = deps;
    this.#events = events;
  }

  async connect(): Promise<void> {
    const client = this.#deps.store.createClient("tollgate coord");
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", (message) => this.#events.onMessage(message.payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      client.removeAllListeners("end");
      void client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    // Closed while it was connecting.
    if (this.#isClosed) await client.end();
  }

  /** Runs the work while the session holds the lock. When the connection breaks meanwhile, the work still ends. */
  async lock<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    const client = this.#client;
    if (!client) return undefined;
    const { rows } = await client.query("SELECT pg_try_advisory_lock($1, hashtext($2)) AS held", [
      LOCK_CLASS,
      name,
    ]);
    if (rows[0]?.held !== true) return undefined;
    try {
      return await work();
    } finally {
      // A broken connection has given the lock up already.
      await client
        .query("SELECT pg_advisory_unlock($1, hashtext($2))", [LOCK_CLASS, name])
        .catch((error: unknown) => this.#events.onError(error));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }

  #lose(client: Client): void {
    if (this.#isClosed || this.#client !== client) return;
    this.#client = undefined;
    this.#retry(RECONNECT_MIN_MS);
  }

  #retry(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.connect().then(
        () => this.#events.onReconnect(),
        (error: unknown) => {
          this.#events.onError(error);
          if (!this.#isClosed) this.#retry(Math.min(delayMs * 2, RECONNECT_MAX_MS));
        },
      );
    }, delayMs);
  }
}
