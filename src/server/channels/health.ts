// What experience teaches about channels: when they had better rest, and keys or accounts that no longer work. Kept apart from what
// the operator configured; the only thing it ever writes is status 3, and only when AutomaticDisableChannelEnabled is on.
import { ChannelStatus } from "#contract/channel.ts";
import { setChannelStatus } from "#server/store/channels.ts";
import type { Tools } from "#server/tools.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Candidates } from "./candidates.ts";
import { Cooldowns, type Ticket } from "./circuit-breaker.ts";

export interface Health {
  /** A call is about to be made. Whoever makes it tells how it ended, with the ticket he gets here. */
  calling(channelId: number, model: string): Ticket;
  /** Notes a failed call. A fault that the caller caused counts for nothing. */
  failed(channelId: number, model: string, fault: RelayFault, ticket: Ticket): void;
  /** Notes a call whose outcome says nothing about the channel. */
  ended(channelId: number, model: string, ticket: Ticket): void;
  /** Notes a call that was answered. */
  answered(channelId: number, model: string, ticket: Ticket): void;
  /** The channels that had better be left alone for this model now; undefined = none. */
  cooling(model: string): ((channelId: number) => boolean) | undefined;
}

export interface HealthParts extends Pick<Tools, "db" | "clock" | "options" | "coord" | "events" | "notify"> {
  readonly candidates: Pick<Candidates, "onRenewed">;
}

/** So many failures of the credential one after another end a channel (requirements R26). */
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
  // A signature that was refused for our clock's sake blames no key.
  if (DISABLING_STATUS.has(fault.upstreamStatus)) return fault.blame === "credential";
  // A typed code counts only with a status that blames us, not the request.
  if (fault.upstreamStatus !== 403 && fault.upstreamStatus !== 429) return false;
  return fault.signals.some((signal) => DISABLING_SIGNALS.has(signal));
}

export function createHealth(parts: HealthParts): Health {
  const { db, clock, options, coord, events, notify, candidates } = parts;
  const cooldowns = new Cooldowns();
  /** Channel id → failures of the credential one after another. */
  const localErrors = new Map<number, number>();

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
    cooldowns.forget(channelId);
    localErrors.delete(channelId);
  });

  return {
    // Nearly always all are healthy: then not even the clock is read.
    calling: (channelId, model) => (cooldowns.isEmpty ? 0 : cooldowns.calling(channelId, model, clock.now())),
    failed(channelId, model, fault, ticket) {
      if (fault.blame === "none") {
        cooldowns.ended(channelId, model, ticket);
        return;
      }
      const failure = { askedMs: fault.retryAfterMs, isSaturated: fault.upstreamStatus === 429 };
      cooldowns.failed(channelId, model, failure, { ticket, now: clock.now() });
      const refused = isDisabling(fault) ? (localErrors.get(channelId) ?? 0) + 1 : 0;
      if (refused === 0) localErrors.delete(channelId);
      else localErrors.set(channelId, refused);
      if (refused < DISABLE_AFTER || !options.get("AutomaticDisableChannelEnabled")) return;
      localErrors.delete(channelId);
      const reason = fault.detail.slice(0, 200);
      disable(channelId, reason).catch((error: unknown) =>
        events.backgroundFailed({ task: "disable a channel", error }),
      );
    },
    ended(channelId, model, ticket) {
      cooldowns.ended(channelId, model, ticket);
    },
    answered(channelId, model, ticket) {
      if (localErrors.size > 0) localErrors.delete(channelId);
      if (!cooldowns.isEmpty) cooldowns.answered(channelId, model, ticket, clock.now());
    },
    cooling: (model) => (cooldowns.isEmpty ? undefined : cooldowns.cooling(model, clock.now())),
  };
}
