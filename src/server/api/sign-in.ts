// The end of every login: a new session and the user as the family's clients expect it, half a login when a second factor is to come,
// or a refusal. Logins and refusals are in the audit log.

import type { FactorKind, LoginUser } from "#contract/factor.ts";
import { UserStatus } from "#contract/user.ts";
import { describeAgent } from "#server/accounts/agent.ts";
import { countDevice, type DeviceMeeting, isTrustedBrowser } from "#server/accounts/browsers.ts";
import { isProtected } from "#server/accounts/factors.ts";
import { HALF_SEC, type HalfLogin, keepHalf } from "#server/accounts/half-sessions.ts";
import { onlyWayIn } from "#server/accounts/identities.ts";
import { isStaff } from "#server/accounts/may.ts";
import type { Made } from "#server/accounts/new-account.ts";
import type { SessionTraits } from "#server/accounts/sessions.ts";
import type { Context } from "#server/context.ts";
import { AppError, faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { countFactors, type FactorCount } from "#server/store/factors.ts";
import { findIdentityOfUser } from "#server/store/sign-on.ts";
import type { SeenColumns, UserRow } from "#server/store/users.ts";
import { type ActCall, audit, auditJoin, unknownActor } from "./audit-log.ts";
import type { SessionHandle } from "./call.ts";
import { blankUser, shownRights } from "./users.ts";

/** The ways of logging in that every installation has; a provider's is its slug. */
export type Via = "password" | "github" | "wechat" | (string & {});

/** The part of a call that a login needs. */
export interface LoginCall {
  readonly session: SessionHandle;
  readonly address: string;
  readonly requestId: string;
  readonly agent: string;
}

/** A user with a valid proof, and the columns of the account that the proof is based on. */
export interface ProvenUser {
  readonly via: Via;
  readonly user: UserRow;
  readonly proven: SeenColumns;
  /** Of a login at an outside provider; `isStrong` = its second factor counts as ours. */
  readonly outside?: NonNullable<HalfLogin["outside"]> & { readonly isStrong: boolean };
}

/**
 * Opens a session for a user with a valid proof, or begins half a login when the account has a second factor; undefined when the
 * account was changed since, so that the proof no longer counts (requirements A06). Data: five fields, all others zero (requirements
 * W3.3).
 */
export async function signIn(
  ctx: Context,
  call: LoginCall,
  proof: ProvenUser,
): Promise<LoginUser | undefined> {
  const { via, user, proven, outside } = proof;
  const factors = await countFactors(ctx.db, user.id);
  const now = ctx.clock.seconds();
  const hasFactor = isProtected(factors);
  if (!hasFactor || outside?.isStrong)
    return openSession(ctx, call, proof, {
      // All that the account has was given just now.
      stepup_at: now,
      ...(outside?.isStrong ? { mfa_at: now } : {}),
    });
  if (await isTrustedBrowser(ctx, call.session.note("device"), user.id))
    return openSession(ctx, call, proof, {});
  const half = await keepHalf(ctx, { userId: user.id, via, proven, outside });
  call.session.keepNote("half", half, HALF_SEC);
  return { ...blankUser, require_2fa: true, factors: kindsOf(factors) };
}

/** All that an account can prove itself with, so that a user is not led to one that is lost. */
export function kindsOf({ totp, passkeys, recovery }: FactorCount): FactorKind[] {
  return [
    ...(passkeys > 0 ? (["passkey"] as const) : []),
    ...(totp > 0 ? (["totp"] as const) : []),
    ...(recovery > 0 ? (["recovery"] as const) : []),
  ];
}

/** Opens the session. `beside` is written in its transaction; when it throws there is none. Throws: AppError when another way is the only one. */
export async function openSession(
  ctx: Context,
  call: LoginCall,
  { via, user, proven, outside }: ProvenUser,
  traits: SessionTraits & { readonly trustUntil?: number; readonly beside?: (tx: Db) => Promise<void> },
): Promise<LoginUser | undefined> {
  const { session, address, requestId, agent } = call;
  const only = await onlyWayIn(ctx.db, user);
  if (only !== undefined && only.id !== outside?.provider_id)
    throw faults.refused(`该账户须通过 ${only.name} 登录`);
  const { trustUntil, beside, ...rest } = traits;
  const browser = countDevice(ctx, session.note("device"));
  const met: { browser: DeviceMeeting } = { browser: "known" };
  const factor = rest.method === undefined ? {} : { factor: rest.method };
  const sessionId = await ctx.sessions.start(user.id, proven, {
    traits: {
      method: via,
      ...(outside && {
        provider_id: outside.provider_id,
        logout_key: outside.logout_key,
        id_token: outside.id_token,
      }),
      ...rest,
      address,
      agent: agent.slice(0, 200),
      device_hash: browser.hash,
    },
    beside: async (tx) => {
      // What was unbound meanwhile opens nothing.
      if (outside && !(await findIdentityOfUser(tx, user.id, outside.provider_id)))
        throw faults.refused("该绑定刚被解除，请重新登录");
      await beside?.(tx);
      met.browser = await browser.meet(tx, user.id, trustUntil);
      const act = { action: "auth.login" as const, target: user.id, detail: { via, ...factor } };
      await audit(ctx, tx, { actor: user, address, requestId }, act);
    },
  });
  if (sessionId === undefined) return undefined;
  // The session before is ended (requirements A04).
  if (session.id !== undefined) await ctx.sessions.end(session.id);
  session.set(sessionId);
  if (session.note("invitation") !== undefined) session.dropNote("invitation");
  session.keepNote("device", browser.id, browser.maxAgeSec);
  ctx.events.loginDone({ userId: user.id, address });
  if (isStaff(user)) tellOfStaff(ctx, call, { via, user });
  if (met.browser === "new") await ctx.security.tellNewBrowser(user, { address, agent });
  const { id, username, display_name, role, status, staff_set_id } = user;
  const actor = await ctx.actors.byId(id);
  const rights = actor && shownRights(actor);
  return { ...blankUser, id, username, display_name, role, status, staff_set_id, ...rights };
}

/** Tells the targets of alerts that an administrator has come in. */
function tellOfStaff(
  ctx: Context,
  { address, agent }: LoginCall,
  { via, user }: Pick<ProvenUser, "via" | "user">,
): void {
  ctx.notify({
    event: "admin_login",
    about: `user ${user.id} ${address}`,
    title: `管理员 ${user.username} 登录`,
    content: `地址：${address}\n浏览器：${describeAgent(agent)}\n方式：${via}`,
  });
}

/** Signs in a user that an outside service vouches for; a refusal is logged and thrown on. Throws: what `prove` throws. */
export async function signInBy(
  ctx: Context,
  call: LoginCall,
  via: "github" | "wechat",
  prove: () => Promise<UserRow>,
): Promise<LoginUser> {
  return attempt(ctx, call, via, async () => {
    const user = await prove();
    const identity = `${via}_id` as const;
    const { role, external_login } = user;
    return { via, user, proven: { [identity]: user[identity], role, external_login } };
  });
}

/** Signs in the user whom `prove` proves; a refusal is logged and thrown on. Throws: what `prove` throws; AppError. */
export async function attempt(
  ctx: Context,
  call: LoginCall,
  via: Via,
  prove: () => Promise<ProvenUser>,
): Promise<LoginUser> {
  try {
    const signedIn = await signIn(ctx, call, await prove());
    if (signedIn === undefined) throw faults.refused("该账户刚被修改，请重新登录");
    return signedIn;
  } catch (error) {
    if (error instanceof AppError && error.status < 429)
      await auditRefusal(ctx, call, { via, reason: error.publicMessage });
    throw error;
  }
}

/** Whether an account may sign in at all. */
export function isEnabled({ status }: UserRow): boolean {
  return status === UserStatus.enabled;
}

/** Logs a new account, in the transaction that makes it. */
export function registering(
  ctx: Context,
  { address, requestId }: Pick<LoginCall, "address" | "requestId">,
  via: Via,
) {
  return async (tx: Db, user: ActCall["actor"] & Made) => {
    const own = { actor: { id: user.id, username: user.username }, address, requestId };
    const { id, invitation } = user;
    const detail = { via, ...(invitation !== undefined && { invitation }) };
    await audit(ctx, tx, own, { action: "auth.register", target: id, detail });
    await auditJoin(ctx, tx, own, user.joined);
  };
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
