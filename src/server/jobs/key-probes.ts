// Job: asks again with keys that were disabled by themselves, one of each channel at a time, and enables those that work (requirements C27).
import { ChannelStatus } from "#contract/channel.ts";
import { isAsCalled } from "#server/channels/candidates.ts";
import { testKey } from "#server/channels/key-tests.ts";
import { areKeysProbed, nextKeyProbe } from "#server/channels/probe-times.ts";
import type { Context } from "#server/context.ts";
import { changeKeys, dueKeys, noteProbe, type SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 10_000;

export const keyProbes: Job = {
  name: "key-probes",
  periodMs: () => PERIOD_MS,
  async run(ctx) {
    if (!areKeysProbed(ctx)) return "off";
    if (!ctx.candidates.hasRings()) return "no channel has several keys";
    const due = await dueKeys(ctx.db, ctx.clock.seconds());
    let back = 0;
    for (const row of due) {
      const channel = ctx.candidates.byId(row.channel_id);
      if (channel === undefined || ctx.stopping.aborted) continue;
      // By hand a channel is off for good; its keys need not be asked.
      if (channel.status === ChannelStatus.disabled) continue;
      const outcome = await testKey(ctx, channel, row);
      const now = ctx.clock.seconds();
      if (!isAsCalled(channel, ctx.candidates.byId(channel.id))) continue;
      if (!outcome.ok) {
        await noteInVain(ctx, row, outcome.isProxy);
        continue;
      }
      const which = { channelId: row.channel_id, ids: [row.id], from: ChannelStatus.autoDisabled };
      const changed = await ctx.db
        .transaction()
        .execute((tx) => changeKeys(tx, which, { status: ChannelStatus.enabled }, now));
      if (changed === 0) continue;
      back += 1;
      await ctx.coord.publish("channels", String(row.channel_id));
      const reason = `key ${row.id} works again`;
      ctx.events.channelStatusChanged({ channelId: row.channel_id, status: ChannelStatus.enabled, reason });
    }
    return `${due.length} asked, ${back} enabled`;
  },
};

/** Notes when a key that was asked in vain is asked again. A proxy that failed makes no pause longer: the key was not refused. */
async function noteInVain(ctx: Context, row: SealedKeyRow, isProxy: boolean): Promise<void> {
  const probes = isProxy ? row.probes : row.probes + 1;
  const next = nextKeyProbe({ since: ctx.clock.seconds(), probes, reason: row.status_reason }, ctx);
  await noteProbe(ctx.db, row.id, { probes, next });
}
