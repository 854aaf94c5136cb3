// Handlers: the begin and the end of looking at the console as another user (requirements Z24).
import { VIEW_SEC, type viewApi } from "#contract/view-as.ts";
import { type Actor, holdEntry } from "#server/accounts/actors.ts";
import { actorOf, mayView } from "#server/accounts/views.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { isPassing } from "#server/store/fault.ts";
import { lookAs, type SessionRow } from "#server/store/sessions.ts";
import { findUserById, holdUser } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { subject } from "./user-admin.ts";

export const view: Handlers<{ view: typeof viewApi }>["view"] = {
  async start(ctx, call) {
    const { actor, params, session } = call;
    if (session.id === undefined) throw faults.refused("请在控制台登录后使用");
    const idHash = ctx.secrets.hash(session.id);
    const target = subject(actor, await findUserById(ctx.db, params.id));
    if (!mayView(actor, target)) throw faults.denied("不能以该用户的身份查看", `user ${target.id}: view`);
    const until = ctx.clock.seconds() + VIEW_SEC;
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await holdEntry(ctx.secrets, tx, call))) throw faults.notSignedIn();
      if (!(await holdUser(tx, target.id, { role: target.role })))
        throw faults.refused("该用户刚被修改，请刷新后重试");
      // Two begun at once: the second is another's.
      if (!(await lookAs(tx, idHash, { from: 0, to: target.id, until }))) throw faults.viewOnly();
      const detail = { username: target.username, until };
      await audit(ctx, tx, call, { action: "user.view", target: target.id, detail });
    });
    return { until };
  },

  async end(ctx, call) {
    const { actor, session } = call;
    if (actor.viewer === undefined || session.id === undefined) return null;
    await endView(
      ctx,
      { ...call, actor: actor.viewer },
      { idHash: ctx.secrets.hash(session.id), of: actor.id },
    );
    return null;
  },
};

/** Ends a view, once, and tells who looked at whom. */
export async function endView(
  ctx: Pick<Context, "db" | "clock">,
  call: ActCall,
  { idHash, of, why }: { readonly idHash: string; readonly of: number; readonly why?: "expired" },
): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    if (!(await lookAs(tx, idHash, { from: of, to: 0, until: 0 }))) return;
    const detail = why === undefined ? {} : { why };
    await audit(ctx, tx, call, { action: "user.view_end", target: of, ...(why && { detail }) });
  });
}

/** The actor of a session. A view that may not go on ends here, and is told of. */
export async function actorOfSession(
  ctx: Pick<Context, "db" | "clock" | "actors">,
  session: SessionRow,
  call: Omit<ActCall, "actor">,
): Promise<Actor | undefined> {
  const actor = await actorOf(ctx.actors, session, ctx.clock.seconds());
  if (actor === undefined || actor.viewer !== undefined || session.view_of === 0) return actor;
  const view = { idHash: session.id_hash, of: session.view_of, why: "expired" } as const;
  await endView(ctx, { ...call, actor }, view).catch((error: unknown) => {
    // While the database cannot be written its user reads on; the next call ends it.
    if (!isPassing(error)) throw error;
  });
  return actor;
}
