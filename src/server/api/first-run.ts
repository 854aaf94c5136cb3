// Handler: the first run (requirements I39).
import type { firstRunApi, Registration } from "#contract/first-run.ts";
import type { OptionKey } from "#contract/option.ts";
import { Role } from "#contract/user.ts";
import { changeAccount } from "#server/accounts/acts.ts";
import { isTooCommon } from "#server/accounts/password.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { OptionError } from "#server/options.ts";
import { hashPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import {
  findFirstOfRole,
  findPasswordByUserId,
  findUserIdByAccessToken,
  holdUser,
  updateUserProfile,
} from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { refuseOrphans } from "./option-guards.ts";
import { signIn } from "./sign-in.ts";

/** The options that hold who may register; closed, the one of invitations stays as it is. */
const REGISTRATION = {
  open: { RegisterEnabled: true, InvitationRequiredEnabled: false },
  invited: { RegisterEnabled: true, InvitationRequiredEnabled: true },
  closed: { RegisterEnabled: false },
} as const satisfies Record<Registration, Partial<Record<OptionKey, boolean>>>;

export const firstRun: Handlers<{ firstRun: typeof firstRunApi }>["firstRun"] = {
  async finish(ctx, call) {
    const { key, password, server_address: site, registration } = call.body;
    await ctx.firstRun.check(key);
    const user = await findFirstOfRole(ctx.db, Role.root);
    const before = user && (await findPasswordByUserId(ctx.db, user.id));
    if (user === undefined || before === undefined) throw faults.notFound("没有超级管理员");
    if (isTooCommon(password, [user.username, ctx.options.get("SystemName")]))
      throw faults.refused("这个密码太容易被猜到，请换一个");
    await refuseOrphans(ctx, "ServerAddress", site);
    const hash = await hashPassword(password);
    try {
      await ctx.db.transaction().execute(async (tx) => {
        // A password that is set by another way waits, or is seen by what follows.
        await holdUser(tx, user.id, { password: before });
        await ctx.firstRun.close(tx);
        const preset = await presetOf(ctx, tx, user.id);
        await changeAccount(ctx, tx, { seen: user, change: { password: hash } });
        if (preset !== undefined) await updateUserProfile(tx, user.id, preset);
        if (site !== "") await ctx.options.write(tx, "ServerAddress", site);
        if (registration !== undefined) await writeRegistration(ctx, tx, registration);
        const detail = { server_address: site, registration };
        const act = { action: "auth.first_run" as const, target: user.id, detail };
        await audit(ctx, tx, { ...call, actor: user }, act);
      });
    } catch (error) {
      throw error instanceof OptionError ? faults.invalid(error.message) : error;
    }
    await ctx.options.announce();
    await ctx.coord.publish("users", String(user.id));
    const signedIn = await signIn(ctx, call, { via: "password", user, proven: { password: hash } });
    if (signedIn === undefined) throw faults.refused("密码已设置，请登录");
    return signedIn;
  },
};

async function writeRegistration({ options }: Context, tx: Db, chosen: Registration): Promise<void> {
  // The entries of a table of options.
  for (const [key, value] of Object.entries(REGISTRATION[chosen]))
    await options.write(tx, key as OptionKey, String(value));
}

/** The access token that the environment set up for this user is the operator's own, and stays. */
async function presetOf({ config, secrets }: Context, tx: Db, userId: number) {
  if (config.initialRootAccessToken === undefined) return undefined;
  const access_token_hash = secrets.hash(config.initialRootAccessToken);
  return (await findUserIdByAccessToken(tx, access_token_hash)) === userId
    ? { access_token_hash }
    : undefined;
}
