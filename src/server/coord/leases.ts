// Places that several processes share: each is a row with a lease, so that one who dies gives them back. Never more are taken
// than there are. Time is the database's: processes whose clocks differ would free each other's places.
import { sql } from "kysely";
import type { Db } from "#server/store/db.ts";
import { DATABASE_NOW } from "./database-clock.ts";
import { KeyedQueue } from "./keyed-queue.ts";

/** After so long without a sign of life a place is free again. */
export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Others may take the same free place in the same moment. */
const MAX_TRIES = 10;

export interface PlacesDeps {
  readonly db: Db;
  readonly onError: (error: unknown) => void;
}

/** What the keys of places begin with. */
const HEAD = "place:";

/** Removes places whose lease has run out. */
export async function sweepPlaces(db: Db): Promise<void> {
  await sql`DELETE FROM coord_marks WHERE key LIKE ${`${HEAD}%`} AND until_ms <= ${DATABASE_NOW}`.execute(db);
}

/** Whether a mark is no place. */
export const IS_NO_PLACE = sql`key NOT LIKE ${`${HEAD}%`}`;

/** The places that this process holds. */
export class Places {
  readonly #deps: PlacesDeps;
  readonly #held = new Set<string>();
  readonly #lines = new KeyedQueue<(() => void) | undefined>((leave) => leave === undefined);
  /** Given back, but not in the database yet. */
  #left: string[] = [];
  #isLeaving = false;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: PlacesDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.renew().catch(deps.onError), RENEW_MS).unref();
  }

  /** Takes one of the places of a key. Returns the way to give it back; undefined = none is free. */
  take(key: string, limit: number): Promise<(() => void) | undefined> {
    return this.#lines.ask(`${limit} ${key}`, () => this.#take(key, limit));
  }

  /** Says that this process lives. */
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
    // Whoever looks from different ends seldom meets. One row per place that is taken, so that looking is cheap.
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

  #hold(place: string): () => void {
    this.#held.add(place);
    return () => {
      if (!this.#held.delete(place)) return;
      this.#left.push(place);
      if (!this.#isLeaving) void this.#leave();
    };
  }

  /** Of many calls that end at once the places are given back together. */
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
