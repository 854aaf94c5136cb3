// Job: asks channels again that were disabled by themselves, one after another and later each time, and enables those that work (requirements
// C64). Channels that an administrator disabled are left alone, and those whose keys have all ended come back with a key (key-probes.ts).
import { ChannelStatus } from "#contract/channel.ts";
import { slowness } from "#server/channels/bulk-test.ts";
import { isAsCalled } from "#server/channels/candidates.ts";
import { testChannel } from "#server/channels/probe.ts";
import { areProbed, nextProbeOf } from "#server/channels/probe-times.ts";
import { recordTest, scheduledTester } from "#server/channels/test-record.ts";
import type { Context } from "#server/context.ts";
import {
  type ChannelRow,
  claimChannelProbe,
  listAutoDisabled,
  setChannelStatus,
  uncountChannelProbe,
} from "#server/store/channels.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 60_000;

export const channelProbes: Job = {
  name: "channel-probes",
  periodMs: () => PERIOD_MS,
  async run(ctx) {
    if (!areProbed(ctx)) return "off";
    const now = ctx.clock.seconds();
    const due = (await listAutoDisabled(ctx.db))
      .map((row) => ({ row, at: nextProbeOf(row, ctx) }))
      .filter(({ at }) => at > 0 && at <= now)
      .toSorted((a, b) => a.at - b.at)
      .slice(0, ctx.options.get("ChannelProbesPerRound"));
    let back = 0;
    for (const { row } of due) {
      if (ctx.stopping.aborted) break;
      if (await probe(ctx, row)) back += 1;
    }
    return `${due.length} asked, ${back} enabled`;
  },
};

/** Asks one channel. Returns whether it is back. */
async function probe(ctx: Context, row: ChannelRow): Promise<boolean> {
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(row.id);
  // Noted before it is asked: a process that ends meanwhile has asked all the same, and no two ask at once.
  const now = ctx.clock.seconds();
  const isClaimed = await claimChannelProbe(ctx.db, row, now);
  if (channel === undefined || !isClaimed) return false;
  const outcome = await testChannel(ctx, channel);
  if (ctx.stopping.aborted) return false;
  await recordTest(ctx, scheduledTester, row, outcome);
  await ctx.candidates.pending;
  // A proxy that failed makes no pause longer: the channel was not asked.
  if (!outcome.ok && outcome.isProxy) await uncountChannelProbe(ctx.db, row.id, now);
  if (!outcome.ok || slowness(ctx, outcome) !== undefined) return false;
  // The outcome with another key or address says nothing about the channel as it is now.
  if (!isAsCalled(channel, ctx.candidates.byId(row.id))) return false;
  const from = [ChannelStatus.autoDisabled];
  const to = ChannelStatus.enabled;
  const isBack = await setChannelStatus(ctx.db, row.id, { from, to, reason: "", now: ctx.clock.seconds() });
  if (!isBack) return false;
  await ctx.coord.publish("channels", String(row.id));
  ctx.events.channelStatusChanged({ channelId: row.id, status: to, reason: "a probe was answered" });
  ctx.alerts.raise({
    event: "channel_disabled",
    about: `channel ${row.id}`,
    title: `渠道 #${row.id} ${row.name} 已恢复启用`,
    content: "自动重试成功，调用会再次发往该渠道。",
    isOver: true,
  });
  return true;
}
