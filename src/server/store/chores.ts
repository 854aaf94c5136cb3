// Work that was put off until somebody looks. Knows nothing of what it is.

export class Chores {
  #work: (() => Promise<void>) | undefined;
  #running: Promise<boolean> | undefined;

  /** Puts work off; what was put off before is replaced. */
  leave(work: () => Promise<void>): void {
    this.#work = work;
  }

  /** Nothing is put off, and nothing that was is still being done. */
  get areDone(): boolean {
    return this.#work === undefined && this.#running === undefined;
  }

  /**
   * Does what was put off; callers of the same moment share it. Work that fails is put off again, and nobody who waited tries it a
   * second time: a database in trouble tells so by the statement itself. Never throws.
   */
  async finish(): Promise<void> {
    // What runs already may have begun before the caller's own news.
    if (this.#running !== undefined && !(await this.#running)) return;
    if (this.#work !== undefined) this.#running ??= this.#do();
    if (this.#running !== undefined) await this.#running;
  }

  /** Whether it was done. */
  async #do(): Promise<boolean> {
    const work = this.#work;
    this.#work = undefined;
    try {
      await work?.();
      return true;
    } catch {
      this.#work ??= work;
      return false;
    } finally {
      this.#running = undefined;
    }
  }
}
