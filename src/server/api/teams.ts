// Handlers: teams, their wallets and their end. Members are in team-people.ts; what a role may do stands with each endpoint, and
// `enterTeam` holds every call to it (requirements O04).

import { type Team, teamApi } from "#contract/team.ts";
import { mayInTeam } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import { may } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import { settleTeam } from "#server/money/team-wallet.ts";
import { randomHex } from "#server/secrets.ts";
import { eraseInvoicesOf } from "#server/store/invoices.ts";
import {
  insertTeam,
  listMemberships,
  type Membership,
  passTokens,
  updateTeam,
  updateWallet,
} from "#server/store/teams.ts";
import { findUserById } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { limitsOf, withoutUse } from "./limit-view.ts";
import { replaceLimits } from "./limits.ts";
import { redeemFor } from "./partner.ts";
import { acts } from "./team-audit.ts";
import { boosts } from "./team-boosts.ts";
import { mayOwnMore, people } from "./team-people.ts";
import { projects } from "./team-projects.ts";
import { reports } from "./team-reports.ts";
import { presentAll, presentOne, presentOwn } from "./team-view.ts";
import { enterTeam, holdEntered } from "./token-reach.ts";
import { noteRefused } from "./user-amounts.ts";

export const team: Handlers<{ team: typeof teamApi }>["team"] = {
  ...people,
  ...boosts,
  ...reports,
  ...projects,
  ...acts,

  async list(ctx, { actor }) {
    const rows = await listMemberships(ctx.db, actor.id);
    return presentAll(ctx, rows);
  },

  async create(ctx, call) {
    const { actor, body } = call;
    if (!ctx.options.get("TeamCreateEnabled") && !may(actor, "team.write"))
      throw faults.refused("管理员没有开放创建团队");
    const owner = await findUserById(ctx.db, actor.id);
    const id = await ctx.db.transaction().execute(async (tx) => {
      await mayOwnMore(tx, actor.id);
      const made = await insertTeam(tx, {
        name: body.name,
        group: owner?.group || "default",
        ownerId: actor.id,
        now: ctx.clock.seconds(),
        tail: randomHex(32),
      });
      await audit(ctx, tx, call, { action: "team.create", target: made, detail: { name: body.name } });
      return made;
    });
    return presentOwn(ctx, actor.id, id);
  },

  async get(ctx, call) {
    return presentOne(ctx, await enterTeam(ctx, call, teamApi.get));
  },

  async rename(ctx, call) {
    const { id, name: old } = await enterTeam(ctx, call, teamApi.rename);
    const { name } = call.body;
    await ctx.db.transaction().execute(async (tx) => {
      await updateTeam(tx, id, { name });
      const before = { name: old };
      await audit(ctx, tx, call, { action: "team.rename", target: id, detail: { name }, before });
    });
    return presentOwn(ctx, call.actor.id, id);
  },

  async close(ctx, call) {
    const { id, name, wallet_id: walletId } = await enterTeam(ctx, call, teamApi.close);
    if (call.query.name !== name) throw faults.refused("请输入团队名称以确认解散");
    const now = ctx.clock.seconds();
    await ctx.db.transaction().execute(async (tx) => {
      // It may have been handed over since.
      await holdEntered(tx, call, teamApi.close);
      await updateTeam(tx, id, { closed_at: now, heir_id: 0 });
      await eraseInvoicesOf(tx, walletId);
      // From here on the ledger lets nothing be set aside, whatever a node remembers of its tokens.
      await updateWallet(tx, walletId, { status: UserStatus.deleted });
      await passTokens(tx, { walletId, heir: 0, now });
      await audit(ctx, tx, call, { action: "team.close", target: id, detail: { name } });
    });
    await ctx.coord.publish("users", String(walletId));
    // What running calls have set aside comes back later, and is sent after by a job.
    await settleTeam(ctx, { id, walletId, ownerId: call.actor.id });
    return null;
  },

  async limits(ctx, call) {
    const { wallet_id: walletId, role } = await enterTeam(ctx, call, teamApi.limits);
    const limits = await limitsOf(ctx, { subject: "team", ids: [walletId] }, 0);
    return mayInTeam(role, "calls") ? limits : limits.map((one) => withoutUse(one, ctx.clock.seconds()));
  },

  async setLimits(ctx, call) {
    const { id, wallet_id: walletId } = await enterTeam(ctx, call, teamApi.setLimits);
    const { limits } = call.body;
    await ctx.db.transaction().execute(async (tx) => {
      await holdEntered(tx, call, teamApi.setLimits);
      const { before, ...detail } = await replaceLimits(ctx, tx, { subject: "team", id: walletId }, limits);
      await audit(ctx, tx, call, { action: "team.limit", target: id, detail, before });
    });
    await ctx.coord.publish("users", String(walletId));
    return limitsOf(ctx, { subject: "team", ids: [walletId] }, 0);
  },

  async deposit(ctx, call) {
    const found = await enterTeam(ctx, call, teamApi.deposit);
    const sides = { fromId: call.actor.id, toId: found.wallet_id };
    return move(ctx, call, found, {
      ...sides,
      sent: `转入团队“${found.name}”`,
      received: `${call.actor.username} 转入`,
    });
  },

  async topUp(ctx, call) {
    const { id, wallet_id: userId } = await enterTeam(ctx, call, teamApi.topUp);
    const { quota } = await redeemFor(ctx, call, { userId, key: call.body.key, giftCode: "" });
    const detail = { amount: Number(quota) };
    // What the ledger booked stays, whichever member asked for it: its entry names the wallet.
    await audit(ctx, ctx.db, call, { action: "team.topup", target: id, detail });
    return Number(quota);
  },

  async withdraw(ctx, call) {
    const found = await enterTeam(ctx, call, teamApi.withdraw);
    const sides = { fromId: found.wallet_id, toId: call.actor.id };
    return move(ctx, call, found, {
      ...sides,
      sent: `${call.actor.username} 转出`,
      received: `从团队“${found.name}”转入`,
    });
  },
};

/** Moves quota between the actor and the wallet, once for each call. Throws: when there is less. */
async function move(
  ctx: Context,
  call: Call<typeof teamApi.deposit | typeof teamApi.withdraw>,
  found: Membership,
  sides: { fromId: number; toId: number; sent: string; received: string },
): Promise<Team> {
  const { actor, body, requestId, idempotencyKey } = call;
  const isDeposit = sides.toId === found.wallet_id;
  await ctx.db.transaction().execute(async (tx) => {
    await holdEntered(tx, call, isDeposit ? teamApi.deposit : teamApi.withdraw);
    await audit(ctx, tx, call, {
      action: isDeposit ? "team.deposit" : "team.withdraw",
      target: found.id,
      detail: { amount: body.amount },
    });
  });
  const { outcome } = await ctx.ledger.transfer({
    ...sides,
    operationId: `transfer/${idempotencyKey ?? requestId}`,
    amount: BigInt(body.amount),
    actorId: actor.id,
    display: quotaDisplay(ctx.options),
  });
  await noteRefused(ctx, call, { of: "team", id: found.id }, { what: "quota", outcome });
  if (outcome === "short") throw faults.refused("余额不足");
  if (outcome === "too_large") throw faults.refused("额度超出范围");
  if (outcome === "not_found") throw faults.notFound("找不到该团队");
  // It may have ended a debt that calls wait for.
  await ctx.coord.publish("users", String(sides.toId));
  return presentOwn(ctx, actor.id, found.id);
}
