// Handlers: coming in and going out.
import type { authApi } from "#contract/auth.ts";
import { faults } from "#server/errors.ts";
import type { Handlers } from "./call.ts";
import { blankUser } from "./users.ts";

export const auth: Handlers<{ auth: typeof authApi }>["auth"] = {
  async login(ctx, { body, address, session }) {
    if (!ctx.options.get("PasswordLoginEnabled")) {
      ctx.events.loginFailed({ reason: "closed", address });
      throw faults.refused("当前未开放密码登录");
    }
    const user = await ctx.logins.verify({ ...body, address });
    // A session that was there before is not carried on (reliability A04).
    if (session.id !== undefined) await ctx.sessions.end(session.id);
    session.set(await ctx.sessions.start(user.id));
    ctx.events.loginDone({ userId: user.id, address });
    const { id, username, display_name, role, status } = user;
    return { ...blankUser, id, username, display_name, role, status };
  },

  async logout(ctx, { session }) {
    if (session.id !== undefined) await ctx.sessions.end(session.id);
    session.clear();
    return null;
  },
};
