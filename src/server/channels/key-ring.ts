// The keys of a channel that has several: which one a call gets, which rest, whose fault a failure is (requirements C24, C25, C26, C28).
// Loaded only where a channel has several. Everything is kept in this process; the only truth is the table.

import { type Free, Key, KeyList, type OpenKey, type SealedKey } from "./key-list.ts";
import type { KeyChoice, KeyFailure, KeyRing, KeyState, LiveChannel } from "./live-channel.ts";

/** So often chance is asked before all keys are looked through. */
const DRAWS = 8;
/** Refusals of the credential one after another that end a key (requirements R26). */
const REFUSALS = 3;
/** A key that was refused, or may not use a model, rests so long; refused at first, for a moment. */
const ENDED_MS = 600_000;
const REFUSED_MS = 10_000;
const SATURATED_MS = 2_000;
const PROXY_MS = 10_000;
const LONGEST_MS = ENDED_MS;
/** So many keys that are saturated within this time make the channel saturated. */
const CROWD = 3;
const CROWD_MS = 2_000;
/** Lists of keys by model are kept for so many models. */
const LISTS = 200;
const ALL_MODELS = "";

export class Ring implements KeyRing {
  readonly version: number;
  readonly #open: OpenKey;
  readonly #onUnreadable: (keyId: number, error: unknown) => void;
  /** Enabled, in the order of their ids. */
  #enabled: Key[];
  readonly #byId: Map<number, Key>;
  readonly #hasModels: boolean;
  /** Model → the keys that may use it; "" = all. */
  readonly #lists = new Map<string, KeyList>();
  /** Model ("" = all) → key id → until when it rests. */
  readonly #rests: Map<string, Map<number, number>>;
  /** Model → the keys that said lately that they are saturated. */
  readonly #saturated = new Map<string, Map<number, number>>();
  #turn = Math.floor(Math.random() * 1_000_000);

  constructor(parts: {
    version: number;
    rows: readonly SealedKey[];
    before: Ring | undefined;
    open: OpenKey;
    onUnreadable: (keyId: number, error: unknown) => void;
  }) {
    const { version, rows, before, open, onUnreadable } = parts;
    this.version = version;
    this.#open = open;
    this.#onUnreadable = onUnreadable;
    this.#enabled = rows.map((row) => before?.known(row) ?? new Key(row));
    this.#byId = new Map(this.#enabled.map((key) => [key.row.id, key]));
    this.#hasModels = this.#enabled.some(({ models }) => models !== undefined);
    this.#rests = new Map([...(before?.restsOf(this.#byId) ?? [])].filter(([, resting]) => resting.size > 0));
  }

  /** The keys that were opened, for what has to know secrets. */
  *opened(): Iterable<string> {
    for (const key of this.#enabled) if (key.isOpened) yield key.opened(this.#open).key;
  }

  /** The key of a row that has not changed: it is not opened again, and its past goes on. */
  known(row: SealedKey): Key | undefined {
    const key = this.#byId.get(row.id);
    if (key === undefined) return undefined;
    const { row: old } = key;
    const isSame =
      // No two seals are alike: the same one is of the same key.
      old.key_sealed === row.key_sealed &&
      old.proxy_sealed === row.proxy_sealed &&
      old.weight === row.weight &&
      old.models === row.models;
    return isSame ? key : undefined;
  }

  /** What rests, of the keys that are still there unchanged. */
  restsOf(keys: ReadonlyMap<number, Key>): [string, Map<number, number>][] {
    return [...this.#rests].map(([model, resting]) => [
      model,
      new Map([...resting].filter(([id]) => keys.get(id) === this.#byId.get(id))),
    ]);
  }

  get enabled(): number {
    return this.#enabled.length;
  }

  pick(channel: LiveChannel, choice: KeyChoice): LiveChannel | undefined {
    for (;;) {
      const key = this.#choose(channel.keyMode, choice);
      if (key === undefined) return undefined;
      try {
        return key.as(channel, this.#open);
      } catch (error) {
        this.#onUnreadable(key.row.id, error);
        this.drop(key.row.id);
      }
    }
  }

  first(channel: LiveChannel): LiveChannel | undefined {
    return this.pick(
      { ...channel, keyMode: "first" },
      { model: "", conversation: undefined, tried: new Set(), now: 0 },
    );
  }

  isAsCalled(called: LiveChannel): boolean {
    const key = this.#byId.get(called.keyId);
    if (key === undefined) return false;
    const { key: text, proxy } = key.opened(this.#open);
    return text === called.key && proxy === called.keyProxy;
  }

  begin(keyId: number): void {
    const key = this.#byId.get(keyId);
    if (key === undefined) return;
    key.inFlight += 1;
    key.calls += 1;
  }

  end(keyId: number): void {
    const key = this.#byId.get(keyId);
    if (key !== undefined) key.inFlight = Math.max(0, key.inFlight - 1);
  }

  answered(keyId: number, model: string): void {
    const key = this.#byId.get(keyId);
    if (key !== undefined) key.refusals = 0;
    if (this.#saturated.size > 0) this.#saturated.delete(model);
    if (this.#rests.size === 0) return;
    for (const name of [model, ALL_MODELS]) {
      const resting = this.#rests.get(name);
      if (resting?.delete(keyId) === true && resting.size === 0) this.#rests.delete(name);
    }
  }

  failed(called: LiveChannel, failure: KeyFailure): "channel" | "key" | "ended" {
    const { model, fault, now } = failure;
    const key = this.#byId.get(called.keyId);
    if (key === undefined) return "key";
    if (fault.blame === "proxy") {
      if (called.keyProxy !== "") this.#rest(key, ALL_MODELS, PROXY_MS, now);
      return "key";
    }
    if (failure.isDisabling) return this.#refused(key, now);
    const { upstreamStatus: status } = fault;
    if (status === 429) return this.#crowded(key, failure) ? "channel" : "key";
    // Keys differ in the models they may use; moderation says 403 too, so one alone says little.
    if (status === 403 || (status === 404 && failure.isModelAbsent)) {
      key.refusals += 1;
      this.#rest(key, model, key.refusals >= REFUSALS || status === 404 ? ENDED_MS : REFUSED_MS, now);
      return "key";
    }
    return fault.blame === "credential" ? this.#refused(key, now) : "channel";
  }

  isResting(model: string, now: number): boolean {
    const keys = this.#list(model).keys;
    if (keys.length === 0) return true;
    const resting = (this.#rests.get(model)?.size ?? 0) + (this.#rests.get(ALL_MODELS)?.size ?? 0);
    if (resting < keys.length) return false;
    this.#forgetRested(now);
    return keys.every((key) => this.#until(key, model, now) > now);
  }

  state(keyId: number, now: number): KeyState {
    const until = [...this.#rests.values()].map((resting) => resting.get(keyId) ?? 0);
    return {
      inFlight: this.#byId.get(keyId)?.inFlight ?? 0,
      restsUntilMs: Math.max(0, ...until.filter((at) => at > now)),
    };
  }

  drop(keyId: number): void {
    if (!this.#byId.delete(keyId)) return;
    this.#enabled = this.#enabled.filter(({ row }) => row.id !== keyId);
    this.#lists.clear();
  }

  #refused(key: Key, now: number): "key" | "ended" {
    key.refusals += 1;
    if (key.refusals < REFUSALS) return "key";
    key.refusals = 0;
    this.#rest(key, ALL_MODELS, ENDED_MS, now);
    return "ended";
  }

  /** A saturated key rests; several at once are the channel's saturation. */
  #crowded(key: Key, { model, fault, now }: KeyFailure): boolean {
    this.#rest(key, model, fault.retryAfterMs || SATURATED_MS, now);
    const saturated = this.#saturated.get(model) ?? new Map<number, number>();
    for (const [id, at] of saturated) if (at < now - CROWD_MS) saturated.delete(id);
    this.#saturated.set(model, saturated.set(key.row.id, now));
    return saturated.size >= CROWD;
  }

  #rest(key: Key, model: string, ms: number, now: number): void {
    const resting = this.#rests.get(model) ?? new Map<number, number>();
    if (!this.#rests.has(model) && this.#rests.size >= LISTS) this.#forgetRested(now);
    this.#rests.set(model, resting.set(key.row.id, now + Math.min(ms, LONGEST_MS)));
  }

  #forgetRested(now: number): void {
    for (const [model, resting] of this.#rests) {
      for (const [id, until] of resting) if (until <= now) resting.delete(id);
      if (resting.size === 0) this.#rests.delete(model);
    }
  }

  /** Until when a key rests for a model; a time that lies too far ahead was set before the clock stepped back (requirements F08). */
  #until({ row }: Key, model: string, now: number): number {
    if (this.#rests.size === 0) return 0;
    const until = Math.max(
      this.#rests.get(model)?.get(row.id) ?? 0,
      this.#rests.get(ALL_MODELS)?.get(row.id) ?? 0,
    );
    return until > now + LONGEST_MS ? 0 : until;
  }

  #list(model: string): KeyList {
    const name = this.#hasModels ? model : ALL_MODELS;
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    if (this.#lists.size >= LISTS) this.#lists.clear();
    const serves = ({ models }: Key) => name === ALL_MODELS || models?.has(name) !== false;
    const list = new KeyList(this.#hasModels ? this.#enabled.filter(serves) : this.#enabled);
    this.#lists.set(name, list);
    return list;
  }

  #choose(mode: string, { model, conversation, tried, now, isFreeOnly }: KeyChoice): Key | undefined {
    const list = this.#list(model);
    const { keys } = list;
    const isFree: Free = (key) => !tried.has(key.row.id) && this.#until(key, model, now) <= now;
    if (mode === "first") return keys.find(isFree) ?? this.#soonest(list, { model, tried, now, isFreeOnly });
    if (conversation !== undefined) {
      const found = list.stick(conversation, isFree);
      return found ?? this.#soonest(list, { model, tried, now, isFreeOnly });
    }
    for (let draw = 0; draw < DRAWS && keys.length > 0; draw += 1) {
      const key = this.#draw(mode, list);
      if (key !== undefined && isFree(key)) return key;
    }
    const start = Math.floor(Math.random() * keys.length);
    for (let step = 0; step < keys.length; step += 1) {
      const key = keys[(start + step) % keys.length];
      if (key !== undefined && isFree(key)) return key;
    }
    return this.#soonest(list, { model, tried, now, isFreeOnly });
  }

  #draw(mode: string, list: KeyList): Key | undefined {
    const { keys } = list;
    const any = () => keys[Math.floor(Math.random() * keys.length)];
    if (mode === "round_robin") {
      this.#turn += 1;
      return keys[this.#turn % keys.length];
    }
    if (mode === "weighted") return list.weighted();
    if (mode !== "least_used") return any();
    const [one, other] = [any(), any()];
    if (one === undefined || other === undefined) return one;
    const more = one.inFlight - other.inFlight || one.calls - other.calls;
    return more <= 0 ? one : other;
  }

  /** Where all rest: the one that is the first to return. */
  #soonest(
    { keys }: KeyList,
    { model, tried, now, isFreeOnly }: Omit<KeyChoice, "conversation">,
  ): Key | undefined {
    if (isFreeOnly === true) return undefined;
    let best: Key | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const key of keys) {
      const until = this.#until(key, model, now);
      if (tried.has(key.row.id) || until >= least) continue;
      least = until;
      best = key;
    }
    return best;
  }
}
