// Counts how calls went, by hour, and stores the counts in bundles. Telemetry: a killed process loses what it had not stored
// yet, which money never is. A request costs a few additions in memory.

import type { ChannelFailed, RelayDone } from "#server/events.ts";
import type { TrafficHoursTable } from "#server/store/tables.ts";
import { addTraffic } from "#server/store/traffic.ts";
import type { Tools } from "#server/tools.ts";

export interface Traffic {
  /** Stores what was counted since the last time. Never throws. */
  flush(): Promise<void>;
  /** Stores what is left and stops counting. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;
const HOUR_SEC = 3_600;

type Scope = TrafficHoursTable["scope"];

export function createTraffic({ db, clock, events }: Pick<Tools, "db" | "clock" | "events">): Traffic {
  let counted = new Map<string, TrafficHoursTable>();

  function rowOf(scope: Scope, id: number): TrafficHoursTable {
    const nowSec = clock.seconds();
    const hour = nowSec - (nowSec % HOUR_SEC);
    const key = `${scope} ${id} ${hour}`;
    const row = counted.get(key) ?? { scope, id, hour, calls: 0, failures: 0, streams: 0, first_byte_ms: 0 };
    counted.set(key, row);
    return row;
  }

  function count(scope: Scope, id: number, call: RelayDone): void {
    const row = rowOf(scope, id);
    row.calls += 1;
    // Whose client went away got what it wanted to have.
    if (call.fault !== "" && call.fault !== "client_gone") row.failures += 1;
    else if (call.isStream && call.firstByteMs > 0) {
      row.streams += 1;
      row.first_byte_ms += call.firstByteMs;
    }
  }

  function hearRelay(call: RelayDone): void {
    // Nobody's: the key was wrong.
    if (call.userId === 0) return;
    count("all", 0, call);
    count("user", call.userId, call);
    // A failed try at a channel is counted when it fails, whatever becomes of the call.
    if (call.channelId !== 0 && (call.fault === "" || call.fault === "client_gone"))
      count("channel", call.channelId, call);
  }

  function hearFailure({ channelId }: ChannelFailed): void {
    const row = rowOf("channel", channelId);
    row.calls += 1;
    row.failures += 1;
  }

  async function flush(): Promise<void> {
    if (counted.size === 0) return;
    const rows = [...counted.values()];
    counted = new Map();
    try {
      await addTraffic(db, rows);
    } catch (error) {
      events.backgroundFailed({ task: "traffic", error });
    }
  }

  const stops = [events.onRelayDone(hearRelay), events.onChannelFailed(hearFailure)];
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    flush,
    async close() {
      clearInterval(timer);
      for (const stop of stops) stop();
      await flush();
    },
  };
}
