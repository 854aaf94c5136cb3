// Coordination inside one process: the engine for SQLite.
import type { Clock } from "#server/clock.ts";
import type { Coord, Counted, CountedEvent } from "./coord.ts";
import { countEvent, ExpiringKeys, uncountEvent } from "./expiring-keys.ts";
import { Subscriptions } from "./subscriptions.ts";

export function createMemoryCoord(deps: { clock: Clock; onError?: (error: unknown) => void }): Coord {
  const { clock } = deps;
  const subscriptions = new Subscriptions(deps.onError ?? (() => undefined));
  const limits = new ExpiringKeys();
  const seen = new ExpiringKeys();
  const locked = new Set<string>();
  const held = new Map<string, number>();
  function count({ key, windowMs, limit, worth }: CountedEvent, nowMs: number): Counted {
    if (limit <= 0) return { allowed: true, retryAfterMs: 0, fullAfterMs: 0 };
    const waitMs = countEvent(limits, key, { windowMs, limit, worth, nowMs });
    const fullMs = limits.get(key, { nowMs, longestMs: windowMs }) ?? nowMs;
    return { allowed: waitMs === 0, retryAfterMs: waitMs, fullAfterMs: fullMs - nowMs };
  }
  return {
    publish(topic, payload) {
      subscriptions.deliver(topic, payload);
      return Promise.resolve();
    },
    subscribe: (topic, handler) => subscriptions.add(topic, handler),
    async lock(name, work) {
      if (locked.has(name)) return undefined;
      locked.add(name);
      try {
        return await work();
      } finally {
        locked.delete(name);
      }
    },
    isLocked: (name) => Promise.resolve(locked.has(name)),
    count: (key, windowMs, limit, worth = 1) =>
      Promise.resolve(count({ key, windowMs, limit, worth }, clock.now())),
    countEach(events) {
      const nowMs = clock.now();
      const counted: Counted[] = [];
      for (const event of events) {
        const one = count(event, nowMs);
        counted.push(one);
        if (!one.allowed) break;
      }
      return Promise.resolve(counted);
    },
    uncount(key, windowMs, limit, worth) {
      if (limit > 0) uncountEvent(limits, key, { windowMs, limit, worth, nowMs: clock.now() });
      return Promise.resolve();
    },
    hold(key, limit) {
      const taken = held.get(key) ?? 0;
      if (limit > 0 && taken >= limit) return Promise.resolve(undefined);
      held.set(key, taken + 1);
      let isHeld = true;
      return Promise.resolve(() => {
        if (!isHeld) return;
        isHeld = false;
        const left = (held.get(key) ?? 1) - 1;
        if (left > 0) held.set(key, left);
        else held.delete(key);
      });
    },
    fullAfter(keys) {
      const nowMs = clock.now();
      const ahead = (key: string) => limits.get(key, { nowMs, longestMs: Number.POSITIVE_INFINITY }) ?? nowMs;
      const counted = keys.map((key) => [key, ahead(key) - nowMs] as const);
      return Promise.resolve(new Map(counted.filter(([, ms]) => ms > 0)));
    },
    heldOf: (keys) => Promise.resolve(new Map(keys.map((key) => [key, held.get(key) ?? 0]))),
    remember(key, ttlMs) {
      const nowMs = clock.now();
      if (seen.get(key, { nowMs, longestMs: ttlMs }) !== undefined) return Promise.resolve(false);
      seen.set(key, nowMs + ttlMs, nowMs);
      return Promise.resolve(true);
    },
    close: () => Promise.resolve(),
  };
}
