// What calls show about channels: open circuits, one per channel and model, and keys or accounts that no longer work. Kept apart from what
// the operator configured; the only thing it ever writes is status 3, and only when AutomaticDisableChannelEnabled is on.
import { ChannelStatus } from "#contract/channel.ts";
import { setChannelStatus } from "#server/store/channels.ts";
import type { Tools } from "#server/tools.ts";
import { isPathAbsent, type RelayFault } from "#server/upstream/errors/fault.ts";
import { type Candidates, originOf } from "./candidates.ts";
import { CircuitBreakers, type Permit } from "./circuit-breakers.ts";
import type { LiveChannel, WayRests } from "./live-channel.ts";
import { createPace, type Pace } from "./pace.ts";

export interface Health {
  /** How fast calls are answered, where they are chosen by that. */
  readonly pace: Pace;
  /** A call is about to be made. Its outcome is reported with the permit that this returns. */
  calling(channelId: number, model: string): Permit;
  /** Notes a failed call. A fault that the caller caused counts for nothing. */
  failed(channelId: number, model: string, fault: RelayFault, permit: Permit): void;
  /** The same of a channel that has several keys: what is one key's fault rests or ends the key alone. True = it was the key's. */
  keyFailed(called: LiveChannel, model: string, fault: RelayFault, permit: Permit): boolean;
  /** Notes a call whose outcome says nothing about the channel. */
  ended(channelId: number, model: string, permit: Permit): void;
  /** Notes a call that was answered. */
  answered(channelId: number, model: string, permit: Permit): void;
  /** What of a channel rests for this model, and until when (ms since 1970, 0 = not known); undefined = nothing does. */
  restOf(
    channel: LiveChannel,
    model: string,
  ): { readonly what: "circuit" | "proxy" | "keys"; readonly untilMs: number } | undefined;
  /** Whether a channel's circuit is open for this model now, or its proxy rests; undefined = neither is so of any. */
  openCircuits(model: string): ((channelId: number) => boolean) | undefined;
  /** Until when ways of a channel's calls rest because their proxies failed (requirements C14); undefined = no proxy failed lately. */
  wayRests(channel: LiveChannel): WayRests | undefined;
}

interface HealthParts extends Pick<Tools, "db" | "clock" | "options" | "coord" | "events" | "notify"> {
  readonly egress: Pick<Tools["egress"], "restingProxies">;
  readonly candidates: Pick<Candidates, "byId" | "onRenewed" | "hasRings">;
}

/** So many failures of the credential one after another disable a channel (requirements R26). */
const DISABLE_AFTER = 3;

/** Statuses that speak of the key or the account (requirements W9.5). 403 is not among them: moderation uses it too. */
const DISABLING_STATUS = new Set([401, 402]);
/** Types and codes that do (requirements W9.5, T21.4). Never prose: users can make an upstream say anything. */
const DISABLING_SIGNALS = new Set([
  "insufficient_quota",
  "authentication_error",
  "permission_error",
  "forbidden",
  "invalid_api_key",
  "account_deactivated",
  "billing_not_active",
  "Arrearage",
  "AccountOverdueError",
  "1113",
  "InvalidApiKey",
  "invalid_iam_token",
  "exceeded_current_quota_error",
  "invalid_authentication_error",
]);

/** Whether a fault says that the channel's key or account is finished. */
export function isDisabling(fault: RelayFault): boolean {
  // A signature that was refused because our clock is off does not blame the key.
  if (DISABLING_STATUS.has(fault.upstreamStatus)) return fault.blame === "credential";
  // A typed code counts only with a status that blames the channel, not the request.
  if (fault.upstreamStatus !== 403 && fault.upstreamStatus !== 429) return false;
  return fault.signals.some((signal) => DISABLING_SIGNALS.has(signal));
}

export function createHealth(parts: HealthParts): Health {
  const { clock, options, events, candidates, egress } = parts;
  const circuits = new CircuitBreakers();
  /** Channel id → failures of the credential one after another. */
  const refusals = new Map<number, number>();
  const pace = createPace(clock);

  candidates.onRenewed((channelId) => {
    circuits.forget(channelId);
    refusals.delete(channelId);
    pace.forget(channelId);
  });

  return {
    pace,
    // Nearly always all channels are healthy: then not even the clock is read.
    calling: (id, model) => (circuits.size === 0 ? 0 : circuits.calling(id, model, clock.now())),
    failed(channelId, model, fault, permit) {
      if (fault.blame === "none" || fault.blame === "proxy") {
        circuits.ended(channelId, model, permit);
        return;
      }
      const failure = { askedMs: fault.retryAfterMs, isSaturated: fault.upstreamStatus === 429 };
      circuits.failed(channelId, model, failure, { permit, now: clock.now() });
      const refused = isDisabling(fault) ? (refusals.get(channelId) ?? 0) + 1 : 0;
      if (refused === 0) refusals.delete(channelId);
      else refusals.set(channelId, refused);
      if (refused < DISABLE_AFTER || !options.get("AutomaticDisableChannelEnabled")) return;
      refusals.delete(channelId);
      const reason = fault.detail.slice(0, 200);
      disable(parts, channelId, reason).catch((error: unknown) =>
        events.backgroundFailed({ task: "disable a channel", error }),
      );
    },
    keyFailed(called, model, fault, permit) {
      const failure = { model, fault, isDisabling: isDisabling(fault), now: clock.now() };
      const isModelAbsent = fault.upstreamStatus === 404 && !isPathAbsent(fault);
      const verdict = called.keys?.failed(called, { ...failure, isModelAbsent }) ?? "channel";
      if (verdict === "channel") {
        this.failed(called.id, model, fault, permit);
        return false;
      }
      circuits.ended(called.id, model, permit);
      if (verdict === "ended" && options.get("AutomaticDisableChannelEnabled")) {
        disableKey(parts, called, fault).catch((error: unknown) =>
          events.backgroundFailed({ task: "disable a key", error }),
        );
      }
      return true;
    },
    ended(channelId, model, permit) {
      circuits.ended(channelId, model, permit);
    },
    answered(channelId, model, permit) {
      if (refusals.size > 0) refusals.delete(channelId);
      if (circuits.size > 0) circuits.answered(channelId, model, permit, clock.now());
    },
    restOf: (channel, model) => restOf(parts, circuits, channel, model),
    wayRests: (channel) => wayRestsOf(egress.restingProxies(), channel),
    openCircuits(model) {
      const isOpen = circuits.size === 0 ? undefined : circuits.openFor(model, clock.now());
      const resting = egress.restingProxies();
      if (resting === undefined && !candidates.hasRings()) return isOpen;
      const now = clock.now();
      return (channelId) => {
        const channel = candidates.byId(channelId);
        if (isOpen?.(channelId) === true || channel === undefined) return true;
        const wayRests = wayRestsOf(resting, channel);
        if (channel.keys !== undefined) return channel.keys.isResting(channel, { model, now, wayRests });
        return wayRests !== undefined && wayRests(channel.route) > 0;
      };
    },
  };
}

function restOf(
  { egress, clock }: HealthParts,
  circuits: CircuitBreakers,
  channel: LiveChannel,
  model: string,
): ReturnType<Health["restOf"]> {
  const now = clock.now();
  const untilMs = circuits.untilFor(channel.id, model, now);
  if (untilMs > 0) return { what: "circuit", untilMs };
  const wayRests = wayRestsOf(egress.restingProxies(), channel);
  if (channel.keys !== undefined) return channel.keys.restOf(channel, { model, now, wayRests });
  const proxyMs = wayRests?.(channel.route) ?? 0;
  return proxyMs > 0 ? { what: "proxy", untilMs: proxyMs } : undefined;
}

function wayRestsOf(
  resting: ReturnType<HealthParts["egress"]["restingProxies"]>,
  channel: LiveChannel,
): WayRests | undefined {
  if (resting === undefined) return undefined;
  // An address is read once for all keys, and only where a proxy is looked for.
  let origin: string | undefined;
  return (way) => {
    origin ??= originOf(channel);
    return resting(way, origin);
  };
}

async function disable(
  { db, clock, coord, events, notify, candidates }: HealthParts,
  channelId: number,
  reason: string,
): Promise<void> {
  const from = [ChannelStatus.enabled];
  const to = ChannelStatus.autoDisabled;
  const name = candidates.byId(channelId)?.name ?? "";
  const hasMoved = await setChannelStatus(db, channelId, { from, to, reason, now: clock.seconds() });
  if (!hasMoved) return;
  await coord.publish("channels", String(channelId));
  events.channelStatusChanged({ channelId, status: to, reason });
  notify({
    event: "channel_disabled",
    about: `channel ${channelId}`,
    title: `渠道 #${channelId} ${name} 已被自动禁用`,
    content: `渠道 #${channelId} 已被自动禁用，原因：${reason}`,
  });
}

/** One of several keys has failed for the last time; the channel goes with its last one (requirements C26). */
async function disableKey(
  ctx: HealthParts,
  { id: channelId, keyId }: LiveChannel,
  fault: RelayFault,
): Promise<void> {
  const { db, clock, coord, events, notify } = ctx;
  const { autoDisableKey } = await import("#server/store/channel-keys.ts");
  const { nextKeyProbe } = await import("./probe-times.ts");
  const reason = fault.detail.slice(0, 200);
  const now = clock.seconds();
  const next = nextKeyProbe({ since: now, probes: 0, reason }, ctx);
  const ended = await autoDisableKey(db, { channelId, keyId }, { reason, now, next });
  if (ended === undefined) return;
  await coord.publish("channels", String(channelId));
  events.channelStatusChanged({
    channelId,
    status: ChannelStatus.autoDisabled,
    reason: `key ${keyId}: ${reason}`,
  });
  const more = ended.isLast ? "，这是它最后一个可用密钥，渠道已停用" : "";
  notify({
    event: "key_disabled",
    about: `key ${keyId}`,
    title: "渠道的密钥已被自动禁用",
    content: `渠道 #${channelId} 的密钥 #${keyId} 已被自动禁用${more}，原因：${reason}`,
  });
}
