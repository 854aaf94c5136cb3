// Handlers: tests and balances of the keys of channels that have several, of one key at once or of all in the background.
import type { AuditAction } from "#contract/audit-actions.ts";
import type { channelKeyApi } from "#contract/channel-key.ts";
import { providerOf } from "#contract/providers.ts";
import { startKeyBalances, updateKeyBalance } from "#server/channels/key-balances.ts";
import { startKeyTests } from "#server/channels/key-test-run.ts";
import { testKey } from "#server/channels/key-tests.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { sumKeyBalances } from "#server/store/channel-key-balances.ts";
import { listSealedKeys, type SealedKeyRow } from "#server/store/channel-keys.ts";
import { type ChannelRow, findChannel } from "#server/store/channels.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

type Runs = Pick<
  Handlers<{ channelKey: typeof channelKeyApi }>["channelKey"],
  "test" | "testAll" | "updateBalance" | "updateBalances"
>;

export const channelKeyRuns: Runs = {
  async test(ctx, call) {
    const { channel, row } = await takeKey(ctx, call, "channel.key_test");
    const outcome = await testKey(ctx, channel, row);
    if (!outcome.ok) throw faults.refused(outcome.message);
    return { data: null, message: outcome.text, time: outcome.ms / 1000 };
  },

  async testAll(ctx, call) {
    const { id } = call.params;
    const { scope } = call.body;
    await getChannel(ctx, id);
    const isStarted = await startKeyTests(ctx, id, scope, () =>
      audit(ctx, ctx.db, call, { action: "channel.keys_test", target: id, detail: { scope } }),
    );
    if (!isStarted) throw faults.refused("这个渠道的密钥正在测试");
    return null;
  },

  async updateBalance(ctx, call) {
    const { channel, row } = await takeKey(ctx, call, "channel.key_balance");
    const answer = await updateKeyBalance(ctx, channel, row);
    if (!answer.ok) throw faults.refused(answer.message);
    await sumKeyBalances(ctx.db, channel.id);
    return { data: null, balance: answer.balance, currency: answer.currency };
  },

  async updateBalances(ctx, call) {
    const { id } = call.params;
    const { type, keys_version } = await getChannel(ctx, id);
    if (providerOf(type)?.balance === undefined) throw faults.refused("该渠道类型不支持查询余额");
    if (keys_version === 0) throw faults.refused("该渠道只有一个密钥");
    const isStarted = await startKeyBalances(ctx, id, () =>
      audit(ctx, ctx.db, call, { action: "channel.keys_balance", target: id }),
    );
    if (!isStarted) throw faults.refused("这个渠道的余额正在查询");
    return null;
  },
};

/** Throws: AppError when there is none. */
export async function getChannel(ctx: Context, id: number): Promise<ChannelRow> {
  const row = await findChannel(ctx.db, id);
  if (!row) throw faults.notFound("找不到该渠道");
  return row;
}

export async function findKey(
  ctx: Context,
  channelId: number,
  keyId: number,
): Promise<SealedKeyRow | undefined> {
  const rows = await listSealedKeys(ctx.db, channelId, keyId);
  return rows[0];
}

type KeyCall = ActCall & {
  readonly params: { readonly id: number };
  readonly body: { readonly key_id: number };
};

/**
 * The key of a call as it can be called itself, enabled or not; from here on the audit log has the act. Throws: AppError when there is none, or
 * its channel cannot be called.
 */
async function takeKey(
  ctx: Context,
  call: KeyCall,
  action: AuditAction,
): Promise<{ readonly channel: LiveChannel; readonly row: SealedKeyRow }> {
  const { id } = call.params;
  await getChannel(ctx, id);
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(id);
  const row = await findKey(ctx, id, call.body.key_id);
  if (channel === undefined || row === undefined) throw faults.notFound("找不到该密钥");
  await audit(ctx, ctx.db, call, { action, target: id, detail: { key: row.id } });
  return { channel, row };
}
