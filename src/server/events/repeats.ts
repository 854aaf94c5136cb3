// Failures that come again and again, told once a minute: a database that is away for a night must not fill the disk with lines.

/** The same is told again after this long. Unit: ms. */
const AGAIN_MS = 60_000;
/** More different ones than this in a minute are no repeats; all is forgotten then. */
const MAX_KEYS = 1_000;

export class Repeats {
  readonly #told = new Map<string, { readonly atMs: number; untold: number }>();

  /** Whether a failure is logged now, and how often it was not since the last time; undefined = not now. Unit: ms. */
  tell(key: string, nowMs: number): { untold: number } | undefined {
    const last = this.#told.get(key);
    if (last !== undefined && nowMs - last.atMs < AGAIN_MS) {
      last.untold += 1;
      return undefined;
    }
    if (this.#told.size >= MAX_KEYS) this.#told.clear();
    this.#told.set(key, { atMs: nowMs, untold: 0 });
    return { untold: last?.untold ?? 0 };
  }
}
