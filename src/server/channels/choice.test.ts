import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { choose } from "./choice.ts";

function channel(id: number, priority: number, weight: number) {
  return { id, priority, weight };
}

/** How often each channel is chosen when chance takes every value of a fine grid. */
function shares(
  candidates: readonly ReturnType<typeof channel>[],
  tried: readonly number[] = [],
): Record<number, number> {
  const counts: Record<number, number> = {};
  for (let step = 0; step < 1000; step += 1) {
    const chosen = choose(candidates, { tried: new Set(tried), random: step / 1000 });
    if (chosen) counts[chosen.id] = (counts[chosen.id] ?? 0) + 1;
  }
  return counts;
}

describe("choose", () => {
  it("takes the highest priority, also below zero", () => {
    expect(shares([channel(1, -5, 1), channel(2, -3, 1), channel(3, -9, 100)])).toEqual({ 2: 1000 });
  });

  it("honours weight", () => {
    expect(shares([channel(1, 0, 1), channel(2, 0, 3), channel(3, -1, 9)])).toEqual({ 1: 250, 2: 750 });
  });

  it("chooses evenly when all weights are zero", () => {
    expect(shares([channel(1, 0, 0), channel(2, 0, 0), channel(3, 0, 0), channel(4, 0, 0)])).toEqual({
      1: 250,
      2: 250,
      3: 250,
      4: 250,
    });
  });

  it("keeps a zero weight for when the others failed", () => {
    const candidates = [channel(1, 0, 0), channel(2, 0, 5), channel(3, -1, 5)];
    expect(shares(candidates)).toEqual({ 2: 1000 });
    expect(shares(candidates, [2])).toEqual({ 1: 1000 });
    expect(shares(candidates, [2, 1])).toEqual({ 3: 1000 });
    expect(shares(candidates, [1, 2, 3])).toEqual({});
  });

  it("passes over a channel whose circuit is open, until no other is left", () => {
    const candidates = [channel(1, 9, 1), channel(2, 0, 1)];
    const isOpen = (id: number) => id === 1;
    expect(choose(candidates, { tried: new Set(), random: 0, isOpen })?.id).toBe(2);
    expect(choose(candidates, { tried: new Set([2]), random: 0, isOpen })?.id).toBe(1);
  });

  it("keeps a conversation on one channel, and spreads conversations by weight", () => {
    const candidates = [channel(1, 0, 1), channel(2, 0, 3), channel(3, 0, 0), channel(4, -1, 9)];
    const counts = new Map<number, number>();
    for (let conversation = 0; conversation < 4_000; conversation += 1) {
      const chosen = new Set(
        [0, 0.3, 0.99].map((random) => choose(candidates, { tried: new Set(), random, conversation })?.id),
      );
      expect(chosen.size).toBe(1);
      for (const id of chosen) counts.set(id ?? 0, (counts.get(id ?? 0) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted()).toEqual([1, 2]);
    expect(counts.get(2)).toBeGreaterThan(2_850);
    expect(counts.get(2)).toBeLessThan(3_150);
  });

  it("moves only the conversations of a channel that cannot be had, and brings them back", () => {
    const candidates = [1, 2, 3, 4].map((id) => channel(id, 0, 0));
    const isOpen = (id: number) => id === 3;
    for (let conversation = 0; conversation < 1_000; conversation += 1) {
      const one = { tried: new Set<number>(), random: 0, conversation };
      const home = choose(candidates, one)?.id;
      const now = choose(candidates, { ...one, isOpen })?.id;
      if (home === 3) expect(now).not.toBe(3);
      else expect(now).toBe(home);
      const after = choose(candidates, { ...one, tried: new Set([home ?? 0]) })?.id;
      expect(after).not.toBe(home);
    }
  });

  it("never chooses a channel twice and, asked again and again, tries each once, tier by tier", () => {
    const anyChannel = fc.record({ priority: fc.integer({ min: -2, max: 2 }), weight: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.array(anyChannel, { maxLength: 8 }),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
          minLength: 9,
          maxLength: 9,
        }),
        fc.option(fc.nat(), { nil: undefined }),
        (list, chance, conversation) => {
          const candidates = list.map(({ priority, weight }, id) => channel(id, priority, weight));
          const tried = new Set<number>();
          const priorities: number[] = [];
          for (const random of chance) {
            const chosen = choose(candidates, { tried, random, conversation });
            if (chosen === undefined) break;
            expect(tried.has(chosen.id)).toBe(false);
            tried.add(chosen.id);
            priorities.push(chosen.priority);
          }
          expect(tried.size).toBe(candidates.length);
          expect(priorities).toEqual(priorities.toSorted((a, b) => b - a));
        },
      ),
    );
  });
});
