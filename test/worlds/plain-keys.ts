// What a ring of keys should know, kept in the plainest way: each key is looked at for every question.
import type { SealedKey } from "#server/channels/key-list.ts";
import type { WayRests } from "#server/channels/live-channel.ts";
import { rowsOf } from "./key-rings.ts";

const ALL_MODELS = "";
/** No key rests longer. */
const LONGEST_MS = 600_000;
/** So long a change of a way may stay unnoticed. */
const UNNOTICED_MS = 120;

export class PlainKeys {
  /** Unit: ms since 1970. */
  now: number;
  /** The latest time that a pause can have begun at, before the clock stepped back. */
  #latest: number;
  readonly gone = new Set<number>();
  readonly #proxies: readonly string[];
  /** How often each was replaced. */
  readonly #seals: number[];
  readonly #down = new Map<string, number>();
  readonly #rests = new Map<number, Map<string, number>>();
  readonly #refusals = new Map<number, number>();
  readonly #forbidden = new Map<number, number>();

  /** `proxies` = of each key its own; "" = none. */
  constructor(now: number, proxies: readonly string[]) {
    this.now = now;
    this.#latest = now;
    this.#proxies = proxies;
    this.#seals = proxies.map(() => 0);
  }

  rows(): SealedKey[] {
    const rows = rowsOf(this.#proxies.length, (at) => ({
      proxy_sealed: this.#proxies[at] ?? "",
      key_sealed: `seal ${at} ${this.#seals[at]}`,
    }));
    return rows.filter(({ id }) => !this.gone.has(id));
  }

  get ids(): number[] {
    return this.#proxies.flatMap((_, at) => (this.gone.has(at + 1) ? [] : [at + 1]));
  }

  proxyOf(id: number): string {
    return this.#proxies[id - 1] ?? "";
  }

  /** As `egress.restingProxies`: there is nothing to ask where no proxy failed. */
  get wayRests(): WayRests | undefined {
    return this.#down.size === 0 ? undefined : ({ proxies: [own = ""] }) => this.#wayUntil(own.slice(7, 8));
  }

  /** Status 0 = its proxy failed. */
  fail(id: number, status: number, model: string): void {
    if (status === 401) {
      this.#refuse(id);
      return;
    }
    if (status === 0) {
      if (this.proxyOf(id) !== "") this.#rest(id, ALL_MODELS, 10_000);
      return;
    }
    // Only refusals in a row end a key.
    this.#refusals.delete(id);
    if (status === 403) this.#forbid(id, model);
    else this.#rest(id, model, status === 404 ? LONGEST_MS : 2_000);
  }

  #refuse(id: number): void {
    const refusals = (this.#refusals.get(id) ?? 0) + 1;
    this.#refusals.set(id, refusals % 3);
    if (refusals === 3) this.#rest(id, ALL_MODELS, LONGEST_MS);
  }

  #forbid(id: number, model: string): void {
    const times = (this.#forbidden.get(id) ?? 0) + 1;
    this.#forbidden.set(id, times);
    this.#rest(id, model, times >= 3 ? LONGEST_MS : 10_000);
  }

  #rest(id: number, model: string, ms: number): void {
    this.#rests.set(id, (this.#rests.get(id) ?? new Map<string, number>()).set(model, this.now + ms));
  }

  answer(id: number): void {
    this.#refusals.delete(id);
    this.#forbidden.delete(id);
    this.#rests.delete(id);
  }

  replace(id: number): void {
    this.#seals[id - 1] = (this.#seals[id - 1] ?? 0) + 1;
    this.answer(id);
  }

  /** Whether it is gone: the last one stays. */
  drop(id: number): boolean {
    if (this.ids.length < 2) return false;
    this.gone.add(id);
    return true;
  }

  /** What is over is over, also when the clock steps back later. */
  wait(ms: number): void {
    this.now += ms;
    this.#latest = Math.max(this.#latest, this.now);
    for (const rests of this.#rests.values())
      for (const [model, until] of rests) if (until <= this.now) rests.delete(model);
  }

  failWay(proxy: string, ms: number): void {
    // What was unnoticed while no way was asked about.
    if (this.#down.size === 0) this.#pause();
    const before = this.#wayUntil(proxy);
    this.#down.set(proxy, Math.max(before, this.now + ms));
    // That it rests longer is unnoticed.
    if (before > 0) this.#pause();
  }

  healWay(proxy: string): void {
    this.#down.delete(proxy);
    this.#pause();
  }

  #pause(): void {
    this.wait(this.#latest + UNNOTICED_MS - this.now);
  }

  /** What was set before the clock stepped back is not to last for ever (requirements F08). */
  stepBack(ms: number): void {
    this.now -= ms;
    if (ms < 1_000) return;
    // Noticed where ways are asked about.
    if (this.#down.size > 0) this.#latest = this.now;
    for (const rests of this.#rests.values())
      for (const [model, until] of rests) if (until > this.now + LONGEST_MS) rests.delete(model);
  }

  /** 0 = it does not rest. */
  until(id: number): number {
    const own = [...(this.#rests.get(id)?.values() ?? [])].filter((until) => until > this.now);
    return Math.max(0, ...own, this.#wayUntil(this.proxyOf(id)));
  }

  #wayUntil(proxy: string): number {
    const until = this.#down.get(proxy) ?? 0;
    return until > this.now ? until : 0;
  }
}
