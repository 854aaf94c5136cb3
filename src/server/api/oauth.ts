// Handlers: coming in through GitHub or the WeChat server, and binding those or an e-mail address (contract 4.3, 4.5, 4.6).
import type { oauthApi } from "#contract/oauth.ts";
import { bindPerson, enterAs } from "#server/accounts/external.ts";
import { beginOAuth, finishGithub } from "#server/accounts/github.ts";
import { bindEmail } from "#server/accounts/verification.ts";
import type { Handlers } from "./call.ts";
import { signIn } from "./sign-in.ts";

export const oauth: Handlers<{ oauth: typeof oauthApi }>["oauth"] = {
  async state(ctx, { actor, session }) {
    const browserId = session.ensureBrowserId();
    const { state, url } = await beginOAuth(ctx, { browserId, userId: actor?.id ?? 0 });
    return { data: state, url };
  },

  async github(ctx, { actor, query, address, session }) {
    const visitor = { browserId: session.browserId, userId: actor?.id ?? 0 };
    const person = await finishGithub(ctx, visitor, query);
    if (actor) {
      await bindPerson(ctx, person, { actor, sessionId: session.id });
      // Clients tell a binding from a login by this word (contract 4.5).
      return { data: null, message: "bind" };
    }
    const user = await enterAs(ctx, person, { affCode: query.aff_code, address });
    return { data: await signIn(ctx, { session, address }, user), message: "" };
  },

  async wechat(ctx, { query, address, session }) {
    const person = await ctx.wechat.identify(query.code, address);
    const user = await enterAs(ctx, person, { affCode: query.aff_code, address });
    return signIn(ctx, { session, address }, user);
  },

  async bindWeChat(ctx, { actor, query, address, session }) {
    const person = await ctx.wechat.identify(query.code, address);
    await bindPerson(ctx, person, { actor, sessionId: session.id });
    return null;
  },

  async bindEmail(ctx, { actor, query }) {
    await bindEmail(ctx, { userId: actor.id, email: query.email, code: query.code });
    return null;
  },
};
