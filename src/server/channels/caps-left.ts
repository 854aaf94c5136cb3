// What is left of the limits of channels and keys at the moment, over all nodes: by the counters that calls take from (channel-caps.ts). Takes
// nothing of any.
import type { RouteLimit } from "#contract/route.ts";
import type { Clock } from "#server/clock.ts";
import type { Limits } from "#server/limits/limits.ts";
import { stateOf } from "#server/money/limit-state.ts";
import type { Options } from "#server/options.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import type { Db } from "#server/store/db.ts";
import { findLimitRows, findWindows } from "#server/store/limits.ts";
import { countingOf, type Full, isOfDay } from "./channel-caps.ts";

export interface CapParts {
  readonly db: Db;
  readonly limits: Pick<Limits, "look">;
  readonly options: Pick<Options, "get">;
  readonly clock: Pick<Clock, "now" | "seconds">;
}

/** What a limit has. */
export interface CapState {
  readonly cap: ChannelCap;
  /** Of its amount; of calls per minute beyond 120 the part that may come at once, as a share of all. */
  readonly left: number;
  /** Set when the next call finds no room. */
  readonly full: Full | undefined;
}

/** Rounding must not make a whole one less. */
const SLACK = 1e-6;
/** Parameters of one statement. */
const AT_ONCE = 500;

/** By the id of each limit. */
export async function capStates(
  parts: CapParts,
  caps: readonly ChannelCap[],
): Promise<ReadonlyMap<number, CapState>> {
  const counted = await rateStates(
    parts,
    caps.filter((cap) => !isOfDay(cap)),
  );
  const days = await dayStates(parts, caps.filter(isOfDay));
  return new Map([...counted, ...days].map((state) => [state.cap.id, state]));
}

/** As administrators are told of them. */
export function limitsTold(
  caps: readonly ChannelCap[] | undefined,
  states: ReadonlyMap<number, CapState>,
): RouteLimit[] {
  return (caps ?? []).map(({ id, name, amount }) => ({ name, amount, left: states.get(id)?.left ?? amount }));
}

/** The first of these limits that has no room. */
export function firstFull(
  caps: readonly ChannelCap[] | undefined,
  states: ReadonlyMap<number, CapState>,
): Full | undefined {
  for (const { id } of caps ?? []) {
    const full = states.get(id)?.full;
    if (full !== undefined) return full;
  }
  return undefined;
}

function stateOfCap(cap: ChannelCap, left: number, at: { isFull: boolean; untilMs: number }): CapState {
  const of = cap.subject === "channel" ? "channel" : "key";
  const full = { kind: "full", of, name: cap.name, untilMs: at.untilMs } as const;
  return { cap, left: Math.floor(left + SLACK), full: at.isFull ? full : undefined };
}

async function rateStates({ limits, clock }: CapParts, caps: readonly ChannelCap[]): Promise<CapState[]> {
  const watched = caps.map((cap) => ({ ...countingOf(cap), cap }));
  const looked = await limits.look(watched);
  const nowMs = clock.now();
  return [...looked].map(([{ cap, limit, isHeld }, { left }]) => {
    const { burst, windowMs } = limit;
    // Slots are given back at any time.
    const untilMs = isHeld ? 0 : nowMs + ((1 - left) * windowMs) / burst;
    return stateOfCap(cap, (left * cap.amount) / burst, { isFull: left + SLACK < 1, untilMs });
  });
}

async function dayStates({ db, options, clock }: CapParts, caps: readonly ChannelCap[]): Promise<CapState[]> {
  const states: CapState[] = [];
  const moment = { userId: 0, zone: options.get("BudgetTimeZone"), nowSec: clock.seconds() };
  for (let start = 0; start < caps.length; start += AT_ONCE) {
    const some = caps.slice(start, start + AT_ONCE);
    const ids = some.map(({ id }) => id);
    const [rows, windows] = await Promise.all([findLimitRows(db, ids), findWindows(db, ids, moment.userId)]);
    for (const cap of some) {
      const row = rows.find(({ id }) => id === cap.id);
      const state = row && stateOf(row, windows, moment);
      const left = state === undefined ? cap.amount : Number(state.amount - state.used);
      const untilMs = (state?.resetsAt ?? 0) * 1_000;
      states.push(stateOfCap(cap, Math.max(0, left), { isFull: left <= 0, untilMs }));
    }
  }
  return states;
}
