// Work that was put off until somebody looks. Knows nothing of what it is.

export class Chores {
  #work: (() => Promise<void>) | undefined;
  #running: Promise<void> | undefined;

  /** Puts work off; what was put off before is replaced. */
  leave(work: () => Promise<void>): void {
    this.#work = work;
  }

  /** Nothing is put off, and nothing that was is still being done. */
  get areDone(): boolean {
    return this.#work === undefined && this.#running === undefined;
  }

  /** Does what was put off; callers of the same moment share it. Work that fails is put off again. Never throws. */
  async finish(): Promise<void> {
    while (!this.areDone) {
      const isMine = this.#running === undefined;
      this.#running ??= this.#do();
      await this.#running;
      // One try for each caller: a database in trouble tells so by the statement itself.
      if (isMine) return;
    }
  }

  async #do(): Promise<void> {
    const work = this.#work;
    this.#work = undefined;
    try {
      await work?.();
    } catch {
      this.#work ??= work;
    } finally {
      this.#running = undefined;
    }
  }
}
