// Tests with one of a channel's several keys: by the hand of an administrator, or when a disabled key is asked again.
import { noteKeyTest, type SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Tools } from "#server/tools.ts";
import { openChannelKey } from "./key-rings.ts";
import type { LiveChannel } from "./live-channel.ts";
import { type Probe, testChannel } from "./probe.ts";
import { routeWith } from "./proxies.ts";

type Parts = Pick<Tools, "db" | "egress" | "credentials" | "clock" | "options" | "secrets">;

/** One tiny request with a key, enabled or not. Costs the operator, changes no status. Notes the time of an answer. */
export async function testKey(ctx: Parts, channel: LiveChannel, row: SealedKeyRow): Promise<Probe> {
  const [model = ""] = row.models.split(",");
  const outcome = await testChannel(ctx, channelWith(ctx, channel, row), model);
  if (outcome.ok) await noteKeyTest(ctx.db, row.id, { ms: outcome.ms, now: ctx.clock.seconds() });
  return outcome;
}

/** The channel with the key of a row. Throws: SealError. */
export function channelWith(
  { secrets }: Pick<Tools, "secrets">,
  channel: LiveChannel,
  row: SealedKeyRow,
): LiveChannel {
  const { key, proxy } = openChannelKey(secrets, row);
  const route = routeWith(channel, { proxy, keyHash: row.key_hash });
  return { ...channel, key, keyId: row.id, keyProxy: proxy, route, base: channel };
}
