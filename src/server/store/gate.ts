// The order of writers: while a transaction is open on the one writing connection, everybody else waits in a queue.

interface Waiter {
  readonly isTransaction: boolean;
  start(): void;
}

export class Gate {
  #held = false;
  readonly #queue: Waiter[] = [];

  /** A transaction is open. */
  get isHeld(): boolean {
    return this.#held;
  }

  /** Runs `action` as soon as no transaction is open. What it posts is ordered before any later transaction. */
  pass<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) return action();
    return new Promise((resolve, reject) => {
      this.#queue.push({ isTransaction: false, start: () => void action().then(resolve, reject) });
    });
  }

  /** Closes the gate behind the caller as soon as it is open; `action` begins the transaction. */
  enter<T>(action: () => Promise<T>): Promise<T> {
    if (!this.#held) {
      this.#held = true;
      return action();
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ isTransaction: true, start: () => void action().then(resolve, reject) });
    });
  }

  /** Opens the gate for those who waited, up to and including the next transaction. */
  leave(): void {
    this.#held = false;
    while (!this.#held) {
      const next = this.#queue.shift();
      if (!next) return;
      this.#held = next.isTransaction;
      next.start();
    }
  }
}
