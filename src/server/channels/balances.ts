// The stored balances of channels: one of them, or all in the background.
import { ChannelStatus } from "#contract/channel.ts";
import { listLiveChannels, setChannelBalance } from "#server/store/channels.ts";
import { type BalanceAnswer, queryBalance } from "./balance-query.ts";
import type { Candidates } from "./candidates.ts";
import { askKeys, type KeyBalanceParts } from "./key-balances.ts";
import type { LiveChannel } from "./live-channel.ts";
import { oneByOne, type Run, startRun } from "./run.ts";

/** Of a channel with several keys so many are asked while an administrator waits, and so many in a run over all channels. */
const KEYS_AT_ONCE = 40;
const KEYS_IN_RUN = 400;

/** Queries the balance of a channel and stores it; of several keys those that have waited longest are asked, and all summed up. */
export async function updateBalance(
  ctx: KeyBalanceParts,
  channel: LiveChannel,
  most = KEYS_AT_ONCE,
): Promise<BalanceAnswer> {
  const now = ctx.clock.seconds();
  if (channel.keys !== undefined && channel.provider.balance !== undefined) {
    const { sum, updated, problem } = await askKeys(ctx, channel, { since: now + 1, most });
    if (updated > 0 && sum !== undefined) return { ok: true, balance: sum, currency: "" };
    return { ok: false, message: problem || "没有启用的密钥" };
  }
  const answer = await queryBalance(ctx, channel);
  if (answer.ok) await setChannelBalance(ctx.db, channel.id, { amount: answer.balance, now });
  return answer;
}

/**
 * Starts a run over all enabled channels whose balance can be queried; false = one is under way. `withKeys` = also those with several keys,
 * of which the schedule has a job of its own. `begin` as in `Run`.
 */
export function startBalanceUpdate(
  ctx: KeyBalanceParts & { readonly candidates: Candidates },
  { withKeys, begin }: { readonly withKeys: boolean; readonly begin?: Run["begin"] },
): Promise<boolean> {
  const work = async () => {
    const rows = await listLiveChannels(ctx.db, ChannelStatus.enabled);
    let updated = 0;
    await oneByOne(ctx, rows, async (row) => {
      const channel = ctx.candidates.byId(row.id);
      if (!channel?.provider.balance || (channel.keys !== undefined && !withKeys)) return;
      const answer = await updateBalance(ctx, channel, KEYS_IN_RUN);
      if (answer.ok) updated += 1;
    });
    return `${updated} balances updated`;
  };
  return startRun(ctx, { name: "channel-balances", begin, work });
}
