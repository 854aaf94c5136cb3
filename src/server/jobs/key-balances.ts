// Job: asks for the balances of channels with several keys as often as for those of the others (CHANNEL_UPDATE_FREQUENCY), but never all at
// once: each minute a slice, so that every key has been asked when the time is over, those first that have waited longest. Several providers are
// asked at once, the channels of one provider one after another.
import { ChannelStatus } from "#contract/channel.ts";
import { originOf } from "#server/channels/candidates.ts";
import { askKeys } from "#server/channels/key-balances.ts";
import { abreast } from "#server/channels/run.ts";
import { listLiveChannels } from "#server/store/channels.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 60_000;
/** Of one channel in a minute: a provider that is asked for more takes it for an attack. Ten thousand keys then take 25 minutes. */
const MOST_KEYS = 400;
/** So many providers are asked at once: one that hangs keeps its own channels waiting alone. */
const AT_ONCE = 8;

export const keyBalances: Job = {
  name: "key-balances",
  periodMs: ({ channelBalanceFrequencyMs }) => (channelBalanceFrequencyMs === 0 ? 0 : PERIOD_MS),
  async run(ctx) {
    if (!ctx.candidates.hasRings()) return "no channel has several keys";
    const { channelBalanceFrequencyMs } = ctx.config;
    const since = ctx.clock.seconds() - channelBalanceFrequencyMs / 1_000;
    const total = { asked: 0, updated: 0 };
    const rows = await listLiveChannels(ctx.db, ChannelStatus.enabled);
    const several = rows.flatMap(({ id }) => {
      const channel = ctx.candidates.byId(id);
      return channel?.keys === undefined || channel.provider.balance === undefined ? [] : [channel];
    });
    const providers = Map.groupBy(several, originOf).values();
    await abreast(ctx, providers, AT_ONCE, async (channels) => {
      for (const { id } of channels) {
        // As it is now: those before it may have taken long.
        const channel = ctx.candidates.byId(id);
        if (channel?.keys === undefined || ctx.stopping.aborted) continue;
        const share = Math.ceil((channel.keys.enabled * PERIOD_MS) / channelBalanceFrequencyMs);
        const { asked, updated } = await askKeys(ctx, channel, { since, most: Math.min(share, MOST_KEYS) });
        total.asked += asked;
        total.updated += updated;
      }
    });
    return `${total.asked} keys asked, ${total.updated} balances updated`;
  },
};
