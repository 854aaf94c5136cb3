// Values by request id, for ids that are met once and soon forgotten. A Map puts each of them in V8's table of texts first; and each
// table that a Map has outgrown leads to the next one, so that what was in them, dead as it is, is moved to the old generation: at load
// that cost a call 2 µs.

/** What the books ask of a map by request id. */
export interface ById<T> {
  get(id: string): T | undefined;
  has(id: string): boolean;
  set(id: string, value: T): unknown;
  delete(id: string): boolean;
  clear(): void;
}

interface Entry<T> {
  readonly id: string;
  value: T;
  /** Of another id in the same place. */
  next: Entry<T> | undefined;
}

/** Request ids end with eight random digits (`newRequestId`), others with a counter. */
const TELLING = 10;
/** A power of two. */
const FEWEST_PLACES = 64;

/** One id is asked for several times in a row. */
let lastId = "";
let lastNumber = 0;

function numberOf(id: string): number {
  if (id === lastId) return lastNumber;
  let number = 0;
  for (let at = Math.max(0, id.length - TELLING); at < id.length; at += 1)
    number = (Math.imul(number, 31) + id.charCodeAt(at)) | 0;
  lastId = id;
  lastNumber = number;
  return number;
}

/** Places with short lists; where an id stands is a number made of its end. Nothing is kept of what was deleted. */
export class IdMap<T> implements ById<T> {
  #places = placesOf<T>(FEWEST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): T | undefined {
    return among(this.#places[this.#placeOf(id)], id)?.value;
  }

  has(id: string): boolean {
    return among(this.#places[this.#placeOf(id)], id) !== undefined;
  }

  set(id: string, value: T): void {
    const place = this.#placeOf(id);
    const first = this.#places[place];
    const known = among(first, id);
    if (known) {
      known.value = value;
      return;
    }
    this.#places[place] = { id, value, next: first };
    this.#size += 1;
    if (this.#size > this.#places.length) this.#grow();
  }

  delete(id: string): boolean {
    const place = this.#placeOf(id);
    const first = this.#places[place];
    if (!among(first, id)) return false;
    this.#places[place] = without(first, id);
    this.#size -= 1;
    return true;
  }

  clear(): void {
    this.#places.fill(undefined);
    this.#size = 0;
  }

  #placeOf(id: string): number {
    return numberOf(id) & (this.#places.length - 1);
  }

  #grow(): void {
    const entries = this.#places;
    this.#places = placesOf(2 * entries.length);
    for (let entry of entries)
      while (entry) {
        const { next } = entry;
        const place = this.#placeOf(entry.id);
        entry.next = this.#places[place];
        this.#places[place] = entry;
        entry = next;
      }
  }
}

function placesOf<T>(count: number): (Entry<T> | undefined)[] {
  return new Array<Entry<T> | undefined>(count).fill(undefined);
}

function among<T>(first: Entry<T> | undefined, id: string): Entry<T> | undefined {
  let entry = first;
  while (entry && entry.id !== id) entry = entry.next;
  return entry;
}

function without<T>(first: Entry<T> | undefined, id: string): Entry<T> | undefined {
  if (!first || first.id === id) return first?.next;
  first.next = without(first.next, id);
  return first;
}
