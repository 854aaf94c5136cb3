// Handlers: from a leaked key to its owner, and an end to it. The audit log has the actor and what was found, never the key.
import type { KeyOwner, keySearchApi } from "#contract/key-search.ts";
import { TokenStatus } from "#contract/token.ts";
import { type Actor, parseCredential } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { findTokenByOldKey } from "#server/store/old-keys.ts";
import { teamsOfWallet } from "#server/store/teams.ts";
import { findToken, findTokenByKey, holderOf, updateToken } from "#server/store/tokens.ts";
import { findUserById, type UserRow } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { subject } from "./user-admin.ts";

export const keySearch: Handlers<{ keySearch: typeof keySearchApi }>["keySearch"] = {
  async find(ctx, call) {
    const { key } = parseCredential(call.body.key);
    const hash = ctx.secrets.hash(key);
    const found = (await findTokenByKey(ctx.db, hash)) ?? (await findTokenByOldKey(ctx.db, hash));
    const token = found && (await findToken(ctx.db, found.id));
    await ctx.db.transaction().execute(async (tx) => {
      const detail = token === undefined ? { found: false } : { owner: token.user_id, name: token.name };
      const teams = await teamsOfWallet(tx, token?.wallet_id ?? 0);
      await audit(ctx, tx, call, { action: "token.find", target: token?.id ?? 0, detail, teams });
    });
    if (token === undefined) throw faults.notFound("没有令牌使用这个密钥，它可能已被删除");
    const owner = await ownerOf(ctx, call.actor, token.user_id);
    return {
      token_id: token.id,
      token_name: token.name,
      masked_key: `sk-${key.slice(0, 4)}…${key.slice(-4)}`,
      token_status: token.status,
      remain_quota: token.remain_quota,
      unlimited_quota: token.unlimited_quota === 1,
      used_quota: token.used_quota,
      created_time: token.created_time,
      accessed_time: token.accessed_time,
      expired_time: token.expired_time,
      user_id: owner.id,
      username: owner.username,
      user_status: owner.status,
      user_group: owner.group,
    } satisfies KeyOwner;
  },

  async disable(ctx, call) {
    const token = await findToken(ctx.db, call.body.id);
    if (token === undefined) throw faults.notFound("找不到该令牌");
    await ownerOf(ctx, call.actor, token.user_id);
    await ctx.db.transaction().execute(async (tx) => {
      const change = { status: TokenStatus.disabled };
      const isThere = await updateToken(tx, { id: token.id, ...holderOf(token), change });
      if (!isThere) throw faults.notFound("找不到该令牌");
      const detail = { owner: token.user_id, name: token.name };
      const teams = await teamsOfWallet(tx, token.wallet_id);
      await audit(ctx, tx, call, { action: "token.disable", target: token.id, detail, teams });
    });
    await ctx.coord.publish("tokens", String(token.id));
    return null;
  },
};

/** The owner, if the actor may act on that user or is that user. Throws: denied. */
async function ownerOf(ctx: Context, actor: Actor, userId: number): Promise<UserRow> {
  const owner = await findUserById(ctx.db, userId);
  return owner !== undefined && owner.id === actor.id ? owner : subject(actor, owner);
}
