// The end of every login: a new session and the user as the family's clients expect it, or a refusal. Both are in the audit log.
import type { User } from "#contract/user.ts";
import type { Context } from "#server/context.ts";
import { AppError, faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import type { SeenColumns, UserRow } from "#server/store/users.ts";
import { type ActCall, audit, unknownActor } from "./audit-log.ts";
import type { SessionHandle } from "./call.ts";
import { blankUser } from "./users.ts";

/** The ways of logging in. */
export type Via = "password" | "github" | "wechat";

/** The part of a call that a login needs. */
export interface LoginCall {
  readonly session: SessionHandle;
  readonly address: string;
  readonly requestId: string;
}

/** A user with a valid proof, and the columns of the account that the proof is based on. */
export interface ProvenUser {
  readonly via: Via;
  readonly user: UserRow;
  readonly proven: SeenColumns;
}

/**
 * Opens a session for a user with a valid proof; undefined when the account was changed since, so that the proof no
 * longer counts (requirements A06). Data: five fields, all others zero (requirements W3.3).
 */
export async function signIn(
  ctx: Context,
  call: LoginCall,
  { via, user, proven }: ProvenUser,
): Promise<User | undefined> {
  const { session, address, requestId } = call;
  const act = { action: "auth.login", target: user.id, detail: { via } };
  const sessionId = await ctx.sessions.start(user.id, proven, (tx) =>
    audit(ctx, tx, { actor: user, address, requestId }, act),
  );
  if (sessionId === undefined) return undefined;
  // The session before is ended (requirements A04).
  if (session.id !== undefined) await ctx.sessions.end(session.id);
  session.set(sessionId);
  ctx.events.loginDone({ userId: user.id, address });
  const { id, username, display_name, role, status } = user;
  return { ...blankUser, id, username, display_name, role, status };
}

/** Signs in a user that an outside service vouches for; a refusal is logged and thrown on. Throws: what `prove` throws. */
export async function signInBy(
  ctx: Context,
  call: LoginCall,
  via: "github" | "wechat",
  prove: () => Promise<UserRow>,
): Promise<User> {
  try {
    const user = await prove();
    const identity = `${via}_id` as const;
    const { role, external_login } = user;
    const proven = { [identity]: user[identity], role, external_login };
    const signedIn = await signIn(ctx, call, { via, user, proven });
    if (signedIn === undefined) throw faults.refused("该账户刚被修改，请重新登录");
    return signedIn;
  } catch (error) {
    if (error instanceof AppError && error.status < 429)
      await auditRefusal(ctx, call, { via, reason: error.publicMessage });
    throw error;
  }
}

/** Logs a new account, in the transaction that makes it. */
export function registering(
  ctx: Context,
  { address, requestId }: Pick<LoginCall, "address" | "requestId">,
  via: Via,
) {
  return (tx: Db, user: ActCall["actor"]) =>
    audit(
      ctx,
      tx,
      { actor: user, address, requestId },
      { action: "auth.register", target: user.id, detail: { via } },
    );
}

/** Logs a login that was refused. `known` is the account it was for; what the visitor typed is not stored. */
export async function auditRefusal(
  ctx: Context,
  { address, requestId }: Pick<ActCall, "address" | "requestId">,
  refusal: { via: Via; reason: string; known?: UserRow | undefined },
): Promise<void> {
  const { via, reason, known } = refusal;
  await audit(
    ctx,
    ctx.db,
    { actor: unknownActor, address, requestId },
    { action: "auth.login_failed", target: known?.id ?? "", detail: { via, reason } },
  );
}
