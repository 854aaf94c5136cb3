// What experience teaches about channels: pauses they asked for, and keys or accounts that no longer work. Kept apart from what the
// operator configured; the only thing it ever writes is status 3, and only when AutomaticDisableChannelEnabled is on.
import { ChannelStatus } from "#contract/channel.ts";
import type { Context } from "#server/context.ts";
import { setChannelStatus } from "#server/store/channels.ts";
import type { RelayFault } from "#server/upstream/fault.ts";

export interface Health {
  /** Notes a failed call. A fault that the caller caused counts for nothing. */
  failed(channelId: number, model: string, fault: RelayFault): void;
  /** Notes a call that was answered. */
  answered(channelId: number): void;
  /** The channels that had better be left alone for this model now; undefined = none. */
  cooling(model: string): ((channelId: number) => boolean) | undefined;
}

export type HealthParts = Pick<Context, "db" | "clock" | "options" | "coord" | "events" | "notify">;

/** So many failures of the credential one after another end a channel (reliability R26). */
const DISABLE_AFTER = 3;
/** So many failures of any kind one after another make a channel rest. */
const REST_AFTER = 3;
const REST_MS = 10_000;
/** A 429 without Retry-After. */
const SATURATED_MS = 2_000;
const MAX_REST_MS = 60_000;

/** Statuses that speak of the key or the account (contract 9.5). 403 is not among them: moderation uses it too. */
const DISABLING_STATUS = new Set([401, 402]);
/** Types and codes that do (contract 9.5, providers 21.4). Never prose: users can make an upstream say anything. */
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
  if (DISABLING_STATUS.has(fault.upstreamStatus)) return true;
  // A typed code counts only with a status that blames us, not the request.
  if (fault.upstreamStatus !== 403 && fault.upstreamStatus !== 429) return false;
  return fault.signals.some((signal) => DISABLING_SIGNALS.has(signal));
}

interface Record {
  failures: number;
  disabling: number;
}

export function createHealth({ db, clock, options, coord, events, notify }: HealthParts): Health {
  const records = new Map<number, Record>();
  /** `channel id, model` → until when. */
  const resting = new Map<string, number>();

  function rest(channelId: number, model: string, ms: number): void {
    resting.set(`${channelId}\n${model}`, clock.now() + Math.min(ms, MAX_REST_MS));
  }

  async function disable(channelId: number, reason: string): Promise<void> {
    const from = [ChannelStatus.enabled];
    const to = ChannelStatus.autoDisabled;
    const hasMoved = await setChannelStatus(db, channelId, { from, to, reason, now: clock.seconds() });
    if (!hasMoved) return;
    await coord.publish("channels", String(channelId));
    events.channelStatusChanged({ channelId, status: to, reason });
    notify({ title: "渠道已被自动禁用", content: `渠道 #${channelId} 已被自动禁用，原因：${reason}` });
  }

  return {
    failed(channelId, model, fault) {
      if (fault.blame === "none") return;
      const record = records.get(channelId) ?? { failures: 0, disabling: 0 };
      records.set(channelId, record);
      record.failures += 1;
      record.disabling = isDisabling(fault) ? record.disabling + 1 : 0;
      if (fault.upstreamStatus === 429) rest(channelId, model, fault.retryAfterMs || SATURATED_MS);
      else if (record.failures >= REST_AFTER) rest(channelId, model, REST_MS);
      if (record.disabling < DISABLE_AFTER || !options.get("AutomaticDisableChannelEnabled")) return;
      record.disabling = 0;
      const reason = fault.detail.slice(0, 200);
      disable(channelId, reason).catch((error: unknown) =>
        events.backgroundFailed({ task: "disable a channel", error }),
      );
    },
    answered(channelId) {
      if (records.size > 0) records.delete(channelId);
    },
    cooling(model) {
      if (resting.size === 0) return undefined;
      const now = clock.now();
      for (const [key, until] of resting) if (until <= now) resting.delete(key);
      return (channelId) => resting.has(`${channelId}\n${model}`);
    },
  };
}
