// Handlers: login and logout, registration, e-mail codes, password reset (requirements W3.3, W4).
import type { authApi } from "#contract/auth.ts";
import { isShippedFromAfar } from "#server/accounts/default-password.ts";
import { grantCredit, takeCredit } from "#server/accounts/human.ts";
import { admitVisitor } from "#server/accounts/invitations.ts";
import { register } from "#server/accounts/register.ts";
import { sendCode } from "#server/accounts/verification.ts";
import type { Context } from "#server/context.ts";
import { AppError, faults } from "#server/errors.ts";
import type { UserRow } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { auditRefusal, registering, signIn } from "./sign-in.ts";

export const auth: Handlers<{ auth: typeof authApi }>["auth"] = {
  async login(ctx, call) {
    const { body, address, isLocal } = call;
    if (!ctx.options.get("PasswordLoginEnabled")) {
      ctx.events.loginFailed({ reason: "closed", address });
      throw faults.refused("当前未开放密码登录");
    }
    const verified = await ctx.logins.verify({ ...body, address });
    if (verified.isIn) {
      const { user, hash } = verified;
      const isHere = isLocal && !(await isReachedThrough(ctx));
      if (isShippedFromAfar({ ...body, ...user, isLocal: isHere })) await refuseShipped(ctx, call, user);
      const proof = { via: "password", user, proven: { password: hash } };
      const signedIn = await signIn(ctx, call, proof).catch(async (error: unknown) => {
        if (error instanceof AppError)
          await auditRefusal(ctx, call, { via: "password", reason: error.publicMessage, known: user });
        throw error;
      });
      if (signedIn) return signedIn;
      ctx.events.loginFailed({ reason: "changed", address });
    }
    const refusal = verified.isIn ? { reason: "changed", known: verified.user } : verified;
    await auditRefusal(ctx, call, { ...refusal, via: "password" });
    throw faults.refused("账号或密码不正确，或账户已停用");
  },

  async logout(ctx, call) {
    const { session } = call;
    const found = session.id === undefined ? undefined : await ctx.sessions.find(session.id, call.address);
    const actor = found && (await ctx.actors.byId(found.user_id));
    if (session.id !== undefined)
      await ctx.sessions.end(session.id, async (tx) => {
        if (actor) await audit(ctx, tx, { ...call, actor }, { action: "auth.logout", target: actor.id });
      });
    session.clear();
    session.dropNote("half");
    return null;
  },

  async register(ctx, call) {
    const { body, address, session, onCredit } = call;
    const invitation = await admitVisitor(ctx, body.invitation);
    const userId = await register(ctx, body, {
      invitation,
      before: async (tx) => {
        if (onCredit) await takeCredit(ctx, tx, session.browserId);
      },
      after: registering(ctx, call, "password"),
    });
    ctx.events.accountCreated({ userId, via: "password", address });
    return null;
  },

  async sendCode(ctx, { actor, query, address, language, session }) {
    await sendCode(ctx, { email: query.email, userId: actor?.id ?? 0, address, language });
    await grantCredit(ctx, session.ensureBrowserId());
    return null;
  },

  async requestReset(ctx, { query, address, language }) {
    await ctx.resets.request({ email: query.email, address, language });
    return null;
  },

  reset(ctx, call) {
    return ctx.resets.finish(call.body, (tx, user) =>
      audit(ctx, tx, { ...call, actor: user }, { action: "auth.reset_password", target: user.id }),
    );
  },
};

/** Whether a request cannot show where it comes from, since a proxy is in between: asked while the default password is in use. */
async function isReachedThrough({ defaultPassword, proxySigns }: Context): Promise<boolean> {
  return defaultPassword.isInUse && (await proxySigns.isSeen());
}

/** Throws: always; the message says what to do, since there is no other way to log in. */
async function refuseShipped(ctx: Context, call: Call<typeof authApi.login>, user: UserRow): Promise<never> {
  ctx.events.loginFailed({ reason: "shipped", address: call.address });
  await auditRefusal(ctx, call, { via: "password", reason: "shipped password from afar", known: user });
  if (await ctx.firstRun.isOpen())
    throw faults.refused(
      "超级管理员仍在使用默认密码，不能从这里登录。请打开服务器终端里打印的一次性设置地址（重新启动会再次打印），或在服务器上运行 npm run reset-password",
    );
  throw faults.refused(
    (await isReachedThrough(ctx))
      ? "超级管理员仍在使用默认密码，而服务器前面有代理，默认密码已停用。请在服务器上运行 npm run reset-password 设置新密码"
      : "超级管理员仍在使用默认密码，只能从服务器本机登录。请在服务器上打开 http://127.0.0.1:端口（远程可用 SSH 隧道转发该端口），登录并修改密码后，再从其他地址登录",
  );
}
