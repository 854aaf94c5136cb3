// The models of a channel beside those of its upstream's list (requirements C46). Pure.

/** What a channel serves. */
export interface Served {
  readonly models: Iterable<string>;
  /** Model → what it is called upstream. */
  readonly mapping: ReadonlyMap<string, string>;
}

/** A model of the channel that its upstream does not list. */
export interface Gone {
  readonly name: string;
  /** What the upstream was asked for. */
  readonly upstream: string;
  /** What it lists of nearly that name; "" = nothing, or several. */
  readonly like: string;
}

export interface Diff {
  readonly fresh: readonly string[];
  readonly gone: readonly Gone[];
}

/** What the models of a channel are called upstream, by the name that clients use. */
export function upstreamNames({ models, mapping }: Served): ReadonlyMap<string, string> {
  return new Map(
    [...new Set([...models, ...mapping.keys()])].map((name) => [name, mapping.get(name) ?? name]),
  );
}

/** A name without what forwarders and vendors spell in several ways: case, and a maker in front. */
function folded(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).toLowerCase();
}

/** Names of the list that are neither served nor known, and served ones that the list lacks. */
export function diffOf(served: Served, listed: readonly string[], known: ReadonlySet<string>): Diff {
  const has = new Set(listed);
  const byFold = Map.groupBy(listed, folded);
  const names = upstreamNames(served);
  const asked = new Set([...names.values(), ...names.keys()]);
  const gone = [...names].flatMap(([name, upstream]): Gone[] => {
    if (has.has(upstream)) return [];
    const alike = byFold.get(folded(upstream)) ?? [];
    return [{ name, upstream, like: alike.length === 1 ? (alike[0] ?? "") : "" }];
  });
  const taken = new Set(gone.map(({ like }) => like));
  const fresh = listed.filter((name) => !known.has(name) && !asked.has(name) && !taken.has(name));
  return { fresh, gone };
}

/** Whether a list has shrunk so far that it is rather a fault than news. */
export function isHalved(listed: number, before: number): boolean {
  return listed * 2 < before;
}
