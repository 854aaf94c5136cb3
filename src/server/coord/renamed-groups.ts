// Groups that were renamed a moment ago. Caches of a process learn of a renaming one after the other, and calls that run hold the old
// name: for a while both names mean the same to who looks one up (requirements K16).
import type { Clock } from "#server/clock.ts";
import type { Coord } from "./coord.ts";

/** Longer than any cache and any call. Unit: ms. */
const KEPT_MS = 3_600_000;

export interface RenamedGroups {
  /** The other name of the same group, for who finds nothing under this one. */
  otherName(name: string): string | undefined;
  close(): void;
}

/** Told of before the rows change, so that nobody meets a name that he does not know. */
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
  const others = new Map<string, { readonly name: string; readonly until: number }>();
  const close = coord.subscribe("groups", (payload) => {
    // Something may have been missed: what is read anew then has the new names.
    if (payload === "") return;
    // Written by `tellRenamed` alone.
    const [from, to] = JSON.parse(payload) as [string, string];
    const until = clock.now() + KEPT_MS;
    others.set(from, { name: to, until }).set(to, { name: from, until });
  });
  return {
    otherName(name) {
      const other = others.get(name);
      return other !== undefined && clock.now() < other.until ? other.name : undefined;
    },
    close,
  };
}
