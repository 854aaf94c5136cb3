// Calls that wait because all channels for their model are at their limits: first come, first served, in this process (requirements C40).
import type { Cancellation } from "#server/upstream/cancellation.ts";

/** So many wait for one model of one group; more are refused at once. */
const LONGEST = 64;

/** A call's place in a queue. */
export interface Ticket {
  readonly isFirst: boolean;
  /** Resolves after this time, or when it is this call's turn to look again, or when its client leaves. */
  wait(ms: number, cancellation: Cancellation): Promise<void>;
  /** Gives the place up; the next one moves up. */
  leave(): void;
}

export class Queues {
  readonly #queues = new Map<string, Place[]>();
  /** How many queues there are. Written here alone; a field, since every call reads it. */
  count = 0;

  hasWaiting(name: string): boolean {
    return this.#queues.has(name);
  }

  /** undefined = the queue is full. */
  join(name: string): Ticket | undefined {
    const queue = this.#queues.get(name) ?? [];
    if (queue.length >= LONGEST) return undefined;
    const place = new Place(queue, () => {
      if (queue.length === 0) this.#queues.delete(name);
      this.count = this.#queues.size;
    });
    queue.push(place);
    this.#queues.set(name, queue);
    this.count = this.#queues.size;
    return place;
  }

  /** Something may be free: the first of each queue looks again. */
  stir(): void {
    for (const [first] of this.#queues.values()) first?.wake();
  }
}

class Place implements Ticket {
  readonly #queue: Place[];
  readonly #onLeft: () => void;
  /** It was woken while it was looking. */
  #isStirred = false;
  wake: () => void = () => {
    this.#isStirred = true;
  };

  constructor(queue: Place[], onLeft: () => void) {
    this.#queue = queue;
    this.#onLeft = onLeft;
  }

  get isFirst(): boolean {
    return this.#queue[0] === this;
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
    this.#queue.splice(at, 1);
    this.#onLeft();
    if (at === 0) this.#queue[0]?.wake();
  }
}
