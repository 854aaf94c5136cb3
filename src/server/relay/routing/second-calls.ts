// Of how many streams a second call may be made while the first one runs (requirements C45). Each process's own count; not money.

/** Of a hundred streams. */
const SHARE = 2;
const WHOLE = 100;
/** So many that were not made may be made later, all at once. */
const MOST_SAVED = 5;

export class SecondCalls {
  #saved = 0;
  #made = 0;

  /** How many were made. */
  get made(): number {
    return this.#made;
  }

  /** A stream is asked for that might get one. */
  count(): void {
    this.#saved = Math.min(MOST_SAVED * WHOLE, this.#saved + SHARE);
  }

  /** Whether one may be made now; then it counts. */
  take(): boolean {
    if (this.#saved < WHOLE) return false;
    this.#saved -= WHOLE;
    this.#made += 1;
    return true;
  }

  /** The one that was taken was not made. */
  giveBack(): void {
    this.#saved += WHOLE;
    this.#made -= 1;
  }
}
