// Choosing among the keys of a channel: fair, in constant time, and the same key for a conversation (requirements C24, C25, C28).
import { beforeAll, describe, expect, it } from "vitest";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { keyRing, rowsOf } from "#test/worlds/key-rings.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import type { SealedKey } from "./key-list.ts";
import type { Ring } from "./key-ring.ts";
import type { KeyChoice, LiveChannel, WayRests } from "./live-channel.ts";

const world = createRelayWorld();
let channel: LiveChannel;
let opened = 0;
beforeAll(async () => {
  channel = world.ctx.candidates.byId(await world.addChannel()) ?? expect.fail("no channel");
});

function ringOf(rows: readonly SealedKey[], before?: Ring): Ring {
  return keyRing(rows, { before, onOpen: () => (opened += 1) });
}

const NOW = 1_800_000_000_000;
const choice: KeyChoice = { model: MODEL, conversation: undefined, tried: new Set<number>(), now: NOW };

/** The proxy `down` rests; a key has one when its row says so. */
const wayRests: WayRests = ({ proxies }) => (proxies[0] === "http://down:1" ? NOW + 10_000 : 0);
const MODES = ["random", "round_robin", "weighted", "least_used", "first"];

function pick(ring: Ring, mode: string, more: Partial<KeyChoice> = {}): number {
  return ring.pick({ ...channel, keyMode: mode }, { ...choice, ...more })?.keyId ?? 0;
}

function fail(ring: Ring, keyId: number, status: number, now = NOW): string {
  const called = ring.pick(
    { ...channel, keyMode: "first" },
    { ...choice, tried: new Set([...Array(10_001).keys()].filter((id) => id !== keyId)) },
  );
  const fault = statusFault({ status, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
  const failure = { model: MODEL, fault, isDisabling: status === 401, isModelAbsent: status === 404, now };
  return ring.failed(called ?? expect.fail("no key"), failure);
}

/** Chi-squared of counts against shares. */
function chiSquared(counts: readonly number[], shares: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const weights = shares.reduce((sum, share) => sum + share, 0);
  return counts.reduce((sum, count, index) => {
    const expected = (total * (shares[index] ?? 0)) / weights;
    return sum + (count - expected) ** 2 / expected;
  }, 0);
}

const PICKS = 100_000;
/** p = 0.01 of chi-squared with 9 degrees of freedom. */
const FAIR = 21.67;

describe("a fair choice", () => {
  it.each(["random", "round_robin", "least_used"])("by %s", (mode) => {
    const ring = ringOf(rowsOf(10));
    const counts = new Array<number>(10).fill(0);
    for (let round = 0; round < PICKS; round += 1) {
      const id = pick(ring, mode);
      counts[id - 1] = (counts[id - 1] ?? 0) + 1;
      ring.begin(id);
      ring.end(id);
    }
    expect(chiSquared(counts, new Array<number>(10).fill(1))).toBeLessThan(FAIR);
    if (mode === "round_robin") expect(new Set(counts)).toEqual(new Set([PICKS / 10]));
  });

  it("by weight, a weight of 0 never", () => {
    const weights = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    const ring = ringOf(rowsOf(11, (index) => ({ weight: weights[index] ?? 0 })));
    const counts = new Array<number>(11).fill(0);
    for (let round = 0; round < PICKS; round += 1) {
      const id = pick(ring, "weighted");
      counts[id - 1] = (counts[id - 1] ?? 0) + 1;
    }
    expect(counts[0]).toBe(0);
    expect(chiSquared(counts.slice(1), weights.slice(1))).toBeLessThan(FAIR);
  });

  it("prefers the key with fewer calls in flight", () => {
    const ring = ringOf(rowsOf(2));
    for (let call = 0; call < 5; call += 1) ring.begin(1);
    const ids = Array.from({ length: 200 }, () => pick(ring, "least_used"));
    expect(ids.filter((id) => id === 2).length).toBeGreaterThan(100);
  });

  it("takes the first alive key, and never one that rests while another is free", () => {
    const ring = ringOf(rowsOf(10));
    expect(pick(ring, "first")).toBe(1);
    fail(ring, 1, 429);
    expect(pick(ring, "first")).toBe(2);
    for (const mode of ["random", "round_robin", "weighted", "least_used"]) {
      for (let round = 0; round < 1_000; round += 1) expect(pick(ring, mode)).not.toBe(1);
    }
    expect(pick(ring, "first", { now: NOW + 2_001 })).toBe(1);
  });

  it("keeps to the models of the keys", () => {
    const ring = ringOf(rowsOf(20, (index) => ({ models: index < 2 ? "" : "other" })));
    for (let round = 0; round < 500; round += 1) expect(pick(ring, "random")).toBeLessThan(3);
    expect(pick(ring, "random", { tried: new Set([1, 2]) })).toBe(0);
  });
});

describe("what is told of the next choice", () => {
  const outlook = (ring: Ring, mode: string, full: readonly number[] = []) =>
    ring.outlook({ ...channel, keyMode: mode }, { model: MODEL, full: new Set(full), now: NOW, wayRests });
  const verdicts = (ring: Ring, mode: string, full: readonly number[] = []) =>
    outlook(ring, mode, full).map(({ verdict }) => verdict);

  /** Ten that can be had, in a crowd of which some rest, some have no room, and ten have another model. */
  function crowd(): { ring: Ring; full: number[] } {
    const ring = ringOf(
      rowsOf(40, (index) => ({
        weight: index % 4,
        models: index >= 30 ? "another" : "",
        proxy_sealed: index >= 1 && index < 8 ? "down" : index < 20 ? "" : "up",
      })),
    );
    for (let id = 9; id <= 15; id += 1) fail(ring, id, 404);
    for (let id = 16; id <= 30; id += 1) for (let call = 0; call < id % 5; call += 1) ring.begin(id);
    return { ring, full: [17, 20, 21, 25, 28] };
  }

  it.each(MODES)("by %s are the very odds", (mode) => {
    const { ring, full } = crowd();
    const told = outlook(ring, mode, full);
    expect(told.reduce((sum, { odds }) => sum + odds, 0)).toBeCloseTo(1, 9);
    const counts = new Array<number>(40).fill(0);
    for (let round = 0; round < PICKS; round += 1) {
      const id = pick(ring, mode, { tried: new Set(full), wayRests });
      counts[id - 1] = (counts[id - 1] ?? 0) + 1;
    }
    const met = told.filter(({ odds }) => odds > 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(PICKS);
    expect(met.reduce((sum, { id }) => sum + (counts[id - 1] ?? 0), 0)).toBe(PICKS);
    const share = chiSquared(
      met.map(({ id }) => counts[id - 1] ?? 0),
      met.map(({ odds }) => odds),
    );
    expect(share).toBeLessThan(FAIR + 8);
    // At one time or another each of them is chosen.
    expect(met.length).toBe(mode === "first" ? 1 : 11);
  });

  it("names for each key the one reason that bars it", () => {
    const ring = ringOf(rowsOf(6, (index) => ({ weight: index, models: index === 5 ? "another" : "" })));
    const free = ["weight_zero", "next", "next", "next", "next", "model"];
    expect(verdicts(ring, "weighted")).toEqual(free);
    expect(verdicts(ring, "first")).toEqual(["next", "later", "later", "later", "later", "model"]);
    fail(ring, 3, 429);
    // Draws that all meet keys which cannot be had end at any other.
    const rest = ["next", "next", "resting", "limited", "next", "model"];
    expect(verdicts(ring, "weighted", [4])).toEqual(rest);
    expect(outlook(ring, "weighted", [4])[0]?.odds).toBeLessThan(0.01);
    expect(verdicts(ring, "first", [4])).toEqual(["next", "later", "resting", "limited", "later", "model"]);
    expect(outlook(ring, "first")[2]?.rest).toEqual({ untilMs: NOW + 2_000, why: "saturated" });
    fail(ring, 3, 403);
    expect(outlook(ring, "first")[2]?.rest).toEqual({ untilMs: NOW + 10_000, why: "forbidden" });
  });

  it("where all rest is the first to return, which the choice takes too", () => {
    const ring = ringOf(rowsOf(3));
    for (const id of [1, 2, 3]) fail(ring, id, 403, NOW - 4 + id);
    expect(outlook(ring, "random").map(({ odds, verdict }) => [odds, verdict])).toEqual([
      ...[
        [1, "next"],
        [0, "resting"],
        [0, "resting"],
      ],
    ]);
    expect(pick(ring, "random")).toBe(1);
    expect(verdicts(ring, "random", [1, 2, 3])).toEqual(["limited", "limited", "limited"]);
    expect(pick(ring, "random", { tried: new Set([1, 2, 3]) })).toBe(0);
  });

  it("of ten thousand keys is told within a moment", () => {
    const ring = ringOf(rowsOf(10_000));
    for (let id = 1; id < 200; id += 2) fail(ring, id, 404);
    for (const mode of ["random", "round_robin", "weighted", "least_used"]) {
      const { user: before } = process.cpuUsage();
      expect(outlook(ring, mode)).toHaveLength(10_000);
      expect((process.cpuUsage().user - before) / 1_000, mode).toBeLessThan(500);
    }
  });
});

describe("keys behind proxies of their own, of which one rests (requirements C14)", () => {
  const rows = (count: number, isDown: (index: number) => boolean) =>
    rowsOf(count, (index) => ({ proxy_sealed: isDown(index) ? "down" : index % 2 === 0 ? "up" : "" }));
  const asked = { model: MODEL, now: NOW, wayRests };

  it("are passed over, in each mode and for a conversation, and chosen again when its rest is over", () => {
    for (const mode of MODES) {
      const ring = ringOf(rows(10, (index) => index < 9));
      const ids = (more: Partial<KeyChoice>) =>
        new Set(
          Array.from({ length: 200 }, (_, conversation) => pick(ring, mode, { conversation, ...more })),
        );
      expect(ids({ wayRests }), mode).toEqual(new Set([10]));
      expect(ids({ wayRests, conversation: undefined }), mode).toEqual(new Set([10]));
      expect(pick(ring, mode, { wayRests, tried: new Set([10]), isFreeOnly: true }), mode).toBe(0);
      // Until then another channel is called, and one of them only when there is none.
      expect(pick(ring, mode, { wayRests, tried: new Set([10]) }), mode).toBeGreaterThan(0);
      expect(ids({ wayRests, now: NOW + 10_000, conversation: undefined }).has(1), mode).toBe(true);
      expect(ids({ conversation: undefined }).has(1), mode).toBe(true);
    }
  });

  it("are all that rests where no other may be used, which is told with its end", () => {
    const ring = ringOf(rows(3, (index) => index > 0));
    expect([ring.isResting(channel, asked), ring.restOf(channel, asked)]).toEqual([false, undefined]);
    fail(ring, 1, 403);
    expect(ring.isResting(channel, asked)).toBe(true);
    expect(ring.restOf(channel, asked)).toEqual({ what: "keys", untilMs: NOW + 10_000 });
    ring.drop(1);
    expect(ring.restOf(channel, asked)).toEqual({ what: "proxy", untilMs: NOW + 10_000 });
    expect(ring.isResting(channel, { ...asked, now: NOW + 10_000 })).toBe(false);
    expect(ring.isResting(channel, { ...asked, wayRests: undefined })).toBe(false);
  });

  it("are the channel's where they have none of their own", () => {
    const behind = { ...channel, route: { ...channel.route, proxies: ["http://down:1"] } };
    const [alike, mixed] = [ringOf(rowsOf(3)), ringOf(rows(3, () => false))];
    expect(alike.restOf(behind, asked)).toEqual({ what: "proxy", untilMs: NOW + 10_000 });
    // The first and the third go another way.
    expect(mixed.isResting(behind, asked)).toBe(false);
    expect(
      mixed.pick({ ...behind, keyMode: "first" }, { ...choice, wayRests, tried: new Set([1]) })?.keyId,
    ).toBe(3);
    expect(mixed.outlook(behind, { ...asked, full: new Set() })[1]).toMatchObject({
      ...{ verdict: "resting", rest: { untilMs: NOW + 10_000, why: "proxy" } },
    });
  });

  it("of which half rest, ten thousand cost a call five microseconds at most", () => {
    const many = ringOf(rows(10_000, (index) => index < 5_000));
    const batch = (mode: string) => {
      const listed = { ...channel, keyMode: mode };
      const { user: before } = process.cpuUsage();
      for (let call = 0; call < 20_000; call += 1) {
        many.isResting(listed, asked);
        many.pick(listed, { ...choice, wayRests });
      }
      return (process.cpuUsage().user - before) / 20_000;
    };
    // The least of several: processor time, too, grows while other processes take the caches.
    for (const mode of ["random", "weighted", "least_used"])
      expect(Math.min(...Array.from({ length: 6 }, () => batch(mode))), mode).toBeLessThan(5);
  });
});

/** Both kinds together: how the kernel divides them goes in steps, and a short time may have none of one. Unit: µs. */
function processorUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

describe("ten thousand keys", () => {
  it("are chosen from as quickly as ten, and opened only when they are used", () => {
    opened = 0;
    const many = ringOf(rowsOf(10_000));
    const few = ringOf(rowsOf(10));
    expect(opened).toBe(0);
    const batch = (ring: Ring, mode: string) => {
      // One channel for all calls, as the relay has it: what a key is as this channel is made once.
      const listed = { ...channel, keyMode: mode };
      for (let round = 0; round < 100_000; round += 1) ring.pick(listed, choice);
      const before = processorUs();
      for (let round = 0; round < 20_000; round += 1) ring.pick(listed, choice);
      return (processorUs() - before) / 20_000;
    };
    // The least of several: processor time, too, grows while other processes take the caches.
    const cost = (ring: Ring, mode: string) =>
      Math.min(...Array.from({ length: 5 }, () => batch(ring, mode)));
    for (const mode of MODES) {
      let ratio = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 6 && ratio >= 2; round += 1) ratio = cost(many, mode) / cost(few, mode);
      expect(ratio, mode).toBeLessThan(2);
    }
  });

  it("are read again without opening one that is known", () => {
    const many = ringOf(rowsOf(10_000));
    const open = (ring: Ring) => {
      opened = 0;
      for (let round = 0; round < 10_001; round += 1) pick(ring, "round_robin");
      return opened;
    };
    expect(open(many)).toBe(10_000);
    const start = process.cpuUsage().user;
    const again = ringOf(rowsOf(10_000), many);
    expect((process.cpuUsage().user - start) / 1_000).toBeLessThan(200);
    expect(open(again)).toBe(0);
    // A new key and a replaced one are opened, and no other.
    const changed = (index: number) => (index === 4_711 ? { key_sealed: "v1:another" } : {});
    expect(open(ringOf(rowsOf(10_001, changed), again))).toBe(2);
  });

  it("that all rest are known to in constant time, and the first to return is taken", () => {
    const ring = ringOf(rowsOf(3));
    for (const id of [1, 2]) fail(ring, id, 404);
    expect(ring.isResting(channel, { model: MODEL, now: NOW })).toBe(false);
    fail(ring, 3, 403);
    expect(ring.isResting(channel, { model: MODEL, now: NOW })).toBe(true);
    expect(ring.isResting(channel, { model: "another model", now: NOW })).toBe(false);
    expect(pick(ring, "random")).toBe(3);
    expect(pick(ring, "random", { isFreeOnly: true })).toBe(0);
    expect(ring.isResting(channel, { model: MODEL, now: NOW + 10_001 })).toBe(false);
  });
});

describe("a conversation", () => {
  it.each([7, 64, 65, 1_000, 10_000])(
    "keeps its key among %d; a rest moves only that key's, and back",
    (count) => {
      const ring = ringOf(rowsOf(count));
      const conversations = Array.from(
        { length: 1_000 },
        (_, index) => Math.imul(index + 1, 0x9e3779b1) >>> 0,
      );
      const keysNow = () => conversations.map((conversation) => pick(ring, "random", { conversation }));
      const first = keysNow();
      for (let turn = 1; turn < 50; turn += 1) expect(keysNow()).toEqual(first);
      // Spread, not heaped.
      expect(new Set(first).size).toBeGreaterThan(Math.min(count, 1_000) / 3);
      const resting = first[0] ?? 0;
      fail(ring, resting, 429);
      const moved = keysNow();
      for (const [index, id] of moved.entries()) {
        if (first[index] === resting) expect(id).not.toBe(resting);
        else expect(id).toBe(first[index]);
      }
      ring.answered(resting, MODEL);
      expect(keysNow()).toEqual(first);
    },
  );
});
