// What channels and their keys may be used for, and what calls have taken of that: over all nodes (requirements C39). A channel without limits
// costs nothing here.
import type { ChannelLimitName } from "#contract/channel-limits.ts";
import type { Clock } from "#server/clock.ts";
import type { ReplyHeaders } from "#server/egress/send.ts";
import type { Limits, Watched } from "#server/limits/limits.ts";
import { type Counting, LIMITS, type Limit } from "#server/limits/table.ts";
import type { LimitRefusal } from "#server/money/operations.ts";
import type { LimitRef } from "#server/money/rows.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import type { LiveChannel } from "./live-channel.ts";
import { toldIn, VendorLimits } from "./vendor-limits.ts";

/** By the id of the channel, and of the key. */
export interface Caps {
  readonly channels: ReadonlyMap<number, readonly ChannelCap[]>;
  readonly keys: ReadonlyMap<number, readonly ChannelCap[]>;
}

/** Running calls are the cheapest to give back, and what the ledger counts is the dearest. */
const ORDER: readonly ChannelLimitName[] = ["running", "rpm", "tpm", "day_quota"];

export function capsOf(rows: readonly ChannelCap[]): Caps {
  const caps = { channels: new Map<number, ChannelCap[]>(), keys: new Map<number, ChannelCap[]>() };
  for (const name of ORDER) {
    for (const row of rows.filter((one) => one.name === name)) {
      const some = row.subject === "channel" ? caps.channels : caps.keys;
      some.set(row.subjectId, [...(some.get(row.subjectId) ?? []), row]);
    }
  }
  return caps;
}

/** What a call asks of a channel. */
export interface Demand {
  /** At most so many LLM tokens; asked for only where they are limited. */
  tokens(): number;
  /** Counts the call in these windows of the ledger, in place of those of the channel before. */
  hold(refs: readonly LimitRef[]): Promise<LimitRefusal | undefined>;
}

/** A limit that has no room. */
export interface Full {
  readonly kind: "full";
  readonly of: "channel" | "key";
  readonly name: ChannelLimitName;
  /** When there may be room; `running` calls end at any time. Unit: ms since 1970. */
  readonly untilMs: number;
}

/** What a call has taken of a channel's limits. */
export interface Entry {
  readonly kind: "entered";
  /** The call has ended: with so many LLM tokens, 0 = it used none. Calls of a minute are counted all the same. */
  leave(usedTokens: number): void;
  /** Nothing was sent: it counts nowhere. */
  undo(): void;
  /** The vendor has answered: what these headers tell of its limits lowers what is left here. */
  heard(headers: ReplyHeaders): void;
}

export interface ChannelGate {
  /** Whether anything is limited. */
  isLimited(channel: LiveChannel): boolean;
  /** Takes what the call needs of each limit, or nothing of any. */
  enter(channel: LiveChannel, demand: Demand): Promise<Entry | Full>;
  /** The limit of a channel that is known to have no room now; a guess, of this process alone. */
  fullNow(channel: LiveChannel): Full | undefined;
  /** Calls back whenever a call has left. Returns a function that stops it. */
  onLeave(listener: () => void): () => void;
}

/**
 * So many calls of a minute are kept one by one, each in a slot for its minute: no minute, wherever it begins, has more. Of larger limits at
 * most a tenth comes at once and then evenly, so that no minute has more than eleven tenths.
 */
const KEPT_CALLS = 120;
const TENTHS = 10;
const MINUTE_MS = 60_000;
/** Calls at once are looked for again so soon: those of other nodes end unseen. */
const LOOK_MS = 50;
/** More channels and keys than this are seldom full at once. */
const KEPT_FULL = 1_000;
/** For so long no call asks again whether there is room: what ends, here or elsewhere, and what operators change may make some. */
const REMEMBERED_MS = 1_000;

interface GateParts {
  readonly limits: Pick<Limits, "check" | "hold" | "giveBack">;
  readonly clock: Pick<Clock, "now">;
}

interface GateState extends GateParts {
  /** When the calls of this process leave the minute that they are counted in, by the id of the limit. Unit: ms since 1970. */
  readonly minutes: Map<number, number[]>;
  readonly vendors: VendorLimits;
}

/** A limit that has no room for a call. */
interface Refused {
  readonly full: Full;
  /** Until then it has none for the smallest call either; one that is past = that is not known. Unit: ms since 1970. */
  readonly forAllMs: number;
}

/** Something taken, and how it is given back. */
interface Taken {
  /** Nothing came of the call. */
  undo(): void;
  leave(usedTokens: number): void;
}

export function createChannelGate(parts: GateParts): ChannelGate {
  const state: GateState = { ...parts, minutes: new Map(), vendors: new VendorLimits() };
  const listeners = new Set<() => void>();
  const full = new Map<string, Full>();

  return {
    isLimited: (channel) => capsFor(channel).length > 0,
    async enter(channel, demand) {
      const caps = capsFor(channel);
      const taken: Taken[] = [];
      try {
        for (const cap of caps.filter((one) => !isOfDay(one))) {
          const one = await take(state, cap, demand);
          if ("full" in one) return refused(cap, one);
          taken.push(one);
        }
        const spent = await holdDays(caps, demand);
        if (spent !== undefined) return refused(spent.cap, spent);
        const entered = taken.splice(0);
        return {
          kind: "entered",
          leave: (used) => end(entered, (one) => one.leave(used)),
          undo: () => end(entered, (one) => one.undo()),
          heard: (headers) => hear(state, caps.filter(isOfAccount(channel)), headers),
        };
      } finally {
        for (const one of taken) one.undo();
      }
    },
    fullNow(channel) {
      if (full.size === 0) return undefined;
      const now = parts.clock.now();
      for (const { subject, subjectId } of capsFor(channel)) {
        const known = full.get(`${subject} ${subjectId}`);
        if (known !== undefined && known.untilMs > now) return known;
      }
      return undefined;
    },
    onLeave(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  function refused({ subject, subjectId }: ChannelCap, { full: found, forAllMs }: Refused): Full {
    const now = parts.clock.now();
    if (forAllMs <= now) return found;
    if (full.size >= KEPT_FULL) full.clear();
    full.set(`${subject} ${subjectId}`, { ...found, untilMs: Math.min(forAllMs, now + REMEMBERED_MS) });
    return found;
  }

  /** Once. */
  function end(entered: Taken[], act: (one: Taken) => void): void {
    for (const one of entered.splice(0)) act(one);
    for (const listener of listeners) listener();
  }
}

/** Whether a limit is of what a vendor counts, the account of one key: a channel's own is that only where it has no other keys. */
function isOfAccount({ keyId }: LiveChannel): (cap: ChannelCap) => boolean {
  return ({ subject }) => subject === "channel_key" || keyId === 0;
}

function hear({ vendors, clock }: GateState, caps: readonly ChannelCap[], headers: ReplyHeaders): void {
  const nowMs = clock.now();
  for (const told of toldIn(headers, nowMs))
    for (const { id, name } of caps) if (name === told.name) vendors.tell(id, told, nowMs);
}

/** Counts the call in the days of channel and key, in the ledger; the one that has no room, undefined = all have. */
async function holdDays(
  caps: readonly ChannelCap[],
  demand: Demand,
): Promise<(Refused & { readonly cap: ChannelCap }) | undefined> {
  const days = caps.filter(isOfDay);
  const refusal = await demand.hold(days.map(refOf));
  const cap = refusal && days.find(({ id }) => id === refusal.limitId);
  if (refusal === undefined || cap === undefined) return undefined;
  // A call that is larger than the day's quota has no room, and says nothing of other calls.
  const untilMs = refusal.canFit ? refusal.resetsAt * 1_000 : 0;
  return { cap, full: fullOf(cap, untilMs), forAllMs: untilMs };
}

/** The windows of the ledger that the calls of a channel, and of its key, are counted in. */
export function daysOf(channel: LiveChannel): readonly LimitRef[] {
  return capsFor(channel).filter(isOfDay).map(refOf);
}

export function isOfDay({ name }: ChannelCap): boolean {
  return name === "day_quota";
}

function refOf({ id }: ChannelCap): LimitRef {
  return { limitId: id, holder: 0 };
}

/** The limits of a channel and of its key, in the order in which they are taken. */
function capsFor({ limits, keyLimits, keyId }: LiveChannel): readonly ChannelCap[] {
  const ofKey = keyId === 0 ? undefined : keyLimits?.get(keyId);
  if (ofKey === undefined) return limits ?? NONE;
  return limits === undefined ? ofKey : [...limits, ...ofKey];
}

const NONE: readonly ChannelCap[] = [];

function fullOf({ subject, name }: ChannelCap, untilMs: number): Full {
  return { kind: "full", of: subject === "channel" ? "channel" : "key", name, untilMs };
}

/** By our own count, and by what the vendor told of its own. */
async function take(state: GateState, cap: ChannelCap, demand: Demand): Promise<Taken | Refused> {
  const { clock, vendors } = state;
  if (cap.name === "running") return takeOwn(state, cap, demand);
  const worth = worthOf(cap, demand);
  const readyMs = vendors.take(cap.id, worth, clock.now());
  // A smaller call may have room.
  if (readyMs !== undefined)
    return { full: fullOf(cap, readyMs), forAllMs: cap.name === "rpm" ? readyMs : 0 };
  const own = await takeOwn(state, cap, demand);
  if ("full" in own) {
    vendors.undo(cap.id, worth);
    return own;
  }
  return {
    leave: (used) => own.leave(used),
    undo() {
      vendors.undo(cap.id, worth);
      own.undo();
    },
  };
}

/** Calls, or LLM tokens: no more than the limit, so that a large call has room once the minute is empty. */
function worthOf({ name, amount }: ChannelCap, demand: Demand): number {
  return name === "tpm" ? Math.max(1, Math.min(demand.tokens(), amount)) : 1;
}

async function takeOwn(state: GateState, cap: ChannelCap, demand: Demand): Promise<Taken | Refused> {
  const counting = countingOf(cap);
  if (cap.name === "rpm" && counting.isHeld) return takeSlot(state, cap, counting);
  const { limits, clock } = state;
  if (cap.name === "running") {
    const free = await limits.hold(counting, "");
    if (free !== undefined) return { undo: free, leave: free };
    return { full: fullOf(cap, clock.now() + LOOK_MS), forAllMs: 0 };
  }
  const worth = worthOf(cap, demand);
  const { allowed, retryAfterMs } = await limits.check(counting, "", worth);
  if (!allowed) {
    const untilMs = clock.now() + retryAfterMs;
    const { windowMs, burst } = counting.limit;
    // A large call waits longer, for what it needs beyond one.
    return { full: fullOf(cap, untilMs), forAllMs: untilMs - ((worth - 1) * windowMs) / burst };
  }
  const back = (amount: number) => {
    // What cannot be given back comes back with time.
    if (amount !== 0) void limits.giveBack(counting, amount).catch(() => undefined);
  };
  return {
    undo: () => back(worth),
    leave: (used) => back(cap.name === "tpm" ? worth - used : 0),
  };
}

async function takeSlot(
  { limits, clock, minutes }: GateState,
  cap: ChannelCap,
  counting: Counting,
): Promise<Taken | Refused> {
  const free = await limits.hold(counting, "");
  const ours = minutes.get(cap.id) ?? [];
  // Those of other nodes leave it unseen.
  if (free === undefined) {
    const untilMs = ours[0] ?? clock.now() + MINUTE_MS / cap.amount;
    return { full: fullOf(cap, untilMs), forAllMs: untilMs };
  }
  const endsMs = clock.now() + MINUTE_MS;
  ours.push(endsMs);
  minutes.set(cap.id, ours);
  const end = () => {
    free();
    const left = minutes.get(cap.id) ?? [];
    left.splice(left.indexOf(endsMs), 1);
    if (left.length === 0) minutes.delete(cap.id);
  };
  const timer = setTimeout(end, MINUTE_MS).unref();
  return {
    undo() {
      clearTimeout(timer);
      end();
    },
    leave: () => undefined,
  };
}

/** How a limit is counted that is no day's. */
export function countingOf({ id, name, amount }: ChannelCap): Watched {
  const isHeld = name === "running" || (name === "rpm" && amount <= KEPT_CALLS);
  return { limit: limitOf(name, amount), subject: String(id), isHeld };
}

function limitOf(name: ChannelLimitName, amount: number): Limit {
  if (name === "running") return { ...LIMITS.channelRunning, burst: amount };
  if (name === "tpm") return { ...LIMITS.channelTokens, burst: amount };
  if (amount <= KEPT_CALLS) return { ...LIMITS.channelCalls, burst: amount };
  const burst = Math.ceil(amount / TENTHS);
  return { ...LIMITS.channelCalls, burst, windowMs: (MINUTE_MS * burst) / amount };
}
