// Handlers: tests and balances of channels, one at once or all in the background (contract 3.6, 9.6, 9.7).
import type { channelApi } from "#contract/channel.ts";
import { startBalanceUpdate, updateBalance } from "#server/channels/balance.ts";
import { startChannelTests } from "#server/channels/bulk-test.ts";
import type { LiveChannel } from "#server/channels/candidates.ts";
import { testChannel } from "#server/channels/probe.ts";
import { recordTest } from "#server/channels/test-record.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { findChannel } from "#server/store/channels.ts";
import type { Handlers } from "./call.ts";

type Runs = Pick<
  Handlers<{ channel: typeof channelApi }>["channel"],
  "test" | "testAll" | "updateBalance" | "updateAllBalances"
>;

export const channelRuns: Runs = {
  async test(ctx, { actor, params, query }) {
    const channel = await getLive(ctx, params.id);
    const outcome = await testChannel(ctx, channel, query.model);
    await recordTest(ctx, actor, channel, outcome);
    if (!outcome.ok) throw faults.refused(outcome.message);
    return { data: null, time: outcome.ms / 1000, modelName: outcome.model };
  },

  async testAll(ctx, { actor, query }) {
    const isStarted = await startChannelTests(ctx, query.scope, actor);
    if (!isStarted) throw faults.refused("已有测试任务在执行");
    return null;
  },

  async updateBalance(ctx, { params }) {
    const answer = await updateBalance(ctx, await getLive(ctx, params.id));
    if (!answer.ok) throw faults.refused(answer.message);
    return { data: null, balance: answer.balance };
  },

  async updateAllBalances(ctx) {
    const isStarted = await startBalanceUpdate(ctx);
    if (!isStarted) throw faults.refused("已有余额更新任务在执行");
    return null;
  },
};

/** The channel as it can be called. Throws: a refusal when there is none, or nothing can call it. */
async function getLive(ctx: Context, id: number): Promise<LiveChannel> {
  if (!(await findChannel(ctx.db, id))) throw faults.notFound("找不到该渠道");
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(id);
  if (!channel) throw faults.refused("该渠道的类型或密钥无法使用");
  return channel;
}
