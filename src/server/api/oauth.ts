// Handlers: logging in through GitHub or the WeChat server, and binding these or an e-mail address (requirements W4.3, W4.5, W4.6).
import type { oauthApi } from "#contract/oauth.ts";
import { type Arrival, bindPerson, enterAs } from "#server/accounts/external.ts";
import { beginOAuth, finishGithub } from "#server/accounts/github.ts";
import { bindEmail } from "#server/accounts/verification.ts";
import type { Context } from "#server/context.ts";
import type { Db } from "#server/store/db.ts";
import { type ActCall, audit, auditJoin } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { type LoginCall, registering, signInBy } from "./sign-in.ts";

export const oauth: Handlers<{ oauth: typeof oauthApi }>["oauth"] = {
  async state(ctx, { actor, session }) {
    const browserId = session.ensureBrowserId();
    const { state, url } = await beginOAuth(ctx, { browserId, userId: actor?.id ?? 0 });
    return { data: state, url };
  },

  async github(ctx, call) {
    const { actor, query, session } = call;
    const visitor = { browserId: session.browserId, userId: actor?.id ?? 0 };
    if (actor) {
      const person = await finishGithub(ctx, visitor, query);
      await bindPerson(ctx, person, { ...call, actor }, binding(ctx, { ...call, actor }, "github"));
      // Clients tell a binding from a login by this word (requirements W4.5).
      return { data: null, message: "bind" };
    }
    const data = await signInBy(ctx, call, "github", async () => {
      const person = await finishGithub(ctx, visitor, query);
      return enterAs(ctx, person, arrival(ctx, call, "github"));
    });
    return { data, message: "" };
  },

  wechat(ctx, call) {
    const { query, address } = call;
    return signInBy(ctx, call, "wechat", async () => {
      const person = await ctx.wechat.identify(query.code, address);
      return enterAs(ctx, person, arrival(ctx, call, "wechat"));
    });
  },

  async bindWeChat(ctx, call) {
    const { query, address } = call;
    const person = await ctx.wechat.identify(query.code, address);
    await bindPerson(ctx, person, call, binding(ctx, call, "wechat"));
    return null;
  },

  async bindEmail(ctx, call) {
    await bindEmail(ctx, call, call.query, async (tx, joined) => {
      await binding(ctx, call, "email")(tx);
      await auditJoin(ctx, tx, call, joined);
    });
    return null;
  },
};

/** The part of a visitor's call that a login needs, and how a new or adopted account is logged. */
function arrival(
  ctx: Context,
  call: Omit<ActCall, "actor"> &
    Pick<LoginCall, "session"> & { readonly query: { readonly aff_code: string } },
  via: "github" | "wechat",
): Arrival {
  const { query, address } = call;
  return {
    affCode: query.aff_code,
    invitation: call.session.note("invitation") ?? "",
    address,
    onMade: registering(ctx, call, via),
    onAdopted: (tx, user) => binding(ctx, { ...call, actor: user }, via)(tx),
  };
}

/** The owner of an account has changed: that is for the audit log, the identity itself is not. */
function binding(ctx: Context, call: ActCall, identity: "github" | "wechat" | "email") {
  const act = { action: "user.bind" as const, target: call.actor.id, detail: { identity } };
  return (tx: Db) => audit(ctx, tx, call, act);
}
