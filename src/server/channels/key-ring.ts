// The keys of a channel that has several: which one a call gets, whose fault a failure is (requirements C24, C25, C26, C28). Loaded only where a
// channel has several. Everything is kept in this process; the only truth is the table.

import type { Key, KeyList, OpenKey, SealedKey } from "./key-list.ts";
import { isIn } from "./key-mask.ts";
import { DRAWS, type Drawn, oddsOfKeys } from "./key-odds.ts";
import { ALL_MODELS, circle, KeyPool, type Look, restAt } from "./key-pool.ts";
import type {
  KeyAsked,
  KeyChoice,
  KeyFailure,
  KeyOutlook,
  KeyRing,
  KeyState,
  LiveChannel,
  RingRest,
} from "./live-channel.ts";
import { hasOwnWay } from "./proxies.ts";

/** Refusals of the credential one after another that end a key (requirements R26). */
const REFUSALS = 3;
/** A key that was refused, or may not use a model, rests so long; refused at first, for a moment. */
const ENDED_MS = 600_000;
const REFUSED_MS = 10_000;
const SATURATED_MS = 2_000;
const PROXY_MS = 10_000;
/** So many keys that are saturated within this time make the channel saturated. */
const CROWD = 3;
const CROWD_MS = 2_000;
const NONE_TRIED: ReadonlySet<number> = new Set();

export class Ring implements KeyRing {
  readonly version: number;
  readonly #pool: KeyPool;
  readonly #open: OpenKey;
  readonly #random: () => number;
  readonly #onUnreadable: (keyId: number, error: unknown) => void;
  /** Model → the last keys that said that they are saturated, and when (ms since 1970). */
  readonly #saturated = new Map<string, Map<number, number>>();
  #turn: number;

  constructor(parts: {
    version: number;
    rows: readonly SealedKey[];
    before: Ring | undefined;
    open: OpenKey;
    onUnreadable: (keyId: number, error: unknown) => void;
    /** In [0, 1); only tests replace chance. */
    random?: () => number;
  }) {
    const { version, rows, before, open, onUnreadable, random = Math.random } = parts;
    this.version = version;
    this.#random = random;
    this.#turn = Math.floor(random() * 1_000_000);
    this.#open = open;
    this.#onUnreadable = onUnreadable;
    this.#pool = new KeyPool(rows, before === undefined ? undefined : before.#pool, open);
  }

  /** The keys that were opened, for what has to know secrets. */
  *opened(): Iterable<string> {
    for (const key of this.#pool.keys()) if (key.isOpened) yield key.opened(this.#open).key;
  }

  get enabled(): number {
    return this.#pool.size;
  }

  get ids(): number[] {
    return this.#pool.ids;
  }

  pick(channel: LiveChannel, choice: KeyChoice): LiveChannel | undefined {
    for (;;) {
      const key = this.#choose(channel, choice);
      const as = key && this.#as(key, channel);
      if (key === undefined || as !== undefined) return as;
    }
  }

  first(channel: LiveChannel): LiveChannel | undefined {
    for (const key of this.#pool.keys()) {
      const as = this.#as(key, channel);
      if (as !== undefined) return as;
    }
    return undefined;
  }

  isAsCalled(called: LiveChannel): boolean {
    const key = this.#pool.find(called.keyId);
    if (key === undefined) return false;
    const { key: text, proxy } = key.opened(this.#open);
    return text === called.key && proxy === called.keyProxy;
  }

  begin(keyId: number): void {
    const key = this.#pool.find(keyId);
    if (key === undefined) return;
    key.inFlight += 1;
    key.calls += 1;
  }

  end(keyId: number): void {
    const key = this.#pool.find(keyId);
    if (key !== undefined) key.inFlight = Math.max(0, key.inFlight - 1);
  }

  answered(keyId: number, model: string): void {
    const key = this.#pool.find(keyId);
    if (key !== undefined) {
      key.refusals = 0;
      key.forbidden = 0;
    }
    if (this.#saturated.size > 0) this.#saturated.delete(model);
    this.#pool.wake(keyId, model);
  }

  failed(called: LiveChannel, failure: KeyFailure): "channel" | "key" | "ended" {
    const { fault, now } = failure;
    const key = this.#pool.find(called.keyId);
    if (key === undefined) return "key";
    if (fault.blame === "proxy") return this.#unreached(called, failure);
    const { upstreamStatus: status } = fault;
    // Keys differ in the models they may use.
    const isBarred = status === 403 || (status === 404 && failure.isModelAbsent);
    const isRefused = fault.blame === "credential" && status !== 429 && !isBarred;
    if (failure.isDisabling || isRefused) return this.#refused(key, now);
    // An answer that does not refuse the key ends the row of those that did.
    if (status !== 0) key.refusals = 0;
    if (status === 429) return this.#crowded(key, failure) ? "channel" : "key";
    return isBarred ? this.#barred(key, failure) : "channel";
  }

  isResting(channel: LiveChannel, asked: KeyAsked): boolean {
    const { now, wayRests } = asked;
    const list = this.#pool.list(asked.model);
    if (list.size === 0) return true;
    const isAlike = this.#pool.isAlike(channel, asked);
    if (isAlike && wayRests !== undefined && wayRests(channel.route) > now) return true;
    if (isAlike && !this.#pool.hasRests) return false;
    const found = this.#pool.next(this.#pool.look(channel, asked), list.lastFree, NONE_TRIED);
    if (found !== undefined) list.lastFree = found;
    return found === undefined;
  }

  restOf(channel: LiveChannel, asked: KeyAsked): RingRest | undefined {
    if (!this.isResting(channel, asked)) return undefined;
    const look = this.#pool.look(channel, asked);
    const all = look.ways === undefined ? (asked.wayRests?.(channel.route) ?? 0) : 0;
    if (all > asked.now) return { what: "proxy", untilMs: all };
    const rests = Array.from(look.list.places, (place) => restAt(look, place));
    const first = Math.min(...rests.map((rest) => rest?.untilMs ?? 0));
    const isProxies = rests.length > 0 && rests.every((rest) => rest?.why === "proxy");
    return { what: isProxies ? "proxy" : "keys", untilMs: rests.length === 0 ? 0 : first };
  }

  state(keyId: number, now: number, model?: string): KeyState {
    const inFlight = this.#pool.find(keyId)?.inFlight ?? 0;
    return { inFlight, restsUntilMs: this.#pool.restsUntil(keyId, now, model) };
  }

  outlook(channel: LiveChannel, asked: KeyAsked & { full: ReadonlySet<number> }): KeyOutlook[] {
    const { full } = asked;
    const look = this.#pool.look(channel, asked);
    const odds = this.#oddsOf(channel.keyMode, look, full);
    return this.#pool.ids.map((id) => {
      const place = this.#pool.placeOf(id);
      const share = odds.get(place) ?? 0;
      const rest = restAt(look, place);
      const told = { id, odds: share, rest };
      if (!isIn(look.list.mask, place)) return { ...told, verdict: "model" };
      if (share > 0) return { ...told, verdict: "next" };
      if (full.has(id)) return { ...told, verdict: "limited" };
      if (rest !== undefined) return { ...told, verdict: "resting" };
      return { ...told, verdict: channel.keyMode === "first" ? "later" : "weight_zero" };
    });
  }

  drop(keyId: number): void {
    this.#pool.drop(keyId);
  }

  /** Its proxy failed: the key's failure where no other key goes the same way, else the channel is passed over. */
  #unreached(called: LiveChannel, { fault, now }: KeyFailure): "channel" | "key" {
    if (!hasOwnWay(called, called.keyProxy)) return "channel";
    this.#pool.rest(called.keyId, ALL_MODELS, { ms: PROXY_MS, why: "proxy", now });
    // Other keys, as other users of the channel's proxy, find nothing at its address either.
    return called.keyProxy === "" && fault.isProxyGone === true ? "channel" : "key";
  }

  #refused(key: Key, now: number): "key" | "ended" {
    key.refusals += 1;
    if (key.refusals < REFUSALS) return "key";
    key.refusals = 0;
    this.#pool.rest(key.id, ALL_MODELS, { ms: ENDED_MS, why: "refused", now });
    return "ended";
  }

  /** It may not use the model. Moderation says 403 too, so one alone says little. */
  #barred(key: Key, { model, fault, now }: KeyFailure): "key" {
    const isAbsent = fault.upstreamStatus === 404;
    if (!isAbsent) key.forbidden += 1;
    const ms = isAbsent || key.forbidden >= REFUSALS ? ENDED_MS : REFUSED_MS;
    this.#pool.rest(key.id, model, { ms, why: isAbsent ? "model_absent" : "forbidden", now });
    return "key";
  }

  /** A saturated key rests; several at once are the channel's saturation. */
  #crowded(key: Key, { model, fault, now }: KeyFailure): boolean {
    this.#pool.rest(key.id, model, { ms: fault.retryAfterMs || SATURATED_MS, why: "saturated", now });
    const saturated = this.#saturated.get(model) ?? new Map<number, number>();
    saturated.delete(key.id);
    this.#saturated.set(model, saturated.set(key.id, now));
    // The latest are enough to tell a crowd: the oldest comes first.
    for (const [id, at] of saturated) if (at < now - CROWD_MS || saturated.size > CROWD) saturated.delete(id);
    return saturated.size >= CROWD;
  }

  /** The channel with a key; undefined = it cannot be read, and is out from now on. */
  #as(key: Key, channel: LiveChannel): LiveChannel | undefined {
    try {
      return key.as(channel, this.#open);
    } catch (error) {
      this.#onUnreadable(key.id, error);
      this.drop(key.id);
      return undefined;
    }
  }

  /** By place how often each key is chosen next; one that is not in here never is. */
  #oddsOf(mode: string, look: Look, full: ReadonlySet<number>): ReadonlyMap<number, number> {
    const places = [...look.list.places];
    const isFree = places.map((place) => this.#pool.isFree(look, place, full));
    if (!isFree.includes(true)) {
      const soonest = this.#pool.soonest(look, full);
      return new Map(soonest === undefined ? [] : [[soonest, 1]]);
    }
    const drawn = places.flatMap((place) => this.#pool.at(place) ?? []).map(drawnBy);
    const shares = oddsOfKeys(mode, drawn, (at) => isFree[at] === true);
    return new Map(places.map((place, at) => [place, shares[at] ?? 0]));
  }

  #choose(channel: LiveChannel, choice: KeyChoice): Key | undefined {
    const look = this.#pool.look(channel, choice);
    const free = this.#freePlace(channel.keyMode, look, choice);
    const place =
      free === undefined && choice.isFreeOnly !== true ? this.#pool.soonest(look, choice.tried) : free;
    return place === undefined ? undefined : this.#pool.at(place);
  }

  #freePlace(mode: string, look: Look, { conversation, tried }: KeyChoice): number | undefined {
    const { list } = look;
    if (mode === "first") return this.#pool.next(look, 0, tried);
    if (this.#pool.isNone(look)) return undefined;
    const isFree = (place: number) => this.#pool.isFree(look, place, tried);
    if (conversation !== undefined) return list.stick(conversation, isFree, () => circle(look, 0));
    for (let draw = 0; draw < DRAWS && list.size > 0; draw += 1) {
      const place = this.#draw(mode, list);
      if (place !== undefined && isFree(place)) return place;
    }
    return this.#pool.next(look, this.#any(list) ?? 0, tried);
  }

  #any({ places }: KeyList): number | undefined {
    return places[Math.floor(this.#random() * places.length)];
  }

  #draw(mode: string, list: KeyList): number | undefined {
    if (mode === "round_robin") {
      this.#turn += 1;
      return list.places[this.#turn % list.size];
    }
    if (mode === "weighted") return list.weighted(this.#random());
    if (mode !== "least_used") return this.#any(list);
    const [one, other] = [this.#any(list), this.#any(list)];
    if (one === undefined || other === undefined) return one;
    return this.#isBusier(one, other) ? other : one;
  }

  #isBusier(place: number, than: number): boolean {
    const [one, other] = [this.#pool.at(place), this.#pool.at(than)];
    if (one === undefined || other === undefined) return false;
    return (one.inFlight - other.inFlight || one.calls - other.calls) > 0;
  }
}

function drawnBy({ row, inFlight, calls }: Key): Drawn {
  return { weight: row.weight, inFlight, calls };
}
