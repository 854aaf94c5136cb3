// Which fields of a user an edit changes, and whether the actor may (requirements W3.5). Reads only; amounts are not fields.
import type { z } from "zod";
import { DisplayName, Username } from "#contract/name.ts";
import { UserStatus } from "#contract/user.ts";
import type { UserUpdate } from "#contract/user-admin.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isSuper, mayGrant } from "#server/accounts/may.ts";
import { isTooCommon } from "#server/accounts/password.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { UserChange, UserRow } from "#server/store/users.ts";

/**
 * The columns that differ from the row, checked; a password still in clear. A field that is not in the body stays. Throws:
 * AppError for a change that is not allowed and for an invalid field.
 */
export function profileChange(ctx: Context, actor: Actor, target: UserRow, body: UserUpdate): UserChange {
  return {
    ...nameChange(target, body),
    ...groupChange(ctx, target, body),
    ...roleChange(actor, target, body),
    ...statusChange(target, body),
    ...identityChange(target, body),
    ...passwordChange(ctx, actor, target, body),
  };
}

/** The names that differ from the row's; names older than the rules may stay. Throws: AppError with a rule's sentence. */
export function nameChange(
  target: Pick<UserRow, "username" | "display_name">,
  { username, display_name }: Pick<UserUpdate, "username" | "display_name">,
): UserChange {
  const change: UserChange = {};
  // Trimmed as the field of the body is.
  if (username !== undefined && username !== target.username.trim())
    change.username = checked(Username, username);
  if (display_name !== undefined && display_name !== target.display_name.trim())
    change.display_name = checked(DisplayName, display_name);
  return change;
}

/** Throws: AppError with the schema's sentence. */
function checked(schema: z.ZodType<string>, value: string): string {
  const read = schema.safeParse(value);
  if (!read.success) throw faults.invalid(read.error.issues[0]?.message);
  return read.data;
}

/** A user has one group, and one that has a price (requirements W20.14). */
function groupChange(ctx: Context, target: UserRow, body: UserUpdate): UserChange {
  if (body.group === undefined) return {};
  const group = body.group === "" ? "default" : body.group;
  if (group === target.group) return {};
  if (!Object.hasOwn(ctx.options.get("GroupRatio"), group)) throw faults.refused(`没有这个分组：${group}`);
  return { group };
}

/** The audit log's target for a user whom an actor may not change so. */
export function aboutUser({ id }: Pick<UserRow, "id">): string {
  return `user ${id}`;
}

function roleChange(actor: Actor, target: UserRow, { role }: UserUpdate): UserChange {
  if (role === undefined || role === target.role) return {};
  if (!isSuper(actor)) throw faults.denied("只有超级管理员可以修改角色", aboutUser(target));
  // Never 100: no sequence of calls makes another super administrator (requirements Z06).
  if (!mayGrant(actor, role)) throw faults.denied("不能授予该角色", aboutUser(target));
  return { role };
}

function statusChange(target: UserRow, { status }: UserUpdate): UserChange {
  if (status === undefined || status === target.status) return {};
  if (status !== UserStatus.enabled && status !== UserStatus.disabled) throw faults.invalid("用户状态有误");
  return { status };
}

/** Bindings can be removed but not set: the owner of an identity has to prove it. */
function identityChange(target: UserRow, body: UserUpdate): UserChange {
  const change: UserChange = {};
  for (const identity of ["email", "github_id", "wechat_id"] as const) {
    const given = body[identity];
    if (given === undefined || given === target[identity]) continue;
    if (given !== "") throw faults.refused("绑定信息只能清除，不能代为修改");
    change[identity] = "";
  }
  return change;
}

function passwordChange(ctx: Context, actor: Actor, target: UserRow, body: UserUpdate): UserChange {
  if (body.password === undefined || body.password === "") return {};
  // That endpoint asks for the current password (requirements A09).
  if (actor.id === target.id) throw faults.refused("修改自己的密码请使用个人设置");
  const names = [target.username, body.username ?? "", ctx.options.get("SystemName")];
  if (isTooCommon(body.password, names)) throw faults.refused("这个密码太容易被猜到，请换一个");
  return { password: body.password };
}
