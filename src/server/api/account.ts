// Handlers: the user's own access token, invitation code and usage by day, and the deletion of the account (requirements W3.3).
import type { accountApi } from "#contract/account.ts";
import { holdEntry } from "#server/accounts/actors.ts";
import { removeAccount } from "#server/accounts/acts.ts";
import { ensureAffCode } from "#server/accounts/new-account.ts";
import { DAY_SEC } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import { randomHex } from "#server/secrets.ts";
import { listUsageDays } from "#server/store/usage.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

/** Today and the six days before (requirements W3.3). */
const DASHBOARD_DAYS = 7;

export const account: Handlers<{ account: typeof accountApi }>["account"] = {
  async accessToken(ctx, call) {
    const { actor } = call;
    const token = randomHex(32);
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await holdEntry(ctx.secrets, tx, call))) throw faults.notSignedIn();
      // Only its hash is stored: it can be read in this answer only (requirements A25).
      await updateUserProfile(tx, actor.id, { access_token_hash: ctx.secrets.hash(token) });
      await audit(ctx, tx, call, { action: "user.access_token", target: actor.id });
    });
    return token;
  },

  affCode: (ctx, { actor }) => ensureAffCode(ctx.db, actor.id),

  async dashboard(ctx, { actor }) {
    const now = ctx.clock.seconds();
    const before = now - (now % DAY_SEC) + DAY_SEC;
    const span = { userId: actor.id, start: before - DASHBOARD_DAYS * DAY_SEC, before };
    const rows = await listUsageDays(ctx.db, span, 0);
    return rows.map((row) => ({
      Day: new Date(row.day * 1000).toISOString().slice(0, "2026-11-20".length),
      ModelName: row.model_name,
      RequestCount: row.requests,
      Quota: row.quota,
      PromptTokens: row.prompt_tokens,
      CompletionTokens: row.completion_tokens,
    }));
  },

  async removeSelf(ctx, call) {
    const { actor, query, session } = call;
    if (query.username !== "" && query.username !== actor.username)
      throw faults.refused("请输入您的账户名以确认删除");
    await ctx.db.transaction().execute(async (tx) => {
      const teams = await removeAccount(ctx, tx, actor);
      await audit(ctx, tx, call, { action: "user.deleteSelf", target: actor.id, teams });
    });
    session.clear();
    await ctx.coord.publish("users", String(actor.id));
    return null;
  },
};
