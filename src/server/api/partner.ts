// Handlers: topping up and the partner plan (requirements W3.8, W17). Only the ledger changes balances.
import { LogType } from "#contract/log.ts";
import type { partnerApi } from "#contract/partner.ts";
import { microOf, yuanText } from "#contract/yuan.ts";
import { ensureAffCode } from "#server/accounts/new-account.ts";
import type { Context } from "#server/context.ts";
import { type AppError, faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import { commissionHeld } from "#server/money/commission-hold.ts";
import { leastWithdrawal } from "#server/money/commission-terms.ts";
import type { Redeemed } from "#server/money/partner-operations.ts";
import { redeem } from "#server/money/redeem.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import { countFriends, listFriends } from "#server/store/partners.ts";
import { findUserById, getUser } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { raiseOf, tellRaise } from "./raises.ts";
import { subject } from "./user-admin.ts";
import { leastText, noteRefused, refuseUnbooked, withRemark } from "./user-amounts.ts";

/** Redeems a code for an account; wrong ones count against who tries. Throws: AppError with the reason, 429. */
export async function redeemFor(
  ctx: Context,
  {
    actor,
    address,
    idempotencyKey,
  }: Pick<Call<typeof partnerApi.topUp>, "actor" | "address" | "idempotencyKey">,
  code: { readonly userId: number; readonly key: string; readonly giftCode: string },
): Promise<{ quota: bigint; bonus: bigint }> {
  const order = {
    ...code,
    operationId: idempotencyKey && `redeem-${idempotencyKey}`,
  };
  const redeemed = await ctx.limits.guess({
    limits: [
      { limit: LIMITS.redeemAccount, subject: String(actor.id) },
      { limit: LIMITS.redeemAddress, subject: address },
    ],
    evaluate: () => redeem(ctx, order),
    isWrong: ({ outcome }) => outcome !== "done" && REFUSALS[outcome].isGuess,
    onRefused: () => ctx.events.rateLimited({ limit: LIMITS.redeemAccount.name, address }),
  });
  if (redeemed.outcome !== "done") throw REFUSALS[redeemed.outcome].fault();
  // It may have ended a debt that calls wait for.
  await ctx.coord.publish("users", String(order.userId));
  return redeemed;
}

export const partner: Handlers<{ partner: typeof partnerApi }>["partner"] = {
  async topUp(ctx, call) {
    const { actor, body } = call;
    const { quota, bonus } = await redeemFor(ctx, call, {
      ...{ userId: actor.id, key: body.key, giftCode: body.gift_code ?? "" },
    });
    return { data: Number(quota + bonus), bonus: Number(bonus) };
  },

  async adminTopUp(ctx, call) {
    const { actor, body, idempotencyKey } = call;
    const target = subject(actor, await findUserById(ctx.db, body.user_id));
    const { quota, remark } = body;
    const delta = BigInt(quota);
    const raise = await raiseOf(ctx, { action: "user.topup", target: target.id, delta });
    const detail = { ...raise, quota, remark };
    await audit(ctx, ctx.db, call, { action: "user.topup", target: target.id, detail });
    tellRaise(ctx, call, { ...raise, name: target.username });
    const adjusted = await ctx.ledger.adjust({
      userId: target.id,
      kind: "topup",
      quota: { delta },
      actorId: actor.id,
      reason: remark || "管理员充值",
      ...(idempotencyKey === undefined ? {} : { operationId: `topup-${idempotencyKey}` }),
      log: {
        type: LogType.topup,
        content: withRemark("管理员充值 {amount}", remark),
        display: quotaDisplay(ctx.options),
      },
    });
    await noteRefused(ctx, call, { of: "user", id: target.id }, { what: "topup", outcome: adjusted.outcome });
    refuseUnbooked(adjusted);
    // It may have ended a debt that calls wait for.
    await ctx.coord.publish("users", String(target.id));
    return null;
  },

  async withdraw(ctx, call) {
    const { actor, body, idempotencyKey } = call;
    const target = subject(actor, await findUserById(ctx.db, body.user_id));
    const { amount, remark } = body;
    await audit(ctx, ctx.db, call, {
      action: "user.withdraw",
      target: target.id,
      detail: { amount, remark },
    });
    const changed = await ctx.ledger.changeCommission({
      userId: target.id,
      kind: "withdraw",
      micro: { delta: -(microOf(amount) ?? 0n) },
      keepMicro: await commissionHeld(ctx, target.id),
      leastMicro: leastWithdrawal(ctx.options),
      actorId: actor.id,
      reason: remark || "提现",
      operationId: idempotencyKey && `withdraw-${idempotencyKey}`,
      log: {
        type: LogType.manage,
        content: withRemark("提现 {amount} 已支付，返现余额从 {before} 变为 {after}", remark),
        display: quotaDisplay(ctx.options),
      },
    });
    await noteRefused(
      ctx,
      call,
      { of: "user", id: target.id },
      { what: "withdrawal", outcome: changed.outcome },
    );
    if (changed.outcome === "below_least") throw faults.refused(leastText(ctx.options));
    if (changed.outcome === "below_zero") throw faults.refused("返现余额不足");
    if (changed.outcome === "held") throw faults.refused("可提现的返现不足：一部分仍在冻结期");
    refuseUnbooked(changed);
    return yuanText((await getUser(ctx.db, target.id)).invite_commission_micro);
  },

  async friends(ctx, { actor, query }) {
    // 1-based, and lenient: 0 is the first page too (requirements W20.2).
    const page = { page: Math.max(query.page, 1) - 1, size: query.size };
    const rows = await listFriends(ctx.db, actor.id, page);
    return {
      data: rows.map((row) => ({ invited_time: row.created_at, username: row.username })),
      total: await countFriends(ctx.db, actor.id),
    };
  },

  async info(ctx, { actor }) {
    // One code for both: it is the end of the invitation link (requirements W20.7).
    const code = await ensureAffCode(ctx.db, actor.id);
    const { invite_commission_micro } = await getUser(ctx.db, actor.id);
    return { aff_code: code, gift_code: code, invite_balance: yuanText(invite_commission_micro) };
  },
};

/** Why a code was not redeemed; `isGuess` = it counts against the limit of wrong codes (requirements L04). */
const REFUSALS: Readonly<
  Record<Exclude<Redeemed["outcome"], "done">, { readonly isGuess: boolean; fault(): AppError }>
> = {
  unknown_code: { isGuess: true, fault: () => faults.refused("兑换码无效") },
  disabled_code: { isGuess: true, fault: () => faults.refused("兑换码无效") },
  used_code: { isGuess: true, fault: () => faults.refused("兑换码已被使用") },
  unknown_gift: { isGuess: true, fault: () => faults.refused("礼品码无效") },
  own_gift: { isGuess: false, fault: () => faults.refused("不能使用自己的礼品码") },
  user_disabled: { isGuess: false, fault: () => faults.accountDisabled() },
  too_large: { isGuess: false, fault: () => faults.refused("额度超出范围") },
};
