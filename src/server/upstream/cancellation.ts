// The one signal by which a call is cancelled. Imports nothing.

/**
 * Cancels a call from outside: the one signal of a request. Lighter than AbortController, which costs more
 * than the rest of the hot path's bookkeeping together.
 */
export class Cancellation {
  isCancelled = false;
  /** It was cancelled because its time limit passed: unfinished calls count as failed. */
  isExpired = false;
  #listener: (() => void) | undefined;

  /** Calls the current listener. Idempotent. */
  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#listener?.();
    this.#listener = undefined;
  }

  /** Cancels because the time limit of the request passed. Idempotent. */
  expire(): void {
    if (this.isCancelled) return;
    this.isExpired = true;
    this.cancel();
  }

  /** Sets the listener of `cancel`; undefined = none. A later listener replaces an earlier one. */
  watch(listener: (() => void) | undefined): void {
    if (this.isCancelled) listener?.();
    else this.#listener = listener;
  }
}
