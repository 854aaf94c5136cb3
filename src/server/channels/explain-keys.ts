// What becomes of each key of a channel that has several, by the ring that chooses for the relay and the limits that its calls take from
// (requirements C47). Chooses none.
import { ChannelStatus } from "#contract/channel.ts";
import { KEY_VERDICTS, type KeyCount, type KeyVerdict, type RouteKey } from "#contract/route.ts";
import type { Clock } from "#server/clock.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import { type CapState, firstFull, limitsTold } from "./caps-left.ts";
import type { ChannelGate, Full } from "./channel-caps.ts";
import type { Health } from "./health.ts";
import type { KeyOutlook, KeyRing, LiveChannel } from "./live-channel.ts";

export interface KeyParts {
  readonly clock: Pick<Clock, "now">;
  readonly gate: Pick<ChannelGate, "fullNow">;
  readonly health: Pick<Health, "wayRests">;
}

/** What is known of the enabled keys of a channel. */
export interface KeysOutlook {
  /** Order: as they are told, those that may be chosen first. */
  readonly keys: readonly KeyOutlook[];
  /** By key: the limit that has no room. */
  readonly full: ReadonlyMap<number, Full>;
  readonly states: ReadonlyMap<number, CapState>;
}

/** The enabled keys that have limits of their own: nearly none has. */
function limitedKeys({ keys, keyLimits }: Pick<LiveChannel, "keys" | "keyLimits">): number[] {
  if (keys === undefined || keyLimits === undefined || keyLimits.size === 0) return [];
  return keys.ids.filter((id) => keyLimits.has(id));
}

/** The limits of a channel's enabled keys, whose states its outlook depends on. */
export function keyCapsOf(channel: Pick<LiveChannel, "keys" | "keyLimits">): readonly ChannelCap[] {
  return limitedKeys(channel).flatMap((id) => channel.keyLimits?.get(id) ?? []);
}

export interface KeysAsked {
  readonly model: string;
  /** Of its keys' limits, as `capStates` found them. */
  readonly states: ReadonlyMap<number, CapState>;
  /** Whether calls take from a limit; absent = from all. */
  readonly takesFrom?: ((cap: ChannelCap) => boolean) | undefined;
}

/** What becomes of each of its enabled keys in the next choice for a model. */
export function outlookOf(
  parts: KeyParts,
  channel: LiveChannel,
  ring: KeyRing,
  { model, states, takesFrom = () => true }: KeysAsked,
): KeysOutlook {
  const now = parts.clock.now();
  const full = new Map<number, Full>();
  for (const id of limitedKeys(channel)) {
    const caps = channel.keyLimits?.get(id)?.filter(takesFrom);
    const known = parts.gate.fullNow({ ...channel, keyId: id, limits: undefined }) ?? firstFull(caps, states);
    if (known !== undefined) full.set(id, known);
  }
  const keys = ring.outlook(channel, {
    ...{ model, full: new Set(full.keys()), now },
    wayRests: parts.health.wayRests(channel),
  });
  return { keys: keys.toSorted(byRank), full, states };
}

function byRank(one: KeyOutlook, other: KeyOutlook): number {
  const rank = ({ verdict }: KeyOutlook) => KEY_VERDICTS.indexOf(verdict);
  // Odds that look alike are in the order of the keys.
  const share = ({ odds }: KeyOutlook) => Math.round(odds * 1_000);
  return rank(one) - rank(other) || share(other) - share(one) || one.id - other.id;
}

/** How many keys have which verdict, those that have any. */
export function countsOf(
  keys: readonly KeyOutlook[],
  { disabled, autoDisabled }: { readonly disabled: number; readonly autoDisabled: number },
): KeyCount[] {
  const counts = new Map<KeyVerdict, number>([
    ["auto_disabled", autoDisabled],
    ["disabled", disabled],
  ]);
  for (const { verdict } of keys) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return KEY_VERDICTS.flatMap((verdict) => {
    const count = counts.get(verdict) ?? 0;
    return count === 0 ? [] : [{ verdict, count }];
  });
}

/** A key as it is stored. */
export interface KeyRow {
  readonly id: number;
  readonly name: string;
  readonly status: number;
  readonly status_reason: string;
  readonly status_time: number;
  readonly weight: number;
}

/** One key with all that is to tell of it; `proxy` = its own, as it is shown. */
export function tellKey(
  channel: LiveChannel,
  { keys, full, states }: KeysOutlook,
  row: KeyRow & { readonly proxy: string },
): RouteKey {
  const { id, name, weight, proxy } = row;
  const known = keys.find((one) => one.id === id);
  const rest = known?.rest;
  const room = full.get(id);
  const isOff = known === undefined;
  const untilMs = rest?.untilMs ?? room?.untilMs ?? 0;
  return {
    ...{ id, name, weight, proxy, odds: known?.odds ?? 0 },
    verdict: known?.verdict ?? (row.status === ChannelStatus.autoDisabled ? "auto_disabled" : "disabled"),
    rests: rest?.why ?? "",
    limit: room?.name ?? "",
    until: Math.ceil(untilMs / 1_000),
    reason: isOff ? row.status_reason : "",
    since: isOff ? row.status_time : 0,
    in_flight: channel.keys?.state(id, 0).inFlight ?? 0,
    limits: limitsTold(channel.keyLimits?.get(id), states),
  };
}
