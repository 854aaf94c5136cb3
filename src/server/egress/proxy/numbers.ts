// The numbers by which a breaker knows proxies. They are remembered by a hash, so that no credentials stay here, and only while they are in use.
import { hmacSha256, randomId } from "#server/secrets.ts";
import type { ProxyServer } from "./address.ts";

/** A circuit rests for less, and is forgotten after as long. Unit: ms. */
const KEPT_MS = 600_000;

/** Of this process alone: a hash of an address says nothing elsewhere. */
const KEY = randomId();
const marks = new WeakMap<ProxyServer, string>();

/** What stands for a proxy with its credentials. */
export function markOf(proxy: ProxyServer): string {
  const known = marks.get(proxy);
  if (known !== undefined) return known;
  const mark = hmacSha256(KEY, proxy.name).toString("base64url");
  marks.set(proxy, mark);
  return mark;
}

export class ProxyNumbers {
  readonly #known = new Map<string, { readonly id: number; usedMs: number }>();
  readonly #onForgotten: (id: number) => void;
  #last = 0;
  #sweptMs = 0;

  constructor(onForgotten: (id: number) => void) {
    this.#onForgotten = onForgotten;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#known.size;
  }

  /** 0 = it has none, or none any more. */
  find(mark: string): number {
    return this.#known.get(mark)?.id ?? 0;
  }

  /** The number of what is used now. */
  take(mark: string, nowMs: number): number {
    const known = this.#known.get(mark);
    if (known !== undefined) {
      known.usedMs = nowMs;
      return known.id;
    }
    this.#sweep(nowMs);
    this.#last += 1;
    this.#known.set(mark, { id: this.#last, usedMs: nowMs });
    return this.#last;
  }

  /** The clock may have stepped back. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < KEPT_MS) return;
    this.#sweptMs = nowMs;
    for (const [mark, { id, usedMs }] of this.#known) {
      if (Math.abs(nowMs - usedMs) < KEPT_MS) continue;
      this.#known.delete(mark);
      this.#onForgotten(id);
    }
  }
}
