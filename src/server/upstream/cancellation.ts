// The one signal by which a call is cancelled. Imports nothing.

/**
 * Cancels a call from outside: the one signal of a request. Lighter than AbortController, which costs more
 * than the rest of the hot path's bookkeeping together.
 */
export class Cancellation {
  isCancelled = false;
  /** It was cancelled because its time is over: what did not come by then failed. */
  isExpired = false;
  #listener: (() => void) | undefined;

  /** Calls the listener of the moment, once. Idempotent. */
  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#listener?.();
    this.#listener = undefined;
  }

  /** Cancels because the time of the request is over. Idempotent. */
  expire(): void {
    if (this.isCancelled) return;
    this.isExpired = true;
    this.cancel();
  }

  /** Sets what `cancel` ends; undefined = nothing. Whoever sets one later replaces it. */
  watch(listener: (() => void) | undefined): void {
    if (this.isCancelled) listener?.();
    else this.#listener = listener;
  }
}
