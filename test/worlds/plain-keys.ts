// What a ring of keys should know, kept in the plainest way: each key is looked at for every question.
import type { SealedKey } from "#server/channels/key-list.ts";
import type { WayRests } from "#server/channels/live-channel.ts";
import { rowsOf } from "./key-rings.ts";

const ALL_MODELS = "";
/** No key rests longer. */
const LONGEST_MS = 600_000;

export class PlainKeys {
  /** Unit: ms since 1970. */
  now: number;
  readonly gone = new Set<number>();
  readonly #proxies: readonly string[];
  /** How often each was replaced. */
  readonly #seals: number[];
  readonly #down = new Map<string, number>();
  readonly #rests = new Map<number, Map<string, number>>();
  readonly #refusals = new Map<number, number>();

  /** `proxies` = of each key its own; "" = none. */
  constructor(now: number, proxies: readonly string[]) {
    this.now = now;
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
    if (status === 0) {
      if (this.proxyOf(id) !== "") this.#rest(id, ALL_MODELS, 10_000);
    } else if (status === 429) this.#rest(id, model, 2_000);
    else this.#refuse(id, status, model);
  }

  #refuse(id: number, status: number, model: string): void {
    const refusals = (this.#refusals.get(id) ?? 0) + 1;
    this.#refusals.set(id, refusals);
    if (status === 404) this.#rest(id, model, LONGEST_MS);
    else if (status === 403) this.#rest(id, model, refusals >= 3 ? LONGEST_MS : 10_000);
    else if (refusals >= 3) {
      this.#refusals.set(id, 0);
      this.#rest(id, ALL_MODELS, LONGEST_MS);
    }
  }

  #rest(id: number, model: string, ms: number): void {
    this.#rests.set(id, (this.#rests.get(id) ?? new Map<string, number>()).set(model, this.now + ms));
  }

  answer(id: number): void {
    this.#refusals.delete(id);
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
    for (const rests of this.#rests.values())
      for (const [model, until] of rests) if (until <= this.now) rests.delete(model);
  }

  failWay(proxy: string, ms: number): void {
    this.#down.set(proxy, Math.max(this.#wayUntil(proxy), this.now + ms));
  }

  healWay(proxy: string): void {
    this.#down.delete(proxy);
    // So long it may stay unnoticed.
    this.wait(120);
  }

  /** What was set before the clock stepped back is not to last for ever (requirements F08). */
  stepBack(ms: number): void {
    this.now -= ms;
    if (ms < 1_000) return;
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
