// One piece of work that was put off until the next statement needs it done. Knows nothing of what it is.

/** Work that failed is not tried again before: a database in trouble must not hold up every reader, one lock can take long. */
const RETRY_MS = 1_000;

export class DeferredFlush {
  #work: (() => Promise<void>) | undefined;
  #running: Promise<void> | undefined;

  /** Puts work off; what was put off before is replaced. */
  schedule(work: () => Promise<void>): void {
    this.#work = work;
  }

  /** Nothing is put off, and nothing that was is still being done. */
  get isIdle(): boolean {
    return this.#work === undefined && this.#running === undefined;
  }

  /** Does what was put off; callers of the same moment share it. Work that fails is put off for a while. Never throws. */
  async flush(): Promise<void> {
    // What is being done may have begun before the last work was scheduled. What is scheduled from now on is for later callers: under load
    // there is always more.
    if (this.#running !== undefined) await this.#running;
    if (this.#work !== undefined) this.#running ??= this.#do();
    await this.#running;
  }

  async #do(): Promise<void> {
    const work = this.#work;
    this.#work = undefined;
    try {
      await work?.();
    } catch {
      setTimeout(() => {
        this.#work ??= work;
      }, RETRY_MS).unref();
    } finally {
      this.#running = undefined;
    }
  }
}
