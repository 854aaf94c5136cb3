// Handlers: invitations to the server (requirements I38).
import type { invitationApi } from "#contract/invitation.ts";
import { openInvitation } from "#server/accounts/invitations.ts";
import { DAY_SEC } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import { randomId } from "#server/secrets.ts";
import { insertInvitation, listInvitations, revokeInvitation } from "#server/store/invitations.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

const LISTED = 500;

/** How long a browser keeps the invitation that was looked at, for a registration through another service. */
const KEPT_SEC = 3_600;

export const invitation: Handlers<{ invitation: typeof invitationApi }>["invitation"] = {
  async list(ctx) {
    return (await listInvitations(ctx.db, LISTED)).map((row) => ({ ...row, code: "" }));
  },

  async create(ctx, call) {
    const { days, ...draft } = call.body;
    const now = ctx.clock.seconds();
    const code = randomId(24);
    const row = {
      ...draft,
      // An address has one account.
      max_uses: draft.email === "" ? draft.max_uses : 1,
      used: 0,
      created_by: call.actor.id,
      created_at: now,
      expires_at: now + days * DAY_SEC,
      revoked_at: 0,
    };
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertInvitation(tx, { ...row, code_hash: ctx.secrets.hash(`invitation ${code}`) });
      const detail = { ...draft, max_uses: row.max_uses, days };
      await audit(ctx, tx, call, { action: "invitation.create", target: made, detail });
      return made;
    });
    return { ...row, id, code };
  },

  async revoke(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await revokeInvitation(tx, id, ctx.clock.seconds()))) throw faults.notFound("找不到该邀请");
      await audit(ctx, tx, call, { action: "invitation.revoke", target: id });
    });
    return null;
  },

  async look(ctx, call) {
    const { code } = call.body;
    const { invitation: found, inviter } = await openInvitation(ctx, code);
    // On the way through another service it must stand in no address.
    call.session.keepNote("invitation", code, KEPT_SEC);
    return {
      inviter: inviter.display_name || inviter.username,
      expires_at: found.expires_at,
      needs_email: found.email !== "",
    };
  },
};
