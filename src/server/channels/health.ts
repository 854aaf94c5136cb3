// What calls show about channels: open circuits, and keys or accounts that no longer work. Kept apart from what the operator
// configured; the only thing it ever writes is status 3, and only when AutomaticDisableChannelEnabled is on.
import { ChannelStatus } from "#contract/channel.ts";
import { setChannelStatus } from "#server/store/channels.ts";
import type { Tools } from "#server/tools.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Candidates } from "./candidates.ts";
import { CircuitBreakers, type Permit } from "./circuit-breaker.ts";

export interface Health {
  /** A call is about to be made. Its outcome is reported with the permit that this returns. */
  calling(channelId: number, model: string): Permit;
  /** Notes a failed call. A fault that the caller caused counts for nothing. */
  failed(channelId: number, model: string, fault: RelayFault, permit: Permit): void;
  /** Notes a call whose outcome says nothing about the channel. */
  ended(channelId: number, model: string, permit: Permit): void;
  /** Notes a call that was answered. */
  answered(channelId: number, model: string, permit: Permit): void;
  /** Whether a channel's circuit is open for this model now; undefined = no circuit is. */
  openCircuits(model: string): ((channelId: number) => boolean) | undefined;
}

export interface HealthParts extends Pick<Tools, "db" | "clock" | "options" | "coord" | "events" | "notify"> {
  readonly candidates: Pick<Candidates, "onRenewed">;
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
  const { db, clock, options, coord, events, notify, candidates } = parts;
  const circuits = new CircuitBreakers();
  /** Channel id → failures of the credential one after another. */
  const refusals = new Map<number, number>();

  async function disable(channelId: number, reason: string): Promise<void> {
    const from = [ChannelStatus.enabled];
    const to = ChannelStatus.autoDisabled;
    const hasMoved = await setChannelStatus(db, channelId, { from, to, reason, now: clock.seconds() });
    if (!hasMoved) return;
    await coord.publish("channels", String(channelId));
    events.channelStatusChanged({ channelId, status: to, reason });
    notify({ title: "渠道已被自动禁用", content: `渠道 #${channelId} 已被自动禁用，原因：${reason}` });
  }

  candidates.onRenewed((channelId) => {
    circuits.forget(channelId);
    refusals.delete(channelId);
  });

  return {
    // Nearly always all channels are healthy: then not even the clock is read.
    calling: (channelId, model) => (circuits.isEmpty ? 0 : circuits.calling(channelId, model, clock.now())),
    failed(channelId, model, fault, permit) {
      if (fault.blame === "none") {
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
      disable(channelId, reason).catch((error: unknown) =>
        events.backgroundFailed({ task: "disable a channel", error }),
      );
    },
    ended(channelId, model, permit) {
      circuits.ended(channelId, model, permit);
    },
    answered(channelId, model, permit) {
      if (refusals.size > 0) refusals.delete(channelId);
      if (!circuits.isEmpty) circuits.answered(channelId, model, permit, clock.now());
    },
    openCircuits: (model) => (circuits.isEmpty ? undefined : circuits.openFor(model, clock.now())),
  };
}
