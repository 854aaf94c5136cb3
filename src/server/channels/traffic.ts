// Counts the outcomes of calls, by hour, and stores the counts in batches. Telemetry, not money: a killed process loses what it had
// not stored yet. A request costs a few additions in memory.

import type { ChannelFailed, RelayDone } from "#server/events.ts";
import type { TrafficHoursTable } from "#server/store/tables-logs.ts";
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

type Row = TrafficHoursTable;
type Scope = Row["scope"];

/** What was counted in an hour: scope → id → row. */
type Hour = Readonly<Record<Scope, Map<number, Row>>> & { readonly startSec: number };

/** Before the first call. */
const NO_HOUR = -1;

function newHour(startSec: number): Hour {
  return { startSec, all: new Map(), user: new Map(), channel: new Map() };
}

export function createTraffic({ db, clock, events }: Pick<Tools, "db" | "clock" | "events">): Traffic {
  let hours = new Map<number, Hour>();
  /** The hour that was counted in last, which nearly always is the one to count in. */
  let current = newHour(NO_HOUR);

  function hourNow(): Hour {
    const nowSec = clock.seconds();
    const startSec = nowSec - (nowSec % HOUR_SEC);
    if (startSec !== current.startSec) {
      current = hours.get(startSec) ?? newHour(startSec);
      hours.set(startSec, current);
    }
    return current;
  }

  function rowOf(hour: Hour, scope: Scope, id: number): Row {
    const known = hour[scope].get(id);
    if (known !== undefined) return known;
    const row = { scope, id, hour: hour.startSec, calls: 0, failures: 0, streams: 0, first_byte_ms: 0 };
    hour[scope].set(id, row);
    return row;
  }

  function count(row: Row, call: RelayDone): void {
    row.calls += 1;
    // A call whose client went away is not a failure.
    if (call.fault !== "" && call.fault !== "client_gone") row.failures += 1;
    else if (call.isStream && call.firstByteMs > 0) {
      row.streams += 1;
      row.first_byte_ms += call.firstByteMs;
    }
  }

  function hearRelay(call: RelayDone): void {
    // It belongs to no user: the key was wrong.
    if (call.userId === 0) return;
    const hour = hourNow();
    count(rowOf(hour, "all", 0), call);
    count(rowOf(hour, "user", call.userId), call);
    // A failed attempt at a channel is counted when it fails, however the call ends.
    if (call.channelId !== 0 && (call.fault === "" || call.fault === "client_gone"))
      count(rowOf(hour, "channel", call.channelId), call);
  }

  function hearFailure({ channelId }: ChannelFailed): void {
    const row = rowOf(hourNow(), "channel", channelId);
    row.calls += 1;
    row.failures += 1;
  }

  async function store(): Promise<void> {
    const rows = [...hours.values()].flatMap(({ all, user, channel }) =>
      [all, user, channel].flatMap((byId) => [...byId.values()]),
    );
    if (rows.length === 0) return;
    hours = new Map();
    current = newHour(NO_HOUR);
    try {
      await addTraffic(db, rows);
    } catch (error) {
      events.backgroundFailed({ task: "traffic", error });
    }
  }

  let storing = Promise.resolve();
  /** Waits for a store that is under way, so that `close` waits for both. */
  function flush(): Promise<void> {
    storing = storing.then(store);
    return storing;
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
