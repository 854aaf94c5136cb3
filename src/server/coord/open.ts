// Chooses the engine that fits the database.
import type { Clock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import type { Coord } from "./coord.ts";
import { createMemoryCoord } from "./memory.ts";
import { createPostgresCoord } from "./postgres.ts";

/** Memory for SQLite, where one process is all there is; PostgreSQL otherwise. */
export async function openCoord(deps: {
  store: Store;
  clock: Clock;
  node: string;
  syncMs?: number;
  onError?: (error: unknown) => void;
}): Promise<Coord> {
  const { store, ...rest } = deps;
  return store.dialect === "sqlite" ? createMemoryCoord(rest) : createPostgresCoord({ ...rest, store });
}
