// Slots that several processes share: each is a row with a lease, so that a process that dies gives them back. Never more are taken
// than there are. Time is the database's: processes whose clocks differ would free each other's slots.
import { type RawBuilder, sql } from "kysely";
import type { Db } from "#server/store/db.ts";
import type { LateIndex } from "#server/store/late-indexes.ts";
import { DATABASE_NOW } from "./database-clock.ts";
import { KeyedQueue } from "./keyed-queue.ts";

/** A slot that was not renewed for so long is free again. */
export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Other processes may take the same free slot in the same moment. */
const MAX_TRIES = 10;

export interface SlotLeasesDeps {
  readonly db: Db;
  readonly onError: (error: unknown) => void;
}

/** What the keys of slots begin with. */
const HEAD = "place:";
/** As SQL: whether a mark is a slot, and of what; behind the name stands the number of the slot. */
const IS_SLOT = `key LIKE '${HEAD}%'`;
const SLOT_OF = "regexp_replace(key, ':[0-9]+$', '')";

/** How many are taken is counted along it: without it all marks are read, and their keys taken apart. */
export const SLOT_INDEX: LateIndex = {
  name: "coord_slots",
  table: "coord_marks",
  of: [SLOT_OF],
  where: IS_SLOT,
};

/** Removes slots whose lease has run out. */
export async function sweepSlots(db: Db): Promise<void> {
  await sql`DELETE FROM coord_marks WHERE ${sql.raw(IS_SLOT)} AND until_ms <= ${DATABASE_NOW}`.execute(db);
}

/** Whether a mark is no slot. */
export const IS_NO_SLOT = sql`NOT (${sql.raw(IS_SLOT)})`;

/** How many slots are taken of each of these names. */
export function countSlots(names: readonly string[]): RawBuilder<{ name: string; taken: string }> {
  const name = sql.raw(SLOT_OF);
  return sql`SELECT ${name} AS name, count(*) AS taken FROM coord_marks
    WHERE ${sql.raw(IS_SLOT)} AND until_ms > ${DATABASE_NOW} AND ${name} = ANY(${names}) GROUP BY 1`;
}

/** The slots that this process holds. */
export class SlotLeases {
  readonly #deps: SlotLeasesDeps;
  readonly #held = new Set<string>();
  readonly #queues = new KeyedQueue<(() => void) | undefined>((leave) => leave === undefined);
  /** Given back, but not in the database yet. */
  #left: string[] = [];
  #isLeaving = false;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: SlotLeasesDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.renew().catch(deps.onError), RENEW_MS).unref();
  }

  /** Takes one of the slots of a key. Returns the function that gives it back; undefined = none is free. */
  take(key: string, limit: number): Promise<(() => void) | undefined> {
    return this.#queues.ask(`${limit} ${key}`, () => this.#take(key, limit));
  }

  /** How many slots of each key are taken, by all processes. */
  async count(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (keys.length === 0) return new Map();
    const { rows } = await countSlots(keys.map((key) => HEAD + key)).execute(this.#deps.db);
    return new Map(rows.map(({ name, taken }) => [name.slice(HEAD.length), Number(taken)]));
  }

  /** Renews the leases, so that they show this process to be alive. */
  async renew(): Promise<void> {
    if (this.#held.size === 0) return;
    const held = [...this.#held];
    await sql`UPDATE coord_marks SET until_ms = ${DATABASE_NOW} + ${LEASE_MS} WHERE key = ANY(${held})`.execute(
      this.#deps.db,
    );
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #take(key: string, limit: number): Promise<(() => void) | undefined> {
    for (let turn = 0; turn < MAX_TRIES; turn += 1) {
      const { isFull, taken } = await this.#try(key, limit);
      if (taken !== undefined) return this.#hold(taken);
      if (isFull) return undefined;
    }
    return undefined;
  }

  async #try(key: string, limit: number): Promise<{ isFull: boolean; taken: string | undefined }> {
    // Processes that search from different ends seldom meet. One row per slot that is taken, so that searching is cheap.
    const first = Math.floor(Math.random() * limit);
    const { rows } = await sql<{ free: string | null; taken: string | null }>`
      WITH free AS MATERIALIZED (
        SELECT place.key FROM (
          SELECT ${`${HEAD}${key}:`} || ((${first}::bigint + generate_series(0, ${limit}::bigint - 1)) % ${limit}::bigint) AS key
        ) AS place
        WHERE NOT EXISTS (SELECT FROM coord_marks AS mark WHERE mark.key = place.key AND mark.until_ms > ${DATABASE_NOW})
        LIMIT 1
      ), taken AS (
        INSERT INTO coord_marks AS mark (key, until_ms)
        SELECT key, ${DATABASE_NOW} + ${LEASE_MS} FROM free
        ON CONFLICT (key) DO UPDATE SET until_ms = excluded.until_ms WHERE mark.until_ms <= ${DATABASE_NOW}
        RETURNING key
      )
      SELECT (SELECT key FROM free) AS free, (SELECT key FROM taken) AS taken`.execute(this.#deps.db);
    const [row] = rows;
    return { isFull: (row?.free ?? null) === null, taken: row?.taken ?? undefined };
  }

  #hold(slot: string): () => void {
    this.#held.add(slot);
    return () => {
      if (!this.#held.delete(slot)) return;
      this.#left.push(slot);
      if (!this.#isLeaving) void this.#leave();
    };
  }

  /** Of many calls that end at once the slots are given back together. */
  async #leave(): Promise<void> {
    this.#isLeaving = true;
    while (this.#left.length > 0) {
      const keys = this.#left;
      this.#left = [];
      const { db, onError } = this.#deps;
      await sql`DELETE FROM coord_marks WHERE key = ANY(${keys})`.execute(db).catch(onError);
    }
    this.#isLeaving = false;
  }
}
