// Which keys of a channel are behind a proxy that rests. All keys of one way are out of the choice together, and come back together when the way
// is asked again: never is each key looked at for a call.
import type { Route } from "#server/egress/send.ts";
import { Ends } from "./ends.ts";
import type { Key, OpenKey } from "./key-list.ts";
import { isIn, type Mask, maskOf, putIn, takeOut } from "./key-mask.ts";
import { type Returns, STEP_MS } from "./key-rests.ts";
import type { LiveChannel, WayRests } from "./live-channel.ts";
import { hasOwnWay, routeWith } from "./proxies.ts";

/**
 * So long keys behind a resting proxy may stay unused after it is well again before its time, and so much longer for each way that there is:
 * of ten thousand ways one is asked in three milliseconds.
 */
const PAUSE_MS = 100;
const PAUSE_OF_EACH_MS = 3;
/** Of keys that share a way so many are looked at where all rest: a call has tried fewer. */
const ALIKE = 5;

/** Where calls leave: keys that leave by the same proxy share one. */
interface Way {
  readonly route: Route;
  readonly places: number[];
  /** Until when it is not asked again; in `#ends` as long as it rests. */
  untilMs: number;
  slot: number;
  /** Until when it rests, as was told when it was asked; 0 = it does not rest. */
  restsUntilMs: number;
}

export class Ways {
  /** The places of those that are known to be behind a way that rests. */
  readonly mask: Mask;
  readonly #open: OpenKey;
  /** By place; what a key's way is shows when it is first looked at. */
  readonly #ofPlace: (Way | undefined)[];
  readonly #byName = new Map<string, Way>();
  readonly #ends = new Ends<Way>();
  #channel: LiveChannel | undefined;
  #now = 0;

  readonly #returns: Returns;

  /** `count` = how many places there are. */
  constructor(count: number, open: OpenKey, returns: Returns) {
    this.mask = maskOf(count);
    this.#open = open;
    this.#returns = returns;
    this.#ofPlace = new Array<Way | undefined>(count);
  }

  /** Forgets what is no longer so at this moment, or since the channel was changed. */
  settle(channel: LiveChannel, now: number): void {
    if (channel !== this.#channel) {
      if (this.#channel !== undefined && !isSameWay(this.#channel, channel)) this.#forget();
      this.#channel = channel;
    }
    if (now < this.#now - STEP_MS) for (const way of this.#ends.soon(this.#byName.size)) this.#end(way);
    this.#now = now;
    for (;;) {
      const { first } = this.#ends;
      if (first === undefined || first.untilMs > now) return;
      this.#end(first);
    }
  }

  /** Whether the key is behind a way that rests; if so, it is in the mask from now on with all that are known to share the way. */
  isResting(key: Key, place: number, wayRests: WayRests): boolean {
    if (isIn(this.mask, place)) return true;
    const way = this.#wayOf(key, place);
    // The choice itself finds out that a key cannot be read.
    if (way === undefined) return false;
    if (way.restsUntilMs === 0) {
      const untilMs = wayRests(way.route);
      if (untilMs <= this.#now) return false;
      way.restsUntilMs = untilMs;
      way.untilMs = Math.min(
        untilMs,
        this.#now + PAUSE_MS + spread(place) * PAUSE_OF_EACH_MS * this.#byName.size,
      );
      this.#ends.put(way);
      for (const member of way.places) putIn(this.mask, member);
    }
    putIn(this.mask, place);
    return true;
  }

  /** Until when a key's way rests; 0 = it does not, as far as is known. Unit: ms since 1970. */
  untilOf(place: number): number {
    return this.#ofPlace[place]?.restsUntilMs ?? 0;
  }

  /** Places behind some of the ways that are asked again soon; at most so many. */
  soon(most: number): readonly number[] {
    return this.#ends
      .soon(most)
      .flatMap(({ places }) => places.slice(0, ALIKE))
      .slice(0, most);
  }

  #wayOf(key: Key, place: number): Way | undefined {
    const known = this.#ofPlace[place];
    if (known !== undefined || this.#channel === undefined) return known;
    const route = routeOf(key, this.#channel, this.#open);
    if (route === undefined) return undefined;
    const name = route.proxies.join(" ");
    const way = this.#byName.get(name) ?? { route, places: [], untilMs: 0, slot: 0, restsUntilMs: 0 };
    this.#byName.set(name, way);
    way.places.push(place);
    this.#ofPlace[place] = way;
    return way;
  }

  #end(way: Way): void {
    this.#ends.take(way);
    way.restsUntilMs = 0;
    for (const place of way.places) takeOut(this.mask, place);
    this.#returns.count += 1;
  }

  #forget(): void {
    this.mask.fill(0);
    this.#ofPlace.fill(undefined);
    this.#byName.clear();
    this.#ends.clear();
    this.#returns.count += 1;
  }
}

/** From a half to one and a half: thousands of ways that began to rest at one moment are not asked again by one call. */
function spread(place: number): number {
  return 0.5 + ((place * 0.618_033_988_75) % 1);
}

function isSameWay(one: LiveChannel, other: LiveChannel): boolean {
  return one.proxy === other.proxy && one.type === other.type && one.baseUrl === other.baseUrl;
}

/** undefined = the key cannot be read. */
function routeOf(key: Key, channel: LiveChannel, open: OpenKey): Route | undefined {
  const { key_hash: keyHash, proxy_sealed: sealed } = key.row;
  if (!hasOwnWay(channel, sealed)) return channel.route;
  try {
    return routeWith(channel, { proxy: sealed === "" ? "" : key.opened(open).proxy, keyHash });
  } catch {
    return undefined;
  }
}
