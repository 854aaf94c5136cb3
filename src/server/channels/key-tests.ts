// Tests with one of a channel's several keys: by the hand of an administrator, or when a disabled key is asked again.
import { noteKeyTest, type SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Tools } from "#server/tools.ts";
import { channelIfReadable, KEY_UNREADABLE } from "./key-rings.ts";
import type { LiveChannel } from "./live-channel.ts";
import { type Probe, testChannel, UNASKED } from "./probe.ts";

type Parts = Pick<Tools, "db" | "egress" | "credentials" | "clock" | "options" | "secrets">;

/** One tiny request with a key, enabled or not. Costs the operator, changes no status. Notes the time of an answer. */
export async function testKey(ctx: Parts, channel: LiveChannel, row: SealedKeyRow): Promise<Probe> {
  const [model = ""] = row.models.split(",");
  const keyed = channelIfReadable(ctx, channel, row);
  if (keyed === undefined) return { ok: false, ms: 0, model, message: KEY_UNREADABLE, ...UNASKED };
  const outcome = await testChannel(ctx, keyed, model);
  if (outcome.ok) await noteKeyTest(ctx.db, row.id, { ms: outcome.ms, now: ctx.clock.seconds() });
  return outcome;
}
