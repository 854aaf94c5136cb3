// Handlers: logging in through the providers that the operator sets up, binding and unbinding their identities (requirements I40–I43).
import type { signOnApi } from "#contract/sign-on.ts";
import type { GrantNotes } from "#server/accounts/grants.ts";
import { bindIdentity, enterThrough, unbindIdentity } from "#server/accounts/identities.ts";
import type { Context } from "#server/context.ts";
import { listIdentities } from "#server/store/sign-on.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { attempt, registering } from "./sign-in.ts";

/** An ID token that is kept for the provider's logout; longer ones are not. Unit: characters. */
const MAX_TOKEN = 8_192;

export const signOn: Handlers<{ signOn: typeof signOnApi }>["signOn"] = {
  async identities(ctx, { actor }) {
    const rows = await listIdentities(ctx.db, actor.id);
    return rows.map(({ id, slug, name, email, created_at, last_login_at }) => ({
      id,
      slug,
      name,
      email,
      created_at,
      last_login_at,
    }));
  },

  async unbind(ctx, call) {
    const { actor, params } = call;
    let via = "";
    await unbindIdentity(ctx, params.id, call, {
      ...noting(ctx, call, () => via),
      beside: (tx, slug) => {
        via = slug;
        const detail = { identity: slug };
        return audit(ctx, tx, call, { action: "user.unbind", target: actor.id, detail });
      },
    });
    return null;
  },

  begin(ctx, { actor, params, session, agent }) {
    const userId = actor?.id ?? 0;
    return ctx.signOn.begin(params.slug, { browserId: session.ensureBrowserId(), userId, agent });
  },

  async finish(ctx, call) {
    const { actor, params, query, session, address } = call;
    const { aff_code: affCode, ...told } = query;
    const { slug } = params;
    const visitor = { browserId: session.browserId, userId: actor?.id ?? 0 };
    const binding = (who: { readonly id: number; readonly username: string }) => ({
      call: { ...call, actor: who },
      act: { action: "user.bind" as const, target: who.id, detail: { identity: slug } },
    });
    if (actor) {
      const vouched = await ctx.signOn.finish(slug, visitor, told);
      const { act } = binding(actor);
      await bindIdentity(ctx, vouched, { ...call, actor }, (tx) => audit(ctx, tx, { ...call, actor }, act));
      return { data: null, message: "bind" };
    }
    const data = await attempt(ctx, call, slug, async () => {
      const vouched = await ctx.signOn.finish(slug, visitor, told);
      const { provider, person } = vouched;
      const user = await enterThrough(ctx, vouched, {
        affCode,
        invitation: session.note("invitation") ?? "",
        address,
        onMade: registering(ctx, call, slug),
        onAdopted: (tx, adopted) => audit(ctx, tx, { ...call, actor: adopted }, binding(adopted).act),
        ...noting(ctx, call, () => slug),
      });
      const { role, external_login } = user;
      const idToken = person.idToken.length > MAX_TOKEN ? "" : person.idToken;
      return {
        via: slug,
        user,
        proven: { role, external_login },
        outside: {
          provider_id: provider.id,
          logout_key: person.sid,
          id_token: idToken === "" ? "" : ctx.secrets.seal(idToken, "sessions.id_token"),
          isStrong: provider.settings.trusts_mfa && person.hadSecondFactor,
        },
      };
    });
    return { data, message: "" };
  },
};

const SEAT_ACTS = { join: "team.join", role: "team.role", leave: "team.leave" } as const;

/** The audit log of what a provider gave or took; a team sees in its own what became of its members. */
function noting(ctx: Context, call: Omit<ActCall, "actor">, via: () => string): GrantNotes {
  return {
    onSeat: (tx, user, { teamId, kind, role, was, tokens }) => {
      const detail = { user: user.username, role, tokens, via: via() };
      const act = { action: SEAT_ACTS[kind], target: teamId, detail, before: { role: was } };
      return audit(ctx, tx, { ...call, actor: user }, act);
    },
    onStaff: (tx, user, { kind, ...rights }) => {
      const detail = { username: user.username, ...rights, via: via() };
      const act = { action: `user.${kind}`, target: user.id, detail, before: user } as const;
      return audit(ctx, tx, { ...call, actor: user }, act);
    },
  };
}
