// Handlers: the sessions of the own account, or of a user of lower rank (requirements I36). Neither ids nor hashes leave; a session goes
// by a keyed hash of its hash.

import type { SessionInfo, sessionApi } from "#contract/factor.ts";
import { holdEntry } from "#server/accounts/actors.ts";
import { describeAgent } from "#server/accounts/agent.ts";
import { may } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { constantTimeEqual } from "#server/secrets.ts";
import { deleteSessionOfUser, deleteSessionsOfUser, type SessionRow } from "#server/store/sessions.ts";
import { findUserById } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { subject } from "./user-admin.ts";

export const session: Handlers<{ session: typeof sessionApi }>["session"] = {
  async list(ctx, { actor, query, session: own }) {
    const userId = await ownerOf(ctx, actor, query.user_id);
    const isCurrent = matcher(ctx, own.id);
    const rows = await ctx.sessions.list(userId);
    return rows.map((row) => present(ctx, row, isCurrent(row)));
  },

  async end(ctx, call) {
    const { actor, body, session: own } = call;
    const userId = await ownerOf(ctx, actor, body.user_id);
    const rows = await ctx.sessions.list(userId);
    const isCurrent = matcher(ctx, own.id);
    const current = own.id === undefined ? undefined : ctx.secrets.hash(own.id);
    const chosen = rows.filter((row) => (body.id === "" ? !isCurrent(row) : publicId(ctx, row) === body.id));
    if (body.id !== "" && chosen.length === 0) throw faults.notFound("找不到该会话，可能已经结束");
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await holdEntry(ctx.secrets, tx, call))) throw faults.notSignedIn();
      if (body.id === "") await deleteSessionsOfUser(tx, userId, current);
      for (const row of body.id === "" ? [] : chosen) await deleteSessionOfUser(tx, userId, row.id_hash);
      const detail = { sessions: chosen.length };
      await audit(ctx, tx, call, { action: "user.session_end", target: userId, detail });
    });
    if (chosen.some(isCurrent)) own.clear();
    return chosen.length;
  },
};

/** Whose sessions are meant. Throws: AppError as in administration of users. */
async function ownerOf(
  ctx: Pick<Context, "db">,
  actor: Parameters<typeof subject>[0],
  userId: number,
): Promise<number> {
  if (userId === 0 || userId === actor.id) return actor.id;
  if (!may(actor, "user.session.end")) throw faults.roleTooLow();
  return subject(actor, await findUserById(ctx.db, userId)).id;
}

function publicId({ secrets }: Pick<Context, "secrets">, { id_hash }: SessionRow): string {
  return secrets.hash(`public session ${id_hash}`).slice(0, 22);
}

/** Whether a row is the session of this cookie. */
function matcher({ secrets }: Pick<Context, "secrets">, cookie: string | undefined) {
  const current = cookie === undefined ? "" : secrets.hash(cookie);
  return ({ id_hash }: SessionRow) => constantTimeEqual(id_hash, current);
}

function present(ctx: Pick<Context, "secrets">, row: SessionRow, isCurrent: boolean): SessionInfo {
  const { created_at, last_seen, address, agent, method, mfa_at } = row;
  return {
    id: publicId(ctx, row),
    is_current: isCurrent,
    created_at,
    last_seen,
    address,
    agent: agent === "" ? "" : describeAgent(agent),
    method,
    has_second_factor: mfa_at > 0,
  };
}
