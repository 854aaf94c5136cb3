// Handlers: the user's own account.

import { PERMISSION_NAMES, SUPER_ONLY } from "#contract/permission.ts";
import { type SelfUpdate, type User, UserStatus, type userApi } from "#contract/user.ts";
import { yuanText } from "#contract/yuan.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isSuper, may } from "#server/accounts/may.ts";
import { isTooCommon } from "#server/accounts/password.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { hashPassword } from "#server/secrets.ts";
import { isTaken } from "#server/store/fault.ts";
import { revokeAccess } from "#server/store/user-acts.ts";
import {
  findPasswordByUserId,
  getUser,
  holdUser,
  type UserChange,
  type UserRow,
  updateUserProfile,
} from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { nameChange } from "./user-change.ts";

/** A user object with the zero value in every field (requirements W3.3, login). */
export const blankUser: User = {
  id: 0,
  username: "",
  password: "",
  display_name: "",
  role: 0,
  status: 0,
  email: "",
  github_id: "",
  wechat_id: "",
  verification_code: "",
  access_token: "",
  quota: 0,
  used_quota: 0,
  request_count: 0,
  group: "",
  aff_code: "",
  inviter_id: 0,
  invite_commission_balance: "0",
  staff_set_id: 0,
  created_at: 0,
  language: "",
};

/** A row as it crosses the wire: no secrets, and the commission in yuan. */
export function presentUser(row: UserRow): User {
  return { ...blankUser, ...row, invite_commission_balance: yuanText(row.invite_commission_micro) };
}

/** What the signed-in user is told of its rights. */
export function shownRights(actor: Actor): Pick<User, "permissions" | "staff_set"> {
  const held = PERMISSION_NAMES.filter((name) => may(actor, name));
  return {
    permissions: isSuper(actor) ? held : held.filter((name) => !SUPER_ONLY.includes(name)),
    staff_set: actor.staffSet ?? "",
  };
}

export const user: Handlers<{ user: typeof userApi }>["user"] = {
  async self(ctx, { actor }) {
    const viewer = actor.viewer && { username: actor.viewer.username, until: actor.viewer.until };
    const own = { ...presentUser(await getUser(ctx.db, actor.id)), ...shownRights(actor) };
    return viewer === undefined ? own : { ...own, viewer };
  },

  async updateSelf(ctx, call) {
    const { actor, body, session } = call;
    const password = body.password === "" ? undefined : body.password;
    const renewal = password === undefined ? undefined : await newPassword(ctx, call, password);
    const change: UserChange = {
      // Empty names are skipped, not cleared (requirements W3.3).
      ...nameChange(await getUser(ctx.db, actor.id), {
        username: body.username || undefined,
        display_name: body.display_name || undefined,
      }),
      ...(renewal ? { password: renewal.after } : {}),
      ...(body.language ? { language: body.language } : {}),
    };
    const keepSession = session.id === undefined ? undefined : ctx.secrets.hash(session.id);
    try {
      await ctx.db.transaction().execute(async (tx) => {
        // An account that was deleted meanwhile must not get its name back.
        if (!(await holdUser(tx, actor.id, { status: UserStatus.enabled }))) throw faults.notSignedIn();
        if (renewal && !(await holdUser(tx, actor.id, { password: renewal.before })))
          throw faults.refused("密码刚被修改，请重新登录后再试");
        await updateUserProfile(tx, actor.id, change);
        if (renewal) await revokeAccess(tx, actor.id, keepSession);
        const detail = { username: change.username, display_name: change.display_name };
        const act = renewal ? "user.password" : "user.updateSelf";
        await audit(ctx, tx, call, { action: act, target: actor.id, detail });
      });
    } catch (error) {
      throw isTaken(error) ? faults.refused("用户名已被使用") : error;
    }
    await ctx.coord.publish("users", String(actor.id));
    return null;
  },
};

/** The hash of a new password and the hash that the current one matched. Throws: AppError. */
async function newPassword(
  ctx: Context,
  { actor, body, address }: Pick<Call<typeof userApi.updateSelf>, "actor" | "body" | "address">,
  password: string,
): Promise<{ before: string; after: string }> {
  const stored = (await findPasswordByUserId(ctx.db, actor.id)) ?? "";
  // A user without a password, registered through GitHub, sets a first one.
  if (stored !== "") await confirmPassword(ctx, { actor, body, address }, stored);
  const names = [actor.username, body.username ?? "", ctx.options.get("SystemName")];
  if (isTooCommon(password, names)) throw faults.refused("这个密码太容易被猜到，请换一个");
  return { before: stored, after: await hashPassword(password) };
}

async function confirmPassword(
  ctx: Context,
  { actor, body, address }: { actor: { id: number }; body: SelfUpdate; address: string },
  stored: string,
): Promise<void> {
  const password = body.original_password;
  if (!password) throw faults.refused("修改密码需要填写当前密码");
  const isRight = await ctx.logins.confirm({ userId: actor.id, password, stored, address });
  if (!isRight) throw faults.refused("当前密码不正确");
}
