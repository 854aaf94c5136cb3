// Handlers: tokens that administrators see, make and limit for users of lower rank (requirements K13).
import { LogType } from "#contract/log.ts";
import { chosenGroups } from "#contract/token.ts";
import type { userTokenApi } from "#contract/user-token.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { insertLog } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import { countTokens, findToken, insertToken, listTokens } from "#server/store/tokens.ts";
import { findUserById } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { boostOwned } from "./limit-boosts.ts";
import { limitsOfToken } from "./limit-view.ts";
import { setLimitsOfToken } from "./limits.ts";
import { sortedPage } from "./page.ts";
import { openGroups, refuseGroups } from "./token-groups.ts";
import { newRow, present, setQuota } from "./token-rows.ts";
import { DOWNWARDS } from "./tokens.ts";
import { subject } from "./user-admin.ts";

export const userToken: Handlers<{ userToken: typeof userTokenApi }>["userToken"] = {
  async groups(ctx, { actor, params }) {
    const owner = subject(actor, await findUserById(ctx.db, params.id));
    return openGroups(ctx, owner.id);
  },

  async list(ctx, { actor, params, query }) {
    const owner = subject(actor, await findUserById(ctx.db, params.id));
    const filter = { userId: owner.id };
    const rows = await listTokens(ctx.db, { ...filter, ...sortedPage(query, DOWNWARDS) });
    return { data: await present(ctx, rows, () => ""), total: await countTokens(ctx.db, filter) };
  },

  async create(ctx, call) {
    const { actor, params, body } = call;
    const owner = subject(actor, await findUserById(ctx.db, params.id));
    await refuseGroups(ctx, owner.id, chosenGroups(body));
    const { row, key } = newRow(ctx, { userId: owner.id, madeBy: actor.id }, body);
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertToken(tx, row);
      await insertLog(tx, {
        ...NO_CALL,
        user_id: owner.id,
        username: owner.username,
        created_at: ctx.clock.seconds(),
        type: LogType.manage,
        content: `管理员为您创建了令牌“${body.name}”`,
      });
      const { name, remain_quota, unlimited_quota, expired_time } = body;
      const detail = { owner: owner.id, name, remain_quota, unlimited_quota, expired_time, key: "shown" };
      await audit(ctx, tx, call, { action: "token.grant", target: made, detail });
      return made;
    });
    await setQuota(ctx, { tokenId: id, userId: owner.id, actorId: actor.id }, body.remain_quota);
    await ctx.security.tell(owner.id, `得到了管理员创建的令牌“${body.name}”，可在令牌页面查看或删除`);
    const found = await findToken(ctx.db, id, owner.id);
    const [shown] = found ? await present(ctx, [found], () => key) : [];
    if (!shown) throw faults.notFound("找不到该令牌");
    return shown;
  },

  async limits(ctx, { actor, params }) {
    await owned(ctx, actor, params);
    return limitsOfToken(ctx, params.token, params.id);
  },

  async setLimits(ctx, call) {
    const { actor, params, body } = call;
    await owned(ctx, actor, params);
    await setLimitsOfToken(ctx, call, { id: params.token }, body.limits);
    return limitsOfToken(ctx, params.token, params.id);
  },

  async boostLimit(ctx, call) {
    const { token: id } = call.params;
    await owned(ctx, call.actor, call.params);
    return boostOwned(ctx, call, { subject: "token", id }, { topic: "tokens", id });
  },
};

/** Throws: when the user's rank is not lower, or the token is not that user's. */
async function owned(
  ctx: Context,
  actor: Actor,
  { id, token }: { id: number; token: number },
): Promise<void> {
  const owner = subject(actor, await findUserById(ctx.db, id));
  if (!(await findToken(ctx.db, token, owner.id))) throw faults.notFound("找不到该令牌");
}
