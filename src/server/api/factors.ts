// Handlers: the second half of a login, and the second factors of the own account (requirements I22–I30, I34).
import type { AuditAction } from "#contract/audit-actions.ts";
import type { factorApi, LoginUser } from "#contract/factor.ts";
import { trustEnd } from "#server/accounts/browsers.ts";
import { beginTotp, finishTotp } from "#server/accounts/enrolment.ts";
import {
  acceptCode,
  factorDue,
  isProtected,
  mustHaveFactor,
  renewRecoveryCodes,
} from "#server/accounts/factors.ts";
import { findHalf, type HalfLogin, takeHalf } from "#server/accounts/half-sessions.ts";
import {
  askPasskey,
  beginPasskey,
  finishPasskey,
  judgePasskey,
  relyingParty,
} from "#server/accounts/passkeys.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { distrustDevices } from "#server/store/devices.ts";
import { countFactors, deleteFactors, deleteTotp, findTotp } from "#server/store/factors.ts";
import { deletePasskey, listPasskeys, type PasskeyRow, renamePasskey } from "#server/store/passkeys.ts";
import type { SessionRow } from "#server/store/sessions.ts";
import { findPasswordByUserId, getUser, holdUser } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { factorReset } from "./factor-resets.ts";
import { auditRefusal, isEnabled, openSession } from "./sign-in.ts";

const TIMED_OUT = "登录已超时，请重新登录";

export const factor: Handlers<{ factor: typeof factorApi }>["factor"] = {
  async login(ctx, call) {
    const { body, session, address } = call;
    const halfId = session.note("half");
    const half = await findHalf(ctx, halfId);
    if (halfId === undefined || half === undefined) throw faults.refused(TIMED_OUT);
    const found = await acceptCode(ctx, { userId: half.userId, typed: body.code, address });
    if (found === undefined) {
      const known = await getUser(ctx.db, half.userId);
      await auditRefusal(ctx, call, { via: half.via, reason: "second factor", known });
      throw faults.refused("验证码不正确");
    }
    const now = ctx.clock.seconds();
    const isRecovery = found.kind === "recovery";
    const proves = found.kind === "totp" && found.trustedFrom <= now;
    const data = await finishLogin(ctx, call, half, {
      method: found.kind,
      mfa_at: now,
      ...(proves ? { stepup_at: now } : {}),
      ...(isRecovery ? { recovered_at: now } : {}),
      // A user who lost the factor is not one to be asked for it less often.
      ...(body.remember && !isRecovery ? { trustUntil: trustEnd(now) } : {}),
      beside: async (tx) => {
        if (!(await takeHalf(ctx, tx, halfId))) throw faults.refused(TIMED_OUT);
      },
    });
    if (isRecovery) {
      const { recovery } = await countFactors(ctx.db, half.userId);
      await ctx.security.tell(half.userId, `使用了一个恢复码登录，还剩 ${recovery} 个`);
    }
    return data;
  },

  async askLoginPasskey(ctx, { session }) {
    const { holder, half } = await passkeyHolder(ctx, { session, isNew: true });
    const ref = { purpose: "passkey-login", holder: holder ?? "" } as const;
    return { ...(await askPasskey(ctx, ref, half?.userId)) };
  },

  async loginPasskey(ctx, call) {
    const { session, body } = call;
    const { holder, half } = await passkeyHolder(ctx, { session, isNew: false });
    const asked = { purpose: "passkey-login", holder, userId: half?.userId, response: body } as const;
    const used = await judgePasskey(ctx, asked, telling(ctx));
    const user = await getUser(ctx.db, used.row.user_id);
    if (!isEnabled(user)) throw faults.accountDisabled();
    const now = ctx.clock.seconds();
    const login: HalfLogin = half ?? { userId: user.id, via: "passkey", proven: {}, outside: undefined };
    return finishLogin(ctx, call, login, {
      method: "passkey",
      mfa_at: now,
      ...(used.row.trusted_from <= now ? { stepup_at: now } : {}),
      beside: async (tx) => {
        if (half && !(await takeHalf(ctx, tx, holder ?? ""))) throw faults.refused(TIMED_OUT);
        if (!(await used.use(tx))) throw faults.refused("通行密钥验证失败，请重试");
      },
    });
  },

  async state(ctx, { actor }) {
    const { db } = ctx;
    const totp = await findTotp(db, actor.id);
    const passkeys = await listPasskeys(db, actor.id);
    const { recovery } = await countFactors(db, actor.id);
    return {
      totp_created_at: totp?.created_at ?? 0,
      totp_used_at: totp?.last_used_at ?? 0,
      passkeys: passkeys.map(presentPasskey),
      recovery_left: recovery,
      has_password: (await findPasswordByUserId(db, actor.id)) !== "",
      passkeys_possible: relyingParty(ctx) !== undefined,
      is_required: mustHaveFactor(ctx, actor.role),
      due_at: await factorDue(ctx, actor),
    };
  },

  async beginTotp(ctx, call) {
    const { sessionId } = await ownSession(ctx, call);
    return beginTotp(ctx, call.actor, sessionId);
  },

  async finishTotp(ctx, call) {
    const { actor, body } = call;
    const own = await ownSession(ctx, call);
    const asked = { userId: actor.id, ...own, typed: body.code };
    const codes = await finishTotp(ctx, asked, changing(ctx, call, "user.factor_add", { kind: "totp" }));
    await ctx.security.tell(actor.id, "添加了认证器应用");
    return { recovery_codes: codes };
  },

  async removeTotp(ctx, call) {
    await removing(ctx, call, { kind: "totp" }, (tx) => deleteTotp(tx, call.actor.id));
    await ctx.security.tell(call.actor.id, "移除了认证器应用");
    return null;
  },

  async recovery(ctx, call) {
    const { actor } = call;
    const codes = await ctx.db.transaction().execute(async (tx) => {
      await holdUser(tx, actor.id, {});
      if (!isProtected(await countFactors(tx, actor.id)))
        throw faults.refused("请先添加认证器应用或通行密钥");
      const made = await renewRecoveryCodes(ctx, tx, actor.id);
      await changing(ctx, call, "user.recovery_codes", {})(tx);
      return made;
    });
    await ctx.security.tell(actor.id, "生成了新的恢复码，旧的已失效");
    return { recovery_codes: codes };
  },

  async beginPasskey(ctx, call) {
    const { sessionId } = await ownSession(ctx, call);
    return { ...(await beginPasskey(ctx, call.actor, sessionId)) };
  },

  async finishPasskey(ctx, call) {
    const { actor, body } = call;
    const own = await ownSession(ctx, call);
    const asked = { userId: actor.id, ...own, name: body.name, response: body.credential };
    const change = changing(ctx, call, "user.factor_add", { kind: "passkey", name: body.name });
    const codes = await finishPasskey(ctx, asked, change);
    await ctx.security.tell(actor.id, "添加了通行密钥");
    return { recovery_codes: codes };
  },

  async renamePasskey(ctx, { actor, body }) {
    if (!(await renamePasskey(ctx.db, { ...body, userId: actor.id }))) throw faults.notFound();
    return null;
  },

  async removePasskey(ctx, call) {
    const { actor, params } = call;
    await removing(ctx, call, { kind: "passkey" }, (tx) => deletePasskey(tx, actor.id, params.id));
    await ctx.security.tell(actor.id, "移除了通行密钥");
    return null;
  },

  ...factorReset,
};

function presentPasskey(row: PasskeyRow) {
  const { id, name, created_at, last_used_at } = row;
  return {
    id,
    name,
    created_at,
    last_used_at,
    is_synced: row.is_synced === 1,
    is_suspicious: row.is_suspicious === 1,
  };
}

/** Opens the session of a login whose second factor was right. Throws: AppError when the account was changed meanwhile. */
async function finishLogin(
  ctx: Context,
  call: Parameters<typeof openSession>[1],
  half: HalfLogin,
  traits: Parameters<typeof openSession>[3],
): Promise<LoginUser> {
  const { userId, via, proven, outside } = half;
  const user = await getUser(ctx.db, userId);
  const proof = { via, user, proven, ...(outside && { outside: { ...outside, isStrong: false } }) };
  const data = await openSession(ctx, call, proof, traits);
  call.session.dropNote("half");
  if (data === undefined) throw faults.refused("该账户刚被修改，请重新登录");
  return data;
}

/** What the challenge of a login is bound to: half a login when there is one, else the browser. */
async function passkeyHolder(
  ctx: Context,
  { session, isNew }: { session: Call<typeof factorApi.loginPasskey>["session"]; isNew: boolean },
): Promise<{ holder: string | undefined; half: HalfLogin | undefined }> {
  const halfId = session.note("half");
  const half = await findHalf(ctx, halfId);
  if (half) return { holder: halfId, half };
  return { holder: isNew ? session.ensureBrowserId() : session.browserId, half: undefined };
}

/** Tells the owner of a passkey whose counter fell back, and the audit log. */
export function telling(ctx: Context) {
  return async (row: PasskeyRow) => {
    await ctx.security.tell(row.user_id, `有一次异常的通行密钥验证被拒绝：“${row.name}”可能已被复制`);
  };
}

/** The session of a call; changes of factors are bound to it. Throws: 403 for an access token. */
export async function ownSession(
  ctx: Pick<Context, "sessions">,
  { actor, session }: { actor: { readonly id: number }; session: { readonly id: string | undefined } },
): Promise<{ sessionId: string; session: SessionRow }> {
  const sessionId = session.id;
  const row = sessionId === undefined ? undefined : await ctx.sessions.get(sessionId, actor.id);
  if (sessionId === undefined || !row)
    throw faults.verification("VERIFICATION_REQUIRED", "该操作需要登录会话，不能使用系统访问令牌");
  return { sessionId, session: row };
}

function changing(
  ctx: Context,
  call: Parameters<typeof audit>[2],
  action: AuditAction,
  detail: Readonly<Record<string, string>>,
) {
  return (tx: Db) => audit(ctx, tx, call, { action, target: call.actor.id, detail });
}

/** Removes a factor; recovery codes go with the last one. Throws: AppError when there is none, or the operator wants one. */
async function removing(
  ctx: Context,
  call: Parameters<typeof audit>[2] & { readonly actor: { readonly role: number } },
  detail: Readonly<Record<string, string>>,
  remove: (tx: Db) => Promise<boolean>,
): Promise<void> {
  const { actor } = call;
  await ctx.db.transaction().execute(async (tx) => {
    // Of two that are removed at once the second sees what is left.
    await holdUser(tx, actor.id, {});
    if (!(await remove(tx))) throw faults.notFound("没有这个验证方式");
    if (!isProtected(await countFactors(tx, actor.id))) {
      if (mustHaveFactor(ctx, actor.role)) throw faults.refused("管理员要求保留至少一个验证方式");
      await deleteFactors(tx, actor.id);
    }
    await distrustDevices(tx, actor.id);
    await changing(ctx, call, "user.factor_remove", detail)(tx);
  });
}
