// Handlers: tests and balances of channels, one at once or all in the background (requirements W3.6, W9.6, W9.7).
import type { z } from "zod";
import type { channelApi, ModelSource } from "#contract/channel.ts";
import { providerOf } from "#contract/providers.ts";
import type { Rewrite } from "#contract/rewrite.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { startBalanceUpdate, updateBalance } from "#server/channels/balances.ts";
import { startChannelTests } from "#server/channels/bulk-test.ts";
import { withKey } from "#server/channels/candidates.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { testChannel } from "#server/channels/probe.ts";
import { editedProxy } from "#server/channels/proxies.ts";
import { recordTest } from "#server/channels/test-record.ts";
import { listUpstreamModels } from "#server/channels/upstream-models.ts";
import type { Context } from "#server/context.ts";
import { loopbackPortOf } from "#server/egress/policy.ts";
import { faults } from "#server/errors.ts";
import { findChannel } from "#server/store/channels.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { checkChannel, checkKeys, keyLines } from "./channel-rules.ts";

type Runs = Pick<
  Handlers<{ channel: typeof channelApi }>["channel"],
  "test" | "testAll" | "updateBalance" | "updateAllBalances" | "upstreamModels"
>;

export const channelRuns: Runs = {
  async test(ctx, call) {
    const { actor, params, query } = call;
    const channel = await getLive(ctx, params.id);
    await audit(ctx, ctx.db, call, { action: "channel.test", target: channel.id });
    const outcome = await testChannel(ctx, channel, query.model);
    await recordTest(ctx, actor, channel, outcome);
    if (!outcome.ok) throw faults.refused(outcome.message);
    return { data: null, message: outcome.text, time: outcome.ms / 1000, modelName: outcome.model };
  },

  async testAll(ctx, call) {
    const { scope } = call.query;
    const isStarted = await startChannelTests(ctx, scope, call.actor, () =>
      audit(ctx, ctx.db, call, { action: "channel.test_all", target: scope }),
    );
    if (!isStarted) throw faults.refused("已有测试任务在执行");
    return null;
  },

  async updateBalance(ctx, call) {
    const channel = await getLive(ctx, call.params.id);
    await audit(ctx, ctx.db, call, { action: "channel.update_balance", target: channel.id });
    const answer = await updateBalance(ctx, channel);
    if (!answer.ok) throw faults.refused(answer.message);
    return { data: null, balance: answer.balance };
  },

  async upstreamModels(ctx, { body }) {
    const answer = await listUpstreamModels(ctx, await sourceOf(ctx, body));
    if (!answer.ok) throw faults.refused(answer.message);
    return [...answer.models];
  },

  async updateAllBalances(ctx, call) {
    const isStarted = await startBalanceUpdate(ctx, {
      withKeys: true,
      begin: () => audit(ctx, ctx.db, call, { action: "channel.update_balance_all", target: "" }),
    });
    if (!isStarted) throw faults.refused("已有余额更新任务在执行");
    return null;
  },
};

/** A stored key goes to the stored address only: another one has to be saved first, which the audit log shows (requirements K04, Z13). */
export async function sourceOf(ctx: Context, body: z.output<typeof ModelSource>): Promise<UpstreamTarget> {
  const stored = body.id === undefined ? undefined : await getLive(ctx, body.id);
  if (body.key.trim() === "" && stored !== undefined) return withKey(stored);
  const [key = ""] = keyLines(body.key, body.type);
  const { type, base_url, other } = body;
  const baseUrl = withoutEndSlashes(base_url ?? "");
  checkChannel(ctx.egress, { type, base_url: baseUrl, other, proxy: body.proxy });
  checkKeys({ type, base_url: baseUrl, other }, [key]);
  const provider = providerOf(type);
  if (!provider) throw faults.refused("未知的渠道类型");
  const proxy = editedProxy(body.proxy ?? stored?.proxy ?? "", stored?.proxy ?? "");
  const loopbackPort = loopbackPortOf(provider.baseUrl);
  // It shares no connection with any stored channel.
  const route = {
    owner: "a channel that is being written",
    proxies: [proxy],
    loopbackPort,
    isOnce: true,
  } as const;
  const { id, rewrite } = body;
  return {
    provider,
    key,
    baseUrl,
    other: other ?? "",
    route,
    rewrite: rewrite ? rulesOf(ctx, { id, rewrite }) : undefined,
  };
}

/** Rules that need not be stored yet. */
export function rulesOf(
  { secrets }: Pick<Context, "secrets">,
  { id = 0, rewrite }: { readonly id?: number | undefined; readonly rewrite: Rewrite },
): CompiledRules {
  return new CompiledRules({ channelId: id, rewrite, statusMap: undefined, hash: secrets.hash });
}

/** The channel as it can be called. Throws: AppError when there is none, or it cannot be called. */
async function getLive(ctx: Context, id: number): Promise<LiveChannel> {
  if (!(await findChannel(ctx.db, id))) throw faults.notFound("找不到该渠道");
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(id);
  if (!channel) throw faults.refused("该渠道的类型或密钥无法使用");
  return channel;
}
