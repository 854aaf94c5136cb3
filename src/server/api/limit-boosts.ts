// Raises a limit for a while, whosever it is: one raise at a time, with a reason, until a moment that ends it by itself (requirements L14). Who
// may is asked before.
import type { Limit, LimitBoost, OwnedBoost } from "#contract/limit.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { findLimit, type LimitRow, listLimits, raiseLimit } from "#server/store/limits.ts";
import { type ActCall, audit } from "./audit-log.ts";
import { limitsOf, type OwnedSubject, whoseOf } from "./limit-view.ts";

/** A limit, and the teams in whose own lists acts on it stand. */
type Raised = Pick<LimitRow, "id" | "subject" | "subject_id" | "subject_name"> & {
  readonly teams?: readonly number[];
};

/** Raises a limit, or with an amount of 0 ends that. Throws: when its end is not to come, or it is raised already. */
export async function boostLimit(
  ctx: Context,
  call: ActCall,
  { id, teams = [], ...of }: Raised,
  { amount, until, reason }: LimitBoost,
): Promise<void> {
  const nowSec = ctx.clock.seconds();
  const isEnd = amount === 0;
  if (!isEnd && until <= nowSec) throw faults.refused("结束时间须在将来");
  await ctx.db.transaction().execute(async (tx) => {
    const change = isEnd
      ? { boost_amount: 0, boost_until: 0, boost_reason: "" }
      : { boost_amount: amount, boost_until: until, boost_reason: reason };
    const old = await findLimit(tx, id);
    // Of two at once the second finds it raised.
    if (!(await raiseLimit(tx, id, change, isEnd ? "raised" : { atSec: nowSec })))
      throw faults.refused("该限额已在临时提高中，请先结束");
    await audit(ctx, tx, call, {
      action: "limit.boost",
      target: id,
      detail: { ...whoseOf(of), amount, until, reason },
      ...(old && {
        before: { amount: old.boost_amount, until: old.boost_until, reason: old.boost_reason },
      }),
      teams,
    });
  });
}

/** The same for a limit of a token, a member, a project or a team; `tell` = what all nodes are told then. Returns all limits there. */
export async function boostOwned(
  ctx: Context,
  call: ActCall & { readonly body: OwnedBoost },
  { teams = [], ...of }: OwnedSubject & Pick<Raised, "teams">,
  tell: { readonly topic: "tokens" | "users"; readonly id: number },
): Promise<Limit[]> {
  const { limit_id, ...boost } = call.body;
  const rows = await listLimits(ctx.db, { subject: of.subject, ids: [of.id] });
  const row = rows.find(({ id }) => id === limit_id);
  if (!row) throw faults.notFound("找不到该限额");
  await boostLimit(ctx, call, { ...row, teams }, boost);
  await ctx.coord.publish(tell.topic, String(tell.id));
  return limitsOf(ctx, { subject: of.subject, ids: [of.id] }, 0);
}
