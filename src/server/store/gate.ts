// The order of writers: while a transaction is open on the one writing connection, everybody else waits in a queue.

export class Gate {
  #held = false;
  #opening: Promise<unknown> = Promise.resolve();
  readonly #queue: (() => void)[] = [];

  /** A transaction is open. */
  get isHeld(): boolean {
    return this.#held;
  }

  /** Who waits for a transaction to end. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves when the transaction that holds the gate, or held it last, has begun or failed to. */
  get opening(): Promise<unknown> {
    return this.#opening;
  }

  /** Runs `action` as soon as no transaction is open. What it posts is ordered before any later transaction. */
  pass<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) return action();
    return new Promise((resolve, reject) => {
      this.#queue.push(() => void action().then(resolve, reject));
    });
  }

  /** Closes the gate behind the caller as soon as it is open; `action` begins the transaction. */
  enter<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) return this.#begin(action);
    return new Promise((resolve, reject) => {
      this.#queue.push(() => void this.#begin(action).then(resolve, reject));
    });
  }

  /** Opens the gate for those who waited, up to and including the next transaction. */
  leave(): void {
    this.#held = false;
    while (!this.#held) {
      const startNext = this.#queue.shift();
      if (!startNext) return;
      startNext();
    }
  }

  #begin<T>(action: () => Promise<T>): Promise<T> {
    this.#held = true;
    const begun = action();
    this.#opening = begun.then(
      () => undefined,
      () => undefined,
    );
    return begun;
  }
}
