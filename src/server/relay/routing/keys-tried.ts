// Which keys of several a request has tried, and whether another key of the same channel comes before another channel (requirements C26).
import type { Health } from "#server/channels/health.ts";
import type { KeyChoice, LiveChannel } from "#server/channels/live-channel.ts";
import { proxyPlaceOf } from "#server/channels/proxies.ts";

/** No key has been tried. */
const NONE: ReadonlySet<number> = new Set();
/** So many further keys of a channel are tried before another channel is. */
const MORE_KEYS = 2;
/** So many keys behind hosts that did not answer are passed over before the channel is. */
const MOST_GONE = 8;
/** No host of a proxy has failed. */
const NOWHERE: ReadonlySet<string> = new Set();

interface Asked {
  readonly model: string;
  /** What the requests of one conversation share; undefined = chance decides. */
  readonly conversation?: number | undefined;
}

/** The keys that a request has tried: after one key's fault another key of the same channel comes first (requirements C26). */
export class KeysTried {
  #tried = NONE;
  #full = NONE;
  /** Where proxies of keys should have been, and nothing answered. */
  #gone = NOWHERE;
  #more = 0;
  /** The channel that is called again with another key; 0 = none. */
  #again = 0;
  readonly #health: Pick<Health, "wayRests">;

  constructor(health: Pick<Health, "wayRests">) {
    this.#health = health;
  }

  get hasFull(): boolean {
    return this.#full.size > 0;
  }

  /** The channel with a key; itself where it has only one; undefined = no key is left. */
  choose(channel: LiveChannel, asked: Asked, now: number, isFreeOnly = false): LiveChannel | undefined {
    if (channel.keys === undefined) return channel;
    const tried = this.#full.size === 0 ? this.#tried : new Set([...this.#tried, ...this.#full]);
    const wayRests = this.#health.wayRests(channel);
    const asking = { ...asked, now, isFreeOnly, wayRests };
    const picked = channel.keys.pick(channel, { ...asking, tried });
    return picked === undefined || this.#gone.size === 0
      ? picked
      : this.#reached(picked, channel, { ...asking, tried });
  }

  /** It, or another key whose proxy is not where nothing answered; undefined = none was found among a few. */
  #reached(picked: LiveChannel, channel: LiveChannel, asking: KeyChoice): LiveChannel | undefined {
    const tried = new Set(asking.tried);
    let found: LiveChannel | undefined = picked;
    for (let passed = 0; found !== undefined && this.#gone.has(proxyPlaceOf(found.route)); passed += 1) {
      if (passed === MOST_GONE) return undefined;
      tried.add(found.keyId);
      found = channel.keys?.pick(channel, { ...asking, tried });
    }
    return found;
  }

  again(serving: readonly LiveChannel[], asked: Asked, now: number): LiveChannel | undefined {
    if (this.#again === 0) return undefined;
    const channel = serving.find(({ id }) => id === this.#again);
    return channel && this.choose(channel, asked, now, true);
  }

  /** The channel has no room, whatever key is taken. */
  leave(channelId: number): void {
    if (this.#again === channelId) this.#again = 0;
  }

  noteFull(keyId: number): void {
    this.#full = new Set(this.#full).add(keyId);
  }

  forgetFull(): void {
    this.#full = NONE;
  }

  /** Notes a failed call; `isProxyGone` = nothing answered where its proxy should be. True = another key of its channel may be tried. */
  note({ id, keyId, keys, route }: LiveChannel, isKeys: boolean, isProxyGone: boolean): boolean {
    this.#again = 0;
    if (keys === undefined) return false;
    const place = isProxyGone ? proxyPlaceOf(route) : "";
    if (place !== "") this.#gone = new Set(this.#gone).add(place);
    this.#tried = new Set(this.#tried).add(keyId);
    if (!isKeys || this.#more >= MORE_KEYS) return false;
    this.#more += 1;
    this.#again = id;
    return true;
  }
}
