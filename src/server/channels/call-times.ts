// How long calls may take, as a channel and perhaps one of its keys say (requirements C41).
import type { StoredTimes } from "#contract/channel-limits.ts";
import type { CallTimes } from "#server/upstream/call/call.ts";

/** What a row says, and where it says nothing what it belongs to says; undefined = as all. */
export function callTimes(row: StoredTimes, outer?: CallTimes): CallTimes | undefined {
  const times: CallTimes = {
    connectMs: row.connect_ms || outer?.connectMs || 0,
    firstByteMs: row.first_byte_ms || outer?.firstByteMs || 0,
    idleMs: row.idle_ms || outer?.idleMs || 0,
    totalMs: row.total_ms || outer?.totalMs || 0,
  };
  return Object.values(times).some((ms) => ms > 0) ? times : undefined;
}
