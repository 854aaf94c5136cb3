// Handlers: administrators remove the second factors of those who lost them. Of lower ranks at once; of another super administrator a day
// after it was asked for, while all of them and the owner are told and may stop it (requirements I34).
import type { factorApi } from "#contract/factor.ts";
import { UserStatus } from "#contract/user.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isResetOver, resetDueAt } from "#server/accounts/factor-resets.ts";
import { isProtected } from "#server/accounts/factors.ts";
import { isSuper } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import {
  deleteFactorReset,
  type FactorResetRow,
  findFactorReset,
  insertFactorReset,
  takeFactorReset,
} from "#server/store/factor-resets.ts";
import { countFactors, deleteFactors } from "#server/store/factors.ts";
import { listSupers, revokeAccess } from "#server/store/user-acts.ts";
import { findUserById, getUser, holdUser, type UserRow } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { subject } from "./user-admin.ts";

type FactorHandlers = Handlers<{ factor: typeof factorApi }>["factor"];
type ResetCall = Call<typeof factorApi.reset>;

export const factorReset: Pick<FactorHandlers, "reset" | "pendingReset" | "cancelReset"> = {
  async reset(ctx, call) {
    const { actor, body } = call;
    if (body.id === actor.id) throw faults.denied("请在个人设置中管理自己的验证方式", `user ${body.id}`);
    const target = subject(actor, await findUserById(ctx.db, body.id));
    const now = ctx.clock.seconds();
    const asked = await ctx.db.transaction().execute(async (tx) => {
      // The rank that was judged above is still the target's; of two who come at once the second sees what the first did.
      if (!(await holdUser(tx, target.id, { role: target.role, status: target.status })))
        throw faults.refused("该用户刚被修改，请刷新后重试");
      if (isSuper(target)) {
        const known = await findFactorReset(tx, target.id);
        if (known === undefined || isResetOver(known, now)) return ask(ctx, tx, call, { target, known });
        await takeDue(tx, known, { actor, now });
      }
      // One from before it was demoted.
      await deleteFactorReset(tx, target.id);
      await deleteFactors(tx, target.id);
      await revokeAccess(tx, target.id);
      const detail = { username: target.username, reason: body.reason };
      await audit(ctx, tx, call, { action: "user.factor_reset", target: target.id, detail });
      return undefined;
    });
    if (asked !== undefined) {
      await tellAsked(ctx, call, target, asked);
      return { due_at: resetDueAt(asked) };
    }
    await ctx.coord.publish("users", String(target.id));
    await ctx.security.tell(target.id, "被管理员清除了全部两步验证方式，所有会话已退出");
    if (isSuper(target)) {
      const what = `收到通知：${actor.username} 清除了超级管理员 ${target.username} 的全部两步验证方式`;
      await tellSupers(ctx, what, target.id);
    }
    return { due_at: 0 };
  },

  async pendingReset(ctx, { actor, query }) {
    const userId = query.user_id === 0 ? actor.id : query.user_id;
    const isOwn = userId === actor.id;
    if (!isOwn && !isSuper(actor)) throw faults.denied("只有超级管理员可以查看", `user ${userId}`);
    const row = await findFactorReset(ctx.db, userId);
    if (row === undefined || isResetOver(row, ctx.clock.seconds())) return null;
    return {
      asked_by_name: (await findUserById(ctx.db, row.asked_by))?.username ?? "",
      asked_at: row.asked_at,
      due_at: resetDueAt(row),
      is_mine: row.asked_by === actor.id,
      // As in the letters: not why.
      reason: isOwn ? "" : row.reason,
    };
  },

  async cancelReset(ctx, call) {
    const { actor, body } = call;
    const isOwn = body.id === actor.id;
    if (!isOwn && !isSuper(actor)) throw faults.denied("只有超级管理员可以撤销", `user ${body.id}`);
    // The proof that came before was a password where there is no factor.
    if (isOwn && !isProtected(await countFactors(ctx.db, actor.id)))
      throw faults.refused("请用验证方式登录后再撤销，或联系另一位超级管理员");
    await ctx.db.transaction().execute(async (tx) => {
      const row = await findFactorReset(tx, body.id);
      if (row === undefined || isResetOver(row, ctx.clock.seconds()) || !(await takeFactorReset(tx, row)))
        throw faults.notFound("没有待执行的申请，可能已被撤销或执行");
      const detail = { asked_by: row.asked_by };
      await audit(ctx, tx, call, { action: "user.factor_reset_cancel", target: body.id, detail });
    });
    const target = await getUser(ctx.db, body.id);
    const what = `收到通知：${actor.username} 撤销了清除超级管理员 ${target.username} 的两步验证的申请`;
    await tellSupers(ctx, what);
    if (!isSuper(target)) await ctx.security.tell(target.id, what);
    return null;
  },
};

/** Notes the request in the place of one that is over. */
async function ask(
  ctx: Context,
  tx: Db,
  call: ResetCall,
  { target, known }: { target: UserRow; known: FactorResetRow | undefined },
): Promise<FactorResetRow> {
  const { actor, body } = call;
  const row = {
    user_id: target.id,
    asked_by: actor.id,
    asked_at: ctx.clock.seconds(),
    reason: body.reason,
  };
  if (known !== undefined) await takeFactorReset(tx, known);
  if (!(await insertFactorReset(tx, row))) throw faults.refused("该用户刚被修改，请刷新后重试");
  const detail = { username: target.username, reason: body.reason };
  await audit(ctx, tx, call, { action: "user.factor_reset_ask", target: target.id, detail });
  return row;
}

/** Takes the request that the actor made a day ago. Throws: AppError when it is another's, too young, or was stopped meanwhile. */
async function takeDue(
  tx: Db,
  row: FactorResetRow,
  { actor, now }: { actor: Actor; now: number },
): Promise<void> {
  if (row.asked_by !== actor.id) throw faults.refused("另一位超级管理员已提出申请，只能由其执行");
  if (now < resetDueAt(row)) throw faults.refused("申请满 24 小时后才能执行");
  if (!(await takeFactorReset(tx, row))) throw faults.refused("没有待执行的申请，可能已被撤销或执行");
}

async function tellAsked(
  ctx: Context,
  { actor }: ResetCall,
  target: UserRow,
  row: FactorResetRow,
): Promise<void> {
  const what = `收到通知：${actor.username} 申请清除超级管理员 ${target.username} 的全部两步验证方式，24 小时后可以执行，期间可以撤销`;
  await tellSupers(ctx, what);
  // A disabled one is not among them.
  if (target.status !== UserStatus.enabled) await ctx.security.tell(target.id, what);
  ctx.notify({
    event: "factor_reset",
    about: `factors of user ${target.id} at ${row.asked_at}`,
    title: `申请清除超级管理员 ${target.username} 的两步验证`,
    content: `申请人：${actor.username}\n24 小时后可以执行，期间本人与任何超级管理员都可以撤销。`,
  });
}

async function tellSupers(ctx: Context, what: string, exceptId = 0): Promise<void> {
  for (const { id } of await listSupers(ctx.db)) if (id !== exceptId) await ctx.security.tell(id, what);
}
