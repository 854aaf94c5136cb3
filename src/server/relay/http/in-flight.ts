// The set of what is in flight: for entries that come and go with every request. Never keeps an entry that was removed.

/** An entry of the set; remove it once. */
export interface InFlightEntry<Item> {
  readonly item: Item;
  at: number;
}

/**
 * Adds and removes in constant time. Instead of a Set, because V8's hash tables point to their successors: once one
 * table has grown old, the garbage collector takes every later table, and with it every request that was running when
 * the table was replaced, for reachable until the next full collection (measured: 6 KB a request and a third of all CPU).
 */
export class InFlight<Item> {
  readonly #entries: InFlightEntry<Item>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(item: Item): InFlightEntry<Item> {
    const entry = { item, at: this.#entries.length };
    this.#entries.push(entry);
    return entry;
  }

  /** Does nothing for an entry that was removed already. */
  remove(entry: InFlightEntry<Item>): void {
    if (this.#entries[entry.at] !== entry) return;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    last.at = entry.at;
    this.#entries[entry.at] = last;
  }

  /** A copy of the present items. Order: none. */
  list(): Item[] {
    return this.#entries.map((entry) => entry.item);
  }
}
