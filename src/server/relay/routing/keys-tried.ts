// Which keys of several a request has tried, and whether another key of the same channel comes before another channel (requirements C26).
import type { LiveChannel } from "#server/channels/live-channel.ts";

/** No key has been tried. */
const NONE: ReadonlySet<number> = new Set();
/** So many further keys of a channel are tried before another channel is. */
const MORE_KEYS = 2;

interface Asked {
  readonly model: string;
  /** What the requests of one conversation share; undefined = chance decides. */
  readonly conversation?: number | undefined;
}

/** The keys that a request has tried: after one key's fault another key of the same channel comes first (requirements C26). */
export class KeysTried {
  #tried = NONE;
  #full = NONE;
  #more = 0;
  /** The channel that is called again with another key; 0 = none. */
  #again = 0;

  get hasFull(): boolean {
    return this.#full.size > 0;
  }

  /** The channel with a key; itself where it has only one; undefined = no key is left. */
  choose(channel: LiveChannel, asked: Asked, now: number, isFreeOnly = false): LiveChannel | undefined {
    if (channel.keys === undefined) return channel;
    const tried = this.#full.size === 0 ? this.#tried : new Set([...this.#tried, ...this.#full]);
    return channel.keys.pick(channel, { ...asked, tried, now, isFreeOnly });
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

  /** Notes a failed call. True = another key of its channel may be tried. */
  note({ id, keyId, keys }: LiveChannel, isKeys: boolean): boolean {
    this.#again = 0;
    if (keys === undefined) return false;
    this.#tried = new Set(this.#tried).add(keyId);
    if (!isKeys || this.#more >= MORE_KEYS) return false;
    this.#more += 1;
    this.#again = id;
    return true;
  }
}
