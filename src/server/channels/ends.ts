// What ends, in the order of its ends: a binary heap whose members know their slots, so that one is taken out as cheaply as it was put in. Pure.

export interface Ending {
  /** Unit: ms since 1970. Only changed while it is not in here. */
  readonly untilMs: number;
  /** Written here alone. */
  slot: number;
}

export class Ends<E extends Ending> {
  readonly #heap: E[] = [];

  /** What ends first. */
  get first(): E | undefined {
    return this.#heap[0];
  }

  put(one: E): void {
    this.#rise(one, this.#heap.length);
  }

  /** `one` must be in here. */
  take(one: E): void {
    const last = this.#heap.pop();
    if (last === undefined || last === one) return;
    const parent = this.#heap[(one.slot - 1) >> 1];
    if (one.slot > 0 && parent !== undefined && parent.untilMs > last.untilMs) this.#rise(last, one.slot);
    else this.#sink(last, one.slot);
  }

  clear(): void {
    this.#heap.length = 0;
  }

  /** What ends first and some of what ends soon, at most so many: of 2^k - 1 the first k are among them. */
  soon(most: number): readonly E[] {
    return this.#heap.slice(0, most);
  }

  #rise(one: E, from: number): void {
    let slot = from;
    while (slot > 0) {
      const up = (slot - 1) >> 1;
      const parent = this.#heap[up];
      if (parent === undefined || parent.untilMs <= one.untilMs) break;
      this.#set(parent, slot);
      slot = up;
    }
    this.#set(one, slot);
  }

  #sink(one: E, from: number): void {
    let slot = from;
    for (;;) {
      const left = this.#heap[2 * slot + 1];
      const right = this.#heap[2 * slot + 2];
      const least = right !== undefined && left !== undefined && right.untilMs < left.untilMs ? right : left;
      if (least === undefined || least.untilMs >= one.untilMs) break;
      const down = least.slot;
      this.#set(least, slot);
      slot = down;
    }
    this.#set(one, slot);
  }

  #set(one: E, slot: number): void {
    this.#heap[slot] = one;
    one.slot = slot;
  }
}
