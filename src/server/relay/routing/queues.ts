// Calls that wait because all of their channels are at their limits: of each channel first come, first served, in this process (requirements
// C40).
import type { Cancellation } from "#server/upstream/cancellation.ts";

/** So many wait for one model of one group; more are refused at once. */
const LONGEST = 64;

/** By their ids. */
type Channels = ReadonlySet<number>;
const NONE: Channels = new Set();

/** A call's place in a queue. */
export interface Ticket {
  /** The channels that calls before this one wait for: what is free of them is theirs first. */
  readonly ahead: Channels;
  /** Resolves after this time, or when one of the call's own channels may be free, or when its client leaves. */
  wait(ms: number, cancellation: Cancellation): Promise<void>;
  /** Gives the place up; those behind it move up. */
  leave(): void;
}

export class Queues {
  readonly #queues = new Map<string, Place[]>();
  /** Most calls of a queue have the same candidates. */
  readonly #sets = new WeakMap<readonly { readonly id: number }[], Channels>();
  /** How many queues there are. Written here alone; a field, since every call reads it. */
  count = 0;

  /** The channels that calls of a queue wait for: a call that comes later does not overtake. */
  awaited(name: string): Channels {
    const queue = this.#queues.get(name);
    return queue === undefined ? NONE : unionOf(queue);
  }

  /** Waits for one of these channels. undefined = the queue is full. */
  join(name: string, channels: readonly { readonly id: number }[]): Ticket | undefined {
    const queue = this.#queues.get(name) ?? [];
    if (queue.length >= LONGEST) return undefined;
    const place = new Place(queue, this.#setOf(channels), () => {
      if (queue.length === 0) this.#queues.delete(name);
      this.count = this.#queues.size;
    });
    queue.push(place);
    this.#queues.set(name, queue);
    this.count = this.#queues.size;
    return place;
  }

  /** Something may be free: of each channel the first call that waits for it looks again. */
  stir(): void {
    for (const queue of this.#queues.values()) wakeFirst(queue, () => true);
  }

  #setOf(channels: readonly { readonly id: number }[]): Channels {
    const known = this.#sets.get(channels);
    if (known !== undefined) return known;
    const set = new Set(channels.map(({ id }) => id));
    this.#sets.set(channels, set);
    return set;
  }
}

function unionOf(places: readonly Place[]): Channels {
  const sets = new Set(places.map(({ channels }) => channels));
  const [only = NONE] = sets;
  return sets.size === 1 ? only : new Set([...sets].flatMap((set) => [...set]));
}

/** Wakes the calls that are the first to wait for a channel that `counts`. */
function wakeFirst(queue: readonly Place[], counts: (channel: number) => boolean): void {
  const ahead = new Set<number>();
  const seen = new Set<Channels>();
  for (const place of [...queue]) {
    const { channels } = place;
    if (seen.has(channels)) continue;
    seen.add(channels);
    let isFirst = false;
    for (const channel of channels) {
      isFirst ||= !ahead.has(channel) && counts(channel);
      ahead.add(channel);
    }
    if (isFirst) place.wake();
  }
}

class Place implements Ticket {
  readonly channels: Channels;
  readonly #queue: Place[];
  readonly #onLeft: () => void;
  /** It was woken while it was looking. */
  #isStirred = false;
  wake: () => void = () => {
    this.#isStirred = true;
  };

  constructor(queue: Place[], channels: Channels, onLeft: () => void) {
    this.#queue = queue;
    this.channels = channels;
    this.#onLeft = onLeft;
  }

  get ahead(): Channels {
    return unionOf(this.#queue.slice(0, this.#queue.indexOf(this)));
  }

  async wait(ms: number, cancellation: Cancellation): Promise<void> {
    if (this.#isStirred) {
      this.#isStirred = false;
      return;
    }
    const note = this.wake;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      cancellation.watch(this.wake);
    });
    cancellation.watch(undefined);
    this.wake = note;
  }

  leave(): void {
    const at = this.#queue.indexOf(this);
    if (at < 0) return;
    const before = unionOf(this.#queue.slice(0, at));
    this.#queue.splice(at, 1);
    this.#onLeft();
    // What it was the first to wait for.
    wakeFirst(this.#queue, (channel) => this.channels.has(channel) && !before.has(channel));
  }
}
