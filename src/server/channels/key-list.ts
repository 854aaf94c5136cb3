// One of several keys with what is known of it, and lists of them that are drawn from: by weight, or always the same for a conversation.
import { AliasTable } from "./key-weights.ts";
import type { LiveChannel } from "./live-channel.ts";
import { routeWith } from "./proxies.ts";

/** More keys than this are spread over so many buckets: a conversation then asks one bucket instead of all (requirements C28). */
const BUCKETS = 64;

/** What a key is opened from. */
export interface SealedKey {
  readonly id: number;
  readonly key_hash: string;
  readonly key_sealed: string;
  readonly proxy_sealed: string;
  readonly weight: number;
  readonly models: string;
}

/** Opens the key and the proxy of a row. Throws: SealError. */
export type OpenKey = (row: SealedKey) => { readonly key: string; readonly proxy: string };

export class Key {
  readonly row: SealedKey;
  readonly models: ReadonlySet<string> | undefined;
  inFlight = 0;
  calls = 0;
  refusals = 0;
  #opened: { readonly key: string; readonly proxy: string } | undefined;
  #served: { readonly channel: LiveChannel; readonly as: LiveChannel } | undefined;

  constructor(row: SealedKey) {
    this.row = row;
    this.models = row.models === "" ? undefined : new Set(row.models.split(","));
  }

  get isOpened(): boolean {
    return this.#opened !== undefined;
  }

  opened(open: OpenKey): { readonly key: string; readonly proxy: string } {
    this.#opened ??= open(this.row);
    return this.#opened;
  }

  /** The channel with this key. Throws: SealError. */
  as(channel: LiveChannel, open: OpenKey): LiveChannel {
    if (this.#served?.channel === channel) return this.#served.as;
    const { key, proxy } = this.opened(open);
    const route = routeWith(channel, { proxy, keyHash: this.row.key_hash });
    const as = { ...channel, key, keyId: this.row.id, keyProxy: proxy, route, base: channel };
    this.#served = { channel, as };
    return as;
  }
}

/** Whether a key may be taken. */
export type Free = (key: Key) => boolean;

/** Keys that a call may get, and what is made of them when it is first needed. */
export class KeyList {
  readonly keys: readonly Key[];
  #buckets: readonly (readonly Key[])[] | undefined;
  #weights: AliasTable | undefined;

  constructor(keys: readonly Key[]) {
    this.keys = keys;
  }

  weighted(): Key | undefined {
    this.#weights ??= new AliasTable(this.keys.map(({ row }) => row.weight));
    return this.keys[this.#weights.draw()];
  }

  /** The same key for a conversation as long as it is free; when it is not, only that key's conversations move. */
  stick(conversation: number, isFree: Free): Key | undefined {
    // Otherwise a conversation's channel and key would be drawn by one lot.
    const number = conversation ^ 0x5bd1e995;
    if (this.keys.length <= BUCKETS) return best(this.keys, number, isFree);
    this.#buckets ??= bucketsOf(this.keys);
    const start = Math.floor(lotOf(number, 0) * BUCKETS);
    for (let step = 0; step < BUCKETS; step += 1) {
      const found = best(this.#buckets[(start + step) % BUCKETS] ?? [], number, isFree);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function bucketsOf(keys: readonly Key[]): Key[][] {
  const buckets = Array.from({ length: BUCKETS }, (): Key[] => []);
  for (const key of keys) buckets[Math.floor(lotOf(0x2545f491, key.row.id) * BUCKETS)]?.push(key);
  return buckets;
}

/** Rendezvous hashing: each key draws a lot from the conversation's number and its own, and the least wins. */
function best(keys: readonly Key[], conversation: number, isFree: Free): Key | undefined {
  let winner: Key | undefined;
  let least = 1;
  for (const key of keys) {
    const lot = lotOf(conversation, key.row.id);
    if (lot >= least || !isFree(key)) continue;
    least = lot;
    winner = key;
  }
  return winner;
}

/** Between 0 and 1, neither of them, as good as chance for every pair: two rounds of multiplying and folding (Wellons' lowbias32). */
function lotOf(conversation: number, id: number): number {
  const folded = fold(Math.imul(id, 0x9e3779b1) ^ conversation, 16, 0x21f0aaad);
  return ((fold(fold(folded, 15, 0x735a2d97), 15, 1) >>> 0) + 0.5) / 2 ** 32;
}

function fold(value: number, bits: number, factor: number): number {
  return Math.imul(value ^ (value >>> bits), factor);
}
