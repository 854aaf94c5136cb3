// Choosing among the keys of a channel: fair, in constant time, and the same key for a conversation (requirements C24, C25, C28).
import { beforeAll, describe, expect, it } from "vitest";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import type { SealedKey } from "./key-list.ts";
import { Ring } from "./key-ring.ts";
import type { KeyChoice, LiveChannel } from "./live-channel.ts";

const world = createRelayWorld();
let channel: LiveChannel;
let opened = 0;
beforeAll(async () => {
  channel = world.ctx.candidates.byId(await world.addChannel()) ?? expect.fail("no channel");
});

function rowsOf(count: number, change: (index: number) => Partial<SealedKey> = () => ({})): SealedKey[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    key_hash: `hash-of-key-${index + 1}-${"h".repeat(30)}`,
    key_sealed: `v1:${"s".repeat(90)}${index + 1}`,
    proxy_sealed: "",
    weight: 1,
    models: "",
    ...change(index),
  }));
}

function ringOf(rows: readonly SealedKey[], before?: Ring): Ring {
  const open = (row: SealedKey) => {
    opened += 1;
    return { key: `sk-${row.id}`, proxy: "" };
  };
  return new Ring({ version: 1, rows, before, open, onUnreadable: () => expect.fail("all can be read") });
}

const NOW = 1_800_000_000_000;
const choice: KeyChoice = { model: MODEL, conversation: undefined, tried: new Set<number>(), now: NOW };

function pick(ring: Ring, mode: string, more: Partial<KeyChoice> = {}): number {
  return ring.pick({ ...channel, keyMode: mode }, { ...choice, ...more })?.keyId ?? 0;
}

function fail(ring: Ring, keyId: number, status: number, now = NOW): string {
  const called = ring.pick(
    { ...channel, keyMode: "first" },
    { ...choice, tried: new Set([...Array(200).keys()].filter((id) => id !== keyId)) },
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
/** p = 0.0001 of chi-squared with 9 degrees of freedom: a fair choice fails once in ten thousand runs. */
const FAIR = 33.72;

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

describe("ten thousand keys", () => {
  it("are chosen from as quickly as ten, and opened only when they are used", () => {
    opened = 0;
    const many = ringOf(rowsOf(10_000));
    const few = ringOf(rowsOf(10));
    expect(opened).toBe(0);
    const batch = (ring: Ring, mode: string) => {
      const { user: before } = process.cpuUsage();
      for (let round = 0; round < 20_000; round += 1) pick(ring, mode);
      return (process.cpuUsage().user - before) / 20_000;
    };
    // The least of several: processor time, too, grows while other processes take the caches.
    const cost = (ring: Ring, mode: string) => {
      batch(ring, mode);
      return Math.min(...Array.from({ length: 5 }, () => batch(ring, mode)));
    };
    for (const mode of ["random", "round_robin", "weighted", "least_used", "first"]) {
      const micros = cost(many, mode);
      expect(micros, mode).toBeLessThan(Math.max(5, 3 * cost(few, mode)));
    }
    // A rebuild opens none of them again.
    const known = opened;
    const start = process.cpuUsage().user;
    const again = ringOf(rowsOf(10_001), many);
    expect((process.cpuUsage().user - start) / 1_000).toBeLessThan(200);
    for (let round = 0; round < 20_000; round += 1) pick(again, "round_robin");
    expect(opened - known).toBeLessThanOrEqual(1 + 10_000 - Math.min(10_000, known));
  });

  it("that all rest are known to in constant time, and the first to return is taken", () => {
    const ring = ringOf(rowsOf(3));
    for (const id of [1, 2]) fail(ring, id, 404);
    expect(ring.isResting(MODEL, NOW)).toBe(false);
    fail(ring, 3, 403);
    expect(ring.isResting(MODEL, NOW)).toBe(true);
    expect(ring.isResting("another model", NOW)).toBe(false);
    expect(pick(ring, "random")).toBe(3);
    expect(pick(ring, "random", { isFreeOnly: true })).toBe(0);
    expect(ring.isResting(MODEL, NOW + 10_001)).toBe(false);
  });
});

describe("a conversation", () => {
  it.each([7, 64, 65, 1_000])("keeps its key among %d; a rest moves only that key's, and back", (count) => {
    const ring = ringOf(rowsOf(count));
    const conversations = Array.from({ length: 1_000 }, (_, index) => Math.imul(index + 1, 0x9e3779b1) >>> 0);
    const keysNow = () => conversations.map((conversation) => pick(ring, "random", { conversation }));
    const first = keysNow();
    for (let turn = 0; turn < 3; turn += 1) expect(keysNow()).toEqual(first);
    // Spread, not heaped.
    expect(new Set(first).size).toBeGreaterThan(Math.min(count, 1_000) / 3);
    const resting = first[0] ?? 0;
    if (resting >= 200) return;
    fail(ring, resting, 429);
    const moved = keysNow();
    for (const [index, id] of moved.entries()) {
      if (first[index] === resting) expect(id).not.toBe(resting);
      else expect(id).toBe(first[index]);
    }
    ring.answered(resting, MODEL);
    expect(keysNow()).toEqual(first);
  });
});

describe("whose failure it is", () => {
  it("a refused key ends after three in a row, and an answer between them starts anew", () => {
    const ring = ringOf(rowsOf(3));
    expect([fail(ring, 2, 401), fail(ring, 2, 401)]).toEqual(["key", "key"]);
    ring.answered(2, MODEL);
    expect([401, 401, 401].map((status) => fail(ring, 2, status))).toEqual(["key", "key", "ended"]);
    expect(pick(ring, "random", { tried: new Set([1, 3]), isFreeOnly: true })).toBe(0);
  });

  it("a failing server is the channel's, one saturated key the key's, three at once the channel's", () => {
    const ring = ringOf(rowsOf(9));
    expect(fail(ring, 1, 500)).toBe("channel");
    expect([fail(ring, 1, 429), fail(ring, 2, 429), fail(ring, 3, 429)]).toEqual(["key", "key", "channel"]);
    ring.answered(4, MODEL);
    expect(fail(ring, 5, 429)).toBe("key");
    expect(fail(ring, 6, 429, NOW + 5_000)).toBe("key");
    expect(fail(ring, 7, 429, NOW + 10_000)).toBe("key");
  });
});
