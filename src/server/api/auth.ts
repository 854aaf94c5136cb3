// Handlers: coming in and going out, registration, e-mail codes, password reset (contract 3.3, 4).
import type { authApi } from "#contract/auth.ts";
import { endCredit, grantCredit } from "#server/accounts/human.ts";
import { register } from "#server/accounts/register.ts";
import { sendCode } from "#server/accounts/verification.ts";
import { faults } from "#server/errors.ts";
import type { Handlers } from "./call.ts";
import { signIn } from "./sign-in.ts";

export const auth: Handlers<{ auth: typeof authApi }>["auth"] = {
  async login(ctx, { body, address, session }) {
    if (!ctx.options.get("PasswordLoginEnabled")) {
      ctx.events.loginFailed({ reason: "closed", address });
      throw faults.refused("当前未开放密码登录");
    }
    return signIn(ctx, { session, address }, await ctx.logins.verify({ ...body, address }));
  },

  async logout(ctx, { session }) {
    if (session.id !== undefined) await ctx.sessions.end(session.id);
    session.clear();
    return null;
  },

  async register(ctx, { body, address, session }) {
    const userId = await register(ctx, body);
    await endCredit(ctx, session.browserId);
    ctx.events.accountCreated({ userId, via: "password", address });
    return null;
  },

  async sendCode(ctx, { actor, query, address, session }) {
    await sendCode(ctx, { email: query.email, userId: actor?.id ?? 0, address });
    await grantCredit(ctx, session.ensureBrowserId());
    return null;
  },

  async requestReset(ctx, { query, address }) {
    await ctx.resets.request({ email: query.email, address });
    return null;
  },

  reset: (ctx, { body }) => ctx.resets.finish(body),
};
