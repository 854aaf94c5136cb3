// Which keys of a channel rest of themselves, for one model or for all, until when and why. They are out of the choice meanwhile and come back
// when their time is over, without a look at the others.
import { Ends } from "./ends.ts";
import { type Mask, maskOf, putIn, takeOut } from "./key-mask.ts";
import type { KeyRest } from "./live-channel.ts";

/** No key rests longer. */
export const LONGEST_MS = 600_000;
/** Clocks that are set step back by more than they waver. */
export const STEP_MS = 1_000;

export interface Rest {
  /** Unit: ms since 1970. */
  readonly untilMs: number;
  readonly why: KeyRest;
}

/** How often keys have come back: as long as that stays the same, none can be had where none could. */
export interface Returns {
  count: number;
}

interface Resting extends Rest {
  readonly place: number;
  untilMs: number;
  why: KeyRest;
  slot: number;
}

export class Rests {
  /** The places of those that rest. */
  readonly mask: Mask;
  readonly #byPlace = new Map<number, Resting>();
  readonly #ends = new Ends<Resting>();
  /** When it was last looked at. Unit: ms since 1970. */
  now = 0;
  readonly #returns: Returns;

  /** `count` = how many places there are. */
  constructor(count: number, returns: Returns) {
    this.mask = maskOf(count);
    this.#returns = returns;
  }

  get size(): number {
    return this.#byPlace.size;
  }

  put(place: number, { untilMs, why }: Rest, now: number): void {
    this.now = now;
    const known = this.#byPlace.get(place);
    if (known !== undefined) this.#ends.take(known);
    const resting = known ?? { place, untilMs, why, slot: 0 };
    Object.assign(resting, { untilMs, why });
    this.#byPlace.set(place, resting);
    this.#ends.put(resting);
    putIn(this.mask, place);
  }

  take(place: number): void {
    const known = this.#byPlace.get(place);
    if (known === undefined) return;
    this.#ends.take(known);
    this.#byPlace.delete(place);
    takeOut(this.mask, place);
    this.#returns.count += 1;
  }

  /** Lets those go whose time is over, and, when the clock has stepped back, those whose time was set before that (requirements F08). */
  settle(now: number): void {
    if (now < this.now - STEP_MS) {
      for (const { place, untilMs } of [...this.#byPlace.values()])
        if (untilMs > now + LONGEST_MS) this.take(place);
    }
    this.now = now;
    for (;;) {
      const { first } = this.#ends;
      if (first === undefined || first.untilMs > now) return;
      this.take(first.place);
    }
  }

  of(place: number): Rest | undefined {
    const known = this.#byPlace.get(place);
    return known && { untilMs: known.untilMs, why: known.why };
  }

  /** The first to come back. */
  get first(): Pick<Resting, "place" | "untilMs"> | undefined {
    return this.#ends.first;
  }

  /** Of those that come back soon the first, and some others; at most so many. */
  soon(most: number): readonly Resting[] {
    return this.#ends.soon(most);
  }

  *entries(): Iterable<readonly [place: number, rest: Rest]> {
    yield* this.#byPlace;
  }
}
