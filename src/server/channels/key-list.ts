// One of several keys with what is known of it, and lists of them that are drawn from: by weight, or always the same for a conversation.
import type { StoredTimes } from "#contract/channel-limits.ts";
import { callTimes } from "./call-times.ts";
import { type Mask, maskOf, putIn } from "./key-mask.ts";
import { AliasTable } from "./key-weights.ts";
import type { LiveChannel } from "./live-channel.ts";
import { routeWith } from "./proxies.ts";

/** More keys than this are spread over so many buckets: a conversation then asks one bucket instead of all (requirements C28). */
const BUCKETS = 64;
/** So many buckets are asked one after the other before the keys that may be free are gathered. */
const NEAR = 4;

/** What a key is opened from. */
export interface SealedKey extends StoredTimes {
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
  /** Here too: of ten thousand keys each step away from the key is a miss of the processor's cache. */
  readonly id: number;
  readonly row: SealedKey;
  readonly models: ReadonlySet<string> | undefined;
  inFlight = 0;
  calls = 0;
  /** Refusals of the credential, one after another. */
  refusals = 0;
  /** How often it was forbidden a model since it was last answered. */
  forbidden = 0;
  #opened: { readonly key: string; readonly proxy: string } | undefined;
  #channel: LiveChannel | undefined;
  #served: LiveChannel | undefined;

  constructor(row: SealedKey) {
    this.id = row.id;
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
    if (this.#channel === channel && this.#served !== undefined) return this.#served;
    const { key, proxy } = this.opened(open);
    const times = callTimes(this.row, channel.times);
    const route = routeWith(channel, { proxy, keyHash: this.row.key_hash, connectMs: times?.connectMs });
    const as = { ...channel, key, keyId: this.id, keyProxy: proxy, route, times, base: channel };
    this.#channel = channel;
    this.#served = as;
    return as;
  }
}

/** Of what model none was free, whether ways counted, and how often keys had come back by then. */
export interface NoneFree {
  readonly model: string;
  readonly hasWays: boolean;
  readonly returns: number;
}

/** Whether a key may be taken. */
export type Free = (place: number) => boolean;

/** Keys that a call may get, by their places among all of the channel, and what is made of them when it is first needed. */
export class KeyList {
  readonly places: Int32Array;
  readonly mask: Mask;
  /** Where one was last found free: usually it still is. */
  lastFree = 0;
  /** When none was free; undefined = that is not known. */
  none: NoneFree | undefined;
  readonly #all: readonly Key[];
  #buckets: readonly (readonly number[])[] | undefined;
  #weights: AliasTable | undefined;

  constructor(all: readonly Key[], places: readonly number[]) {
    this.places = Int32Array.from(places);
    this.mask = maskOf(all.length);
    for (const place of places) putIn(this.mask, place);
    this.#all = all;
  }

  get size(): number {
    return this.places.length;
  }

  /** A place; `random` in [0, 1). */
  weighted(random: number): number | undefined {
    this.#weights ??= new AliasTable(Array.from(this.places, (place) => this.#all[place]?.row.weight ?? 0));
    return this.places[this.#weights.draw(random)];
  }

  /**
   * The same key for a conversation as long as it is free; when it is not, only that key's conversations move. `places` = all that may be
   * free: where nearly none is, these few are looked at and not the many that are not.
   */
  stick(conversation: number, isFree: Free, places: () => Iterable<number>): number | undefined {
    // Otherwise a conversation's channel and key would be drawn by one lot.
    const number = conversation ^ 0x5bd1e995;
    if (this.size <= BUCKETS) return this.#best(this.places, number, isFree);
    const start = Math.floor(lotOf(number, 0) * BUCKETS);
    this.#buckets ??= this.#makeBuckets();
    for (let step = 0; step < NEAR; step += 1) {
      const found = this.#best(this.#buckets[(start + step) % BUCKETS] ?? [], number, isFree);
      if (found !== undefined) return found;
    }
    const left = Array.from({ length: BUCKETS }, (): number[] => []);
    for (const place of places()) left[(this.#bucketOf(place) - start + BUCKETS) % BUCKETS]?.push(place);
    for (const bucket of left) {
      const found = this.#best(bucket, number, isFree);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #makeBuckets(): number[][] {
    const buckets = Array.from({ length: BUCKETS }, (): number[] => []);
    for (const place of this.places) buckets[this.#bucketOf(place)]?.push(place);
    return buckets;
  }

  #bucketOf(place: number): number {
    return Math.floor(lotOf(0x2545f491, this.#all[place]?.id ?? 0) * BUCKETS);
  }

  /** Rendezvous hashing: each key draws a lot from the conversation's number and its own, and the least wins. */
  #best(places: Iterable<number>, conversation: number, isFree: Free): number | undefined {
    let winner: number | undefined;
    let least = 1;
    for (const place of places) {
      const lot = lotOf(conversation, this.#all[place]?.id ?? 0);
      if (lot >= least || !isFree(place)) continue;
      least = lot;
      winner = place;
    }
    return winner;
  }
}

/** Between 0 and 1, neither of them, as good as chance for every pair: two rounds of multiplying and folding (Wellons' lowbias32). */
function lotOf(conversation: number, id: number): number {
  const folded = fold(Math.imul(id, 0x9e3779b1) ^ conversation, 16, 0x21f0aaad);
  return ((fold(fold(folded, 15, 0x735a2d97), 15, 1) >>> 0) + 0.5) / 2 ** 32;
}

function fold(value: number, bits: number, factor: number): number {
  return Math.imul(value ^ (value >>> bits), factor);
}
