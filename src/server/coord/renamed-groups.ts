// Groups that were renamed a moment ago. Caches of a process learn of a renaming one after the other, and calls that run hold the old
// name: for a while all its names mean the same to who looks one up (requirements K16).
import type { Clock } from "#server/clock.ts";
import type { Coord } from "./coord.ts";

/** Longer than any cache and any call. Unit: ms. */
const KEPT_MS = 3_600_000;

const NONE: readonly string[] = [];

interface Names {
  readonly names: readonly string[];
  readonly until: number;
}

export interface RenamedGroups {
  /** All names of the same group, the newest first, for who finds nothing under this one. */
  otherNames(name: string): readonly string[];
  close(): void;
}

/** Told of before the rows change, so that no node meets a name that it does not know. */
export function tellRenamed(coord: Pick<Coord, "publish">, from: string, to: string): Promise<void> {
  return coord.publish("groups", JSON.stringify([from, to]));
}

export function followRenamedGroups({
  coord,
  clock,
}: {
  readonly coord: Pick<Coord, "subscribe">;
  readonly clock: Pick<Clock, "now">;
}): RenamedGroups {
  /** By name what a group was called; the names of one group share their list. */
  const known = new Map<string, Names>();
  function otherNames(name: string): readonly string[] {
    const entry = known.get(name);
    return entry !== undefined && clock.now() < entry.until ? entry.names : NONE;
  }
  const close = coord.subscribe("groups", (payload) => {
    // Something may have been missed: what is read anew then has the new names.
    if (payload === "") return;
    // Written by `tellRenamed` alone.
    const [from, to] = JSON.parse(payload) as [string, string];
    const earlier = otherNames(from);
    const names = [to, ...(earlier.length > 0 ? earlier : [from]).filter((name) => name !== to)];
    // A name that another group has given up means this one from now on.
    const entry = { names, until: clock.now() + KEPT_MS };
    for (const name of names) known.set(name, entry);
  });
  return { otherNames, close };
}
