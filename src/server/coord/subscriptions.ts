// The handlers of each topic inside this process. A handler that fails does not keep a message from the others.
import type { Topic } from "./coord.ts";

export class Subscriptions {
  readonly #handlers = new Map<Topic, Set<(payload: string) => void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(topic: Topic, handler: (payload: string) => void): () => void {
    const handlers = this.#handlers.get(topic) ?? new Set();
    this.#handlers.set(topic, handlers);
    // Wrapped, so that the same function subscribed twice is heard twice and stopped one by one.
    const own = (payload: string) => handler(payload);
    handlers.add(own);
    return () => handlers.delete(own);
  }

  deliver(topic: Topic, payload: string): void {
    for (const handler of this.#handlers.get(topic) ?? []) {
      try {
        handler(payload);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  /** Everything may have changed. */
  deliverAll(): void {
    for (const topic of this.#handlers.keys()) this.deliver(topic, "");
  }
}
