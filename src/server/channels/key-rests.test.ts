// Keys that rest are out of the choice and come back at their time: never is each key looked at for a call, and what is chosen is what a plain
// list of the keys says (requirements C14, C24).
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { proxyFailure } from "#server/egress/proxy/handshake.ts";
import { networkFault, statusFault } from "#server/upstream/errors/fault.ts";
import { channelOfKeys, keyRing, rowsOf } from "#test/worlds/key-rings.ts";
import { PlainKeys } from "#test/worlds/plain-keys.ts";
import { Ends } from "./ends.ts";
import { isIn, maskOf, nextPlace, putIn, takeOut } from "./key-mask.ts";
import type { Ring } from "./key-ring.ts";
import type { WayRests } from "./live-channel.ts";

const NOW = 1_800_000_000_000;
const MODEL = "m";
const MODES = ["random", "round_robin", "weighted", "least_used", "first"];

function fail(ring: Ring, keyId: number, status: number, now = NOW): void {
  const fault = statusFault({ status, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
  const called = { ...channelOfKeys({ keys: ring, keyMode: "first" }), keyId };
  ring.failed(called, {
    ...{ model: MODEL, fault, now },
    ...{ isDisabling: status === 401, isModelAbsent: status === 404 },
  });
}

/** Counts how often a call looks whether it has tried a key. */
class Tried extends Set<number> {
  looks = 0;
  override has(id: number): boolean {
    this.looks += 1;
    return super.has(id);
  }
}

/** How often anything is looked up while this runs. */
function lookups(act: () => void): number {
  const { get } = Map.prototype;
  let count = 0;
  const counted = {
    value(this: Map<unknown, unknown>, key: unknown) {
      count += 1;
      return get.call(this, key);
    },
    configurable: true,
    writable: true,
  };
  Object.defineProperty(Map.prototype, "get", counted);
  try {
    act();
  } finally {
    Object.defineProperty(Map.prototype, "get", { value: get, configurable: true, writable: true });
  }
  return count;
}

describe("ten thousand keys", () => {
  const COUNT = 10_000;
  const CALLS = 1_000;
  /** One call for each of some milliseconds, in each mode and of a conversation; how much was looked at for the worst of them. */
  function mostLooks(ring: Ring, wayRests?: WayRests): number {
    let most = 0;
    for (const mode of [...MODES, "conversation"]) {
      const channel = channelOfKeys({ keys: ring, keyMode: mode });
      for (let call = 0; call < CALLS; call += 1) {
        const asked = { model: MODEL, now: NOW + call, wayRests };
        const tried = new Tried();
        const conversation = mode === "conversation" ? call : undefined;
        const looked = lookups(() => {
          ring.isResting(channel, asked);
          ring.pick(channel, { ...asked, tried, conversation });
        });
        most = Math.max(most, looked + tried.looks);
      }
    }
    return most;
  }

  it("that all rest of themselves are not looked through for a call", () => {
    const ring = keyRing(rowsOf(COUNT));
    for (let id = 1; id <= COUNT; id += 1) fail(ring, id, 404, NOW + id / COUNT);
    expect(ring.isResting(channelOfKeys({ keys: ring, keyMode: "random" }), { model: MODEL, now: NOW })).toBe(
      true,
    );
    expect(mostLooks(ring)).toBeLessThan(200);
  });

  it("of which one is free are not looked through for it", () => {
    const ring = keyRing(rowsOf(COUNT));
    for (let id = 1; id <= COUNT; id += 1) if (id !== 7_777) fail(ring, id, 404);
    for (const mode of MODES) {
      const channel = channelOfKeys({ keys: ring, keyMode: mode });
      const choice = { model: MODEL, now: NOW, tried: new Set<number>() };
      for (const conversation of [undefined, 1, 2, 3])
        expect(ring.pick(channel, { ...choice, conversation })?.keyId).toBe(7_777);
    }
    expect(mostLooks(ring)).toBeLessThan(100);
  });

  it("that are all behind one proxy that rests are passed over after one question, and asked for again ten times in a second", () => {
    let asked = 0;
    const wayRests: WayRests = () => {
      asked += 1;
      return NOW + 300_000;
    };
    const ring = keyRing(rowsOf(COUNT, () => ({ proxy_sealed: "down" })));
    const channel = channelOfKeys({ keys: ring, keyMode: "random" });
    expect(ring.isResting(channel, { model: MODEL, now: NOW, wayRests })).toBe(true);
    expect(asked).toBe(1);
    expect(mostLooks(ring, wayRests)).toBeLessThan(200);
    expect(asked).toBeLessThan(10 * (MODES.length + 1) + 10);
  });

  it("that are each behind a proxy of their own that rests are asked for a few at a time", () => {
    let asked = 0;
    const wayRests: WayRests = () => {
      asked += 1;
      return NOW + 300_000;
    };
    const ring = keyRing(rowsOf(COUNT, (index) => ({ proxy_sealed: `down${index}` })));
    const channel = channelOfKeys({ keys: ring, keyMode: "random" });
    let most = 0;
    for (let call = 0; call < 3_000; call += 1) {
      const before = asked;
      const isResting = ring.isResting(channel, { model: MODEL, now: NOW + call, wayRests });
      ring.pick(channel, { model: MODEL, now: NOW + call, wayRests, tried: new Set() });
      expect(isResting).toBe(true);
      if (call > 0) most = Math.max(most, asked - before);
    }
    expect(most).toBeLessThan(100);
  });

  it("come back by proxy, each at its time", () => {
    const until = new Map([
      ["http://a:1", NOW + 20_000],
      ["http://b:1", NOW + 40_000],
    ]);
    const ring = keyRing(rowsOf(COUNT, (index) => ({ proxy_sealed: index % 2 === 0 ? "a" : "b" })));
    const channel = channelOfKeys({ keys: ring, keyMode: "random" });
    const seen = (now: number) => {
      const wayRests: WayRests = ({ proxies }) => {
        const at = until.get(proxies[0] ?? "") ?? 0;
        return at > now ? at : 0;
      };
      const asked = { model: MODEL, now, wayRests };
      if (ring.isResting(channel, asked)) return ring.restOf(channel, asked);
      const ids = Array.from(
        { length: 100 },
        () => ring.pick(channel, { ...asked, tried: new Set() })?.keyId ?? 0,
      );
      return [...new Set(ids.map((id) => id % 2))].toSorted();
    };
    expect(seen(NOW)).toEqual({ what: "proxy", untilMs: NOW + 20_000 });
    expect(seen(NOW + 19_999)).toEqual({ what: "proxy", untilMs: NOW + 20_000 });
    expect(seen(NOW + 20_000)).toEqual([1]);
    expect(seen(NOW + 39_999)).toEqual([1]);
    expect(seen(NOW + 40_000)).toEqual([0, 1]);
    // Sooner, when one of them is well before its time.
    until.set("http://a:1", NOW + 100_000).set("http://b:1", NOW + 100_000);
    expect(seen(NOW + 50_000)).toEqual({ what: "proxy", untilMs: NOW + 100_000 });
    until.delete("http://b:1");
    expect(seen(NOW + 50_200)).toEqual([0]);
  });
});

describe("a plain list of the keys", () => {
  /** The key with this number has failed, on both sides. */
  function failBoth(plain: PlainKeys, ring: Ring, id: number, status: number): void {
    if (plain.gone.has(id)) return;
    plain.fail(id, status, MODEL);
    if (status > 0) {
      fail(ring, id, status, plain.now);
      return;
    }
    const fault = networkFault(proxyFailure("proxy_refused", "403"));
    const failure = { model: MODEL, fault, isDisabling: false, isModelAbsent: false, now: plain.now };
    const called = { ...channelOfKeys({ keys: ring, keyMode: "first" }), keyId: id };
    ring.failed({ ...called, keyProxy: plain.proxyOf(id) }, failure);
  }

  /** What may happen, on both sides; returns the ring that is there then. */
  const DEEDS = {
    fail(plain, ring, { id, status }) {
      failBoth(plain, ring, id, status);
      return ring;
    },
    answer(plain, ring, { id }) {
      plain.answer(id);
      ring.answered(id, MODEL);
      return ring;
    },
    wait(plain, ring, { ms }) {
      plain.wait(ms);
      return ring;
    },
    back(plain, ring, { ms }) {
      plain.stepBack(ms);
      return ring;
    },
    down(plain, ring, { proxy, ms }) {
      plain.failWay(proxy, ms);
      return ring;
    },
    up(plain, ring, { proxy }) {
      plain.healWay(proxy);
      return ring;
    },
    drop(plain, ring, { id }) {
      if (plain.drop(id)) ring.drop(id);
      return ring;
    },
    reload(plain, ring, { id }) {
      plain.replace(id);
      return keyRing(plain.rows(), { before: ring });
    },
  } satisfies Record<string, (plain: PlainKeys, ring: Ring, deed: Deed) => Ring>;

  interface Deed {
    readonly id: number;
    readonly status: number;
    readonly ms: number;
    readonly proxy: string;
  }

  const KEYS = 12;
  const id = fc.integer({ min: 1, max: KEYS });
  const deed = fc.record({
    what: fc.constantFrom(...(Object.keys(DEEDS) as (keyof typeof DEEDS)[])), // of this very object
    id,
    status: fc.constantFrom(401, 403, 404, 429, 0),
    ms: fc.constantFrom(1, 50, 100, 2_000, 10_000, 60_000, 700_000, 3_600_000),
    proxy: fc.constantFrom("a", "b", "c"),
  });
  const wish = fc.record({
    proxies: fc.array(fc.constantFrom("", "a", "b", "c"), { minLength: KEYS, maxLength: KEYS }),
    deeds: fc.array(deed, { maxLength: 40 }),
    tried: fc.array(id, { maxLength: 3 }),
    conversation: fc.integer({ min: 0, max: 2 ** 31 }),
  });

  /** Of the keys that were not tried one that is free, the first where that is asked for; else the first to return. */
  function expectPicked(
    plain: PlainKeys,
    picked: number | undefined,
    tried: readonly number[],
    mode: string,
  ): void {
    const others = plain.ids.filter((one) => !tried.includes(one));
    const left = others.filter((one) => plain.until(one) === 0);
    if (left.length > 0) expect(mode === "first" ? left.slice(0, 1) : left).toContain(picked);
    else if (others.length === 0) expect(picked).toBeUndefined();
    else expect(plain.until(picked ?? 0)).toBe(Math.min(...others.map((one) => plain.until(one))));
  }

  test("chooses as the ring does, whatever has happened", () => {
    // One channel for all calls, as the relay has it.
    const channels = MODES.map((mode) => channelOfKeys({ keys: undefined, keyMode: mode }));
    fc.assert(
      fc.property(wish, ({ proxies, deeds, tried, conversation }) => {
        const plain = new PlainKeys(NOW, proxies);
        let ring = keyRing(plain.rows());
        for (const one of deeds) {
          ring = DEEDS[one.what](plain, ring, one);
          const asked = { model: MODEL, now: plain.now, wayRests: plain.wayRests };
          const isLeft = plain.ids.some((key) => !tried.includes(key) && plain.until(key) === 0);
          for (const channel of channels) {
            const isFree = plain.ids.some((key) => plain.until(key) === 0);
            expect(ring.isResting(channel, asked)).toBe(!isFree);
            for (const more of [{}, { conversation }]) {
              const choice = { ...asked, tried: new Set(tried), ...more };
              expectPicked(plain, ring.pick(channel, choice)?.keyId, tried, channel.keyMode);
              const free = ring.pick(channel, { ...choice, isFreeOnly: true });
              expect(free !== undefined).toBe(isLeft);
            }
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("what ends comes out in the order of its ends, whatever was taken out before", () => {
  const step = fc.record({ untilMs: fc.nat(50), isTaken: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ends = new Ends<{ untilMs: number; slot: number }>();
      const made = steps.map(({ untilMs }) => ({ untilMs, slot: 0 }));
      for (const one of made) ends.put(one);
      for (const [at, one] of made.entries()) if (steps[at]?.isTaken === true) ends.take(one);
      const left = made.filter((_, at) => steps[at]?.isTaken !== true).map(({ untilMs }) => untilMs);
      const order = left.toSorted((one, other) => one - other);
      // Of 2^k - 1 the first k are among them.
      for (const [k, first] of order.slice(0, 5).entries())
        expect(ends.soon(2 ** (k + 1) - 1).filter(({ untilMs }) => untilMs <= first).length).toBeGreaterThan(
          k,
        );
      const out: number[] = [];
      for (let { first } = ends; first !== undefined; { first } = ends) {
        out.push(first.untilMs);
        ends.take(first);
      }
      expect(out).toEqual(order);
    }),
  );
});

test("the next place of a set is that of a plain search, in a circle", () => {
  const places = fc.uniqueArray(fc.nat(129));
  fc.assert(
    fc.property(places, places, places, fc.nat(130), (all, one, other, from) => {
      const [mask, ...but] = [all, one, other].map((list) => {
        const made = maskOf(130);
        for (const place of [...list, 77]) putIn(made, place);
        if (!list.includes(77)) takeOut(made, 77);
        for (let place = 0; place < 130; place += 1) expect(isIn(made, place)).toBe(list.includes(place));
        return made;
      });
      const left = all
        .filter((place) => !one.includes(place) && !other.includes(place))
        .toSorted((a, b) => a - b);
      const found = left.find((place) => place >= from) ?? left[0] ?? -1;
      expect(nextPlace(mask ?? maskOf(0), but, from)).toBe(found);
    }),
  );
});
