// The keys of a channel that can be chosen: lists of them by model, which rest of themselves, and which are behind a proxy that rests. What rests
// is kept apart, so that no call looks at all keys. Chooses none.
import { CHANNEL_TIMES } from "#contract/channel-limits.ts";
import { Key, KeyList, type OpenKey, type SealedKey } from "./key-list.ts";
import { isIn, type Mask, nextPlace } from "./key-mask.ts";
import { LONGEST_MS, type Rest, Rests, type Returns } from "./key-rests.ts";
import { Ways } from "./key-ways.ts";
import type { KeyAsked, KeyRest, LiveChannel, WayRests } from "./live-channel.ts";
import { hasOwnWay } from "./proxies.ts";

/** Lists of keys by model are kept for so many models. */
const LISTS = 200;
export const ALL_MODELS = "";
/** Of those that come back soon so many are looked at: among them are the first five. */
const SOON = 31;
const NOTHING: readonly Rests[] = [];

/** What a choice looks at: the keys for a model, and which of them are known to rest at a moment. */
export interface Look {
  readonly model: string;
  readonly list: KeyList;
  /** Those that rest of themselves, and those behind ways that rest. */
  readonly but: readonly Mask[];
  readonly rests: readonly Rests[];
  /** undefined = ways make no difference among the keys. */
  readonly ways: Ways | undefined;
  readonly wayRests: WayRests | undefined;
}

export class KeyPool {
  readonly #open: OpenKey;
  /** In the order of their ids; one that was dropped keeps its place. */
  readonly #keys: readonly Key[];
  /** Id → place, of those that are enabled. */
  readonly #places: Map<number, number>;
  readonly #hasModels: boolean;
  readonly #hasProxies: boolean;
  /** Model → the keys that may use it; "" = all. */
  readonly #lists = new Map<string, KeyList>();
  /** Model ("" = all) → the keys that rest of themselves. */
  readonly #rests: Map<string, Rests>;
  /** undefined = no proxy has failed yet. */
  #ways: Ways | undefined;
  readonly #returns: Returns = { count: 0 };

  constructor(rows: readonly SealedKey[], before: KeyPool | undefined, open: OpenKey) {
    this.#open = open;
    this.#keys = rows.map((row) => before?.known(row) ?? new Key(row));
    this.#places = new Map(this.#keys.map(({ id }, place) => [id, place]));
    this.#hasModels = this.#keys.some(({ models }) => models !== undefined);
    this.#hasProxies = rows.some((row) => row.proxy_sealed !== "");
    this.#rests = new Map(before?.restsFor(this.#keys, this.#returns));
  }

  /** The key of a row that has not changed: it is not opened again, and its past goes on. */
  known(row: SealedKey): Key | undefined {
    const key = this.find(row.id);
    if (key === undefined) return undefined;
    const { row: old } = key;
    const isSame =
      // No two seals are alike: the same one is of the same key.
      old.key_sealed === row.key_sealed &&
      old.proxy_sealed === row.proxy_sealed &&
      old.weight === row.weight &&
      old.models === row.models &&
      CHANNEL_TIMES.every((time) => old[time] === row[time]);
    return isSame ? key : undefined;
  }

  /** What rests, of the keys that are still there unchanged, by their places among these. */
  restsFor(keys: readonly Key[], returns: Returns): [string, Rests][] {
    const places = new Map(keys.map((key, place) => [key, place]));
    return [...this.#rests].flatMap(([model, resting]): [string, Rests][] => {
      const kept = new Rests(keys.length, returns);
      for (const [old, rest] of resting.entries()) {
        const key = this.#keys[old];
        const place = key && places.get(key);
        if (place !== undefined) kept.put(place, rest, resting.now);
      }
      return kept.size === 0 ? [] : [[model, kept]];
    });
  }

  get size(): number {
    return this.#places.size;
  }

  /** In their order. */
  get ids(): number[] {
    return [...this.#places.keys()];
  }

  *keys(): Iterable<Key> {
    for (const place of this.#places.values()) {
      const key = this.#keys[place];
      if (key !== undefined) yield key;
    }
  }

  find(id: number): Key | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#keys[place];
  }

  at(place: number): Key | undefined {
    return this.#keys[place];
  }

  /** -1 = it is not enabled. */
  placeOf(id: number): number {
    return this.#places.get(id) ?? -1;
  }

  drop(id: number): void {
    if (this.#places.delete(id)) this.#lists.clear();
  }

  /** The key rests for so long, at most for the longest time; `model` "" = for all. */
  rest(id: number, model: string, { ms, why, now }: { ms: number; why: KeyRest; now: number }): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    if (!this.#rests.has(model) && this.#rests.size >= LISTS) this.#forgetRested(now);
    const rests = this.#rests.get(model) ?? new Rests(this.#keys.length, this.#returns);
    this.#rests.set(model, rests);
    rests.put(place, { untilMs: now + Math.min(ms, LONGEST_MS), why }, now);
  }

  #forgetRested(now: number): void {
    for (const [model, rests] of this.#rests) {
      rests.settle(now);
      if (rests.size === 0) this.#rests.delete(model);
    }
  }

  /** It rests no longer, for this model and for all. */
  wake(id: number, model: string): void {
    if (this.#rests.size === 0) return;
    const place = this.placeOf(id);
    for (const name of [model, ALL_MODELS]) {
      const rests = this.#rests.get(name);
      rests?.take(place);
      if (rests?.size === 0) this.#rests.delete(name);
    }
  }

  /** Until when it rests of itself for a model, undefined = for any; 0 = it does not. Unit: ms since 1970. */
  restsUntil(id: number, now: number, model?: string): number {
    const place = this.placeOf(id);
    const asked = model === undefined ? this.#rests.values() : this.#restsOf(model, now);
    const until = [...asked].map((rests) => rests.of(place)?.untilMs ?? 0);
    return Math.max(0, ...until.filter((at) => at > now));
  }

  list(model: string): KeyList {
    const name = this.#hasModels ? model : ALL_MODELS;
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    if (this.#lists.size >= LISTS) this.#lists.clear();
    const serves = (place: number) => name === ALL_MODELS || this.#keys[place]?.models?.has(name) !== false;
    const list = new KeyList(this.#keys, [...this.#places.values()].filter(serves));
    this.#lists.set(name, list);
    return list;
  }

  /** No key has a way of its own: all go the channel's way, and it is the channel that is passed over. */
  isAlike(channel: LiveChannel, { wayRests }: KeyAsked): boolean {
    return wayRests === undefined || !(this.#hasProxies || hasOwnWay(channel, ""));
  }

  get hasRests(): boolean {
    return this.#rests.size > 0;
  }

  look(channel: LiveChannel, asked: KeyAsked): Look {
    const { model, now, wayRests } = asked;
    const list = this.list(model);
    const rests = this.#rests.size === 0 ? NOTHING : this.#restsOf(model, now);
    const but = rests.map(({ mask }) => mask);
    if (this.isAlike(channel, asked)) return { model, list, but, rests, ways: undefined, wayRests };
    this.#ways ??= new Ways(this.#keys.length, this.#open, this.#returns);
    this.#ways.settle(channel, now);
    return { model, list, but: [...but, this.#ways.mask], rests, ways: this.#ways, wayRests };
  }

  #restsOf(model: string, now: number): Rests[] {
    const names = model === ALL_MODELS ? [model] : [ALL_MODELS, model];
    const found = names.flatMap((name) => this.#rests.get(name) ?? []);
    for (const rests of found) rests.settle(now);
    return found;
  }

  /** Whether a key can be had; one whose way turns out to rest is known to from now on. */
  isFree({ but, ways, wayRests }: Look, place: number, tried: ReadonlySet<number>): boolean {
    if (isInAny(but, place)) return false;
    const key = this.#keys[place];
    if (key === undefined || tried.has(key.id)) return false;
    return ways === undefined || wayRests === undefined || !ways.isResting(key, place, wayRests);
  }

  /** Whether it is known that none can be had. */
  isNone({ model, list, but, ways }: Look): boolean {
    if (but.length === 0) return list.size === 0;
    const hasWays = ways !== undefined;
    const { count: returns } = this.#returns;
    const { none } = list;
    if (none?.returns === returns && none.model === model && none.hasWays === hasWays) return true;
    if (nextPlace(list.mask, but, list.lastFree) >= 0) return false;
    list.none = { model, hasWays, returns };
    return true;
  }

  /** The first key from there on, in a circle, that can be had. */
  next(look: Look, from: number, tried: ReadonlySet<number>): number | undefined {
    if (this.isNone(look)) return undefined;
    for (const place of circle(look, from)) if (this.isFree(look, place, tried)) return place;
    return undefined;
  }

  /** Where all rest: of those that come back soon the first to return. */
  soonest(look: Look, tried: ReadonlySet<number>): number | undefined {
    const { list, rests, ways, wayRests } = look;
    const isLeft = (place: number) => isIn(list.mask, place) && !tried.has(this.#keys[place]?.id ?? 0);
    const first = ways === undefined ? firstEnd(rests) : undefined;
    const isFirst = first && restAt(look, first.place)?.untilMs === first.untilMs;
    if (isFirst === true && isLeft(first.place)) return first.place;
    const soon = rests.flatMap((some) => some.soon(SOON).map(({ place }) => place));
    // One that rests of itself may be behind a way that no call has asked about.
    if (ways !== undefined && wayRests !== undefined)
      for (const place of soon) {
        const key = this.#keys[place];
        if (key !== undefined) ways.isResting(key, place, wayRests);
      }
    // All are looked at only where the call has tried very many.
    return (
      firstOf(look, [...soon, ...(ways?.soon(SOON) ?? [])].filter(isLeft)) ??
      firstOf(look, list.places.filter(isLeft))
    );
  }
}

/** The places from there on, in a circle, of keys that are not known to rest. */
export function* circle({ list, but }: Look, from: number): Iterable<number> {
  let first = -1;
  for (let place = nextPlace(list.mask, but, from); place >= 0 && place !== first; ) {
    // One that turned out to rest is not met again.
    if (first < 0 || isInAny(but, first)) first = place;
    yield place;
    place = nextPlace(list.mask, but, place + 1);
  }
}

/** Until when the key at a place rests, of itself or behind its way, and why; undefined = it does not, as far as is known. */
export function restAt({ rests, ways }: Look, place: number): Rest | undefined {
  let longest: Rest | undefined;
  for (const some of rests) {
    const rest = some.of(place);
    if (rest !== undefined && rest.untilMs > (longest?.untilMs ?? 0)) longest = rest;
  }
  const untilMs = ways?.untilOf(place) ?? 0;
  return untilMs > (longest?.untilMs ?? 0) ? { untilMs, why: "proxy" } : longest;
}

/** What of all that rests comes back first. */
function firstEnd(rests: readonly Rests[]): Rests["first"] {
  return rests
    .flatMap(({ first }) => first ?? [])
    .reduce<Rests["first"]>((least, one) => (least && least.untilMs <= one.untilMs ? least : one), undefined);
}

function firstOf(look: Look, places: Iterable<number>): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const place of places) {
    const untilMs = restAt(look, place)?.untilMs ?? 0;
    if (untilMs >= least) continue;
    least = untilMs;
    best = place;
  }
  return best;
}

function isInAny(masks: readonly Mask[], place: number): boolean {
  return masks.some((mask) => isIn(mask, place));
}
