// Handlers: administration of users (requirements W3.5). Which actor may act on which user is decided in accounts/may.ts alone.
import { Role, UserStatus } from "#contract/user.ts";
import { type UserAction, userAdminApi } from "#contract/user-admin.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { changeAccount, removeAccount } from "#server/accounts/acts.ts";
import { forbiddenField, isStaff, isSuper, mayGrant, outranks } from "#server/accounts/may.ts";
import { isTooCommon } from "#server/accounts/password.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { grantSignup, promiseSignup } from "#server/money/signup.ts";
import { hashPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  countUsers,
  debtOf,
  findUserById,
  findUserByName,
  insertUser,
  listUsers,
  type UserRow,
} from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { raiseOf, tellRaise } from "./raises.ts";
import { amountChanges, changedFields, deltaOf, describeEdit, pay } from "./user-amounts.ts";
import { aboutUser, profileChange } from "./user-change.ts";
import { blankUser, presentUser } from "./users.ts";

const DOWNWARDS = ["quota", "used_quota", "request_count"];

export const userAdmin: Handlers<{ userAdmin: typeof userAdminApi }>["userAdmin"] = {
  list: (ctx, { query }) => listPage(ctx, query, ""),

  search: (ctx, { query }) => listPage(ctx, query, query.keyword),

  async get(ctx, { actor, params }) {
    const user = subject(actor, await findUserById(ctx.db, params.id));
    return { ...presentUser(user), debt_quota: await debtOf(ctx.db, user.id) };
  },

  async create(ctx, call) {
    const { actor, body } = call;
    const role = body.role ?? Role.user;
    if (!mayGrant(actor, role)) throw faults.denied("不能创建同级或更高级别的用户", "role");
    refuseCommon(ctx, body.password, body.username);
    const password = await hashPassword(body.password);
    const promise = await ctx.db.transaction().execute(async (tx) => {
      const id = await insertNamed(ctx, tx, { ...body, password, role });
      const promised = await promiseSignup(ctx, tx, { userId: id, inviterId: 0 });
      await audit(ctx, tx, call, {
        action: "user.create",
        target: id,
        detail: { username: body.username, role },
      });
      return promised;
    });
    // The account exists; what cannot be booked now is booked by a job later.
    await grantSignup(ctx, promise).catch((error: unknown) =>
      ctx.events.backgroundFailed({ task: `gifts of new user ${promise.user_id}`, error }),
    );
    return null;
  },

  async update(ctx, call) {
    const { actor, session } = call;
    const target = subject(actor, await findUserById(ctx.db, call.body.id));
    const body = changedFields(call.body, target);
    const field = forbiddenField(actor, userAdminApi.update.needsToChange, body);
    if (field !== undefined) throw faults.denied("权限不够，无法修改这一项", field);
    const change = profileChange(ctx, actor, target, body);
    if (change.password !== undefined) change.password = await hashPassword(change.password);
    const amounts = amountChanges(body, target);
    const keepSession =
      actor.id === target.id && session.id !== undefined ? ctx.secrets.hash(session.id) : undefined;
    const delta = deltaOf(amounts.quota, BigInt(target.quota));
    const raise = await raiseOf(ctx, { action: "user.update", target: target.id, delta });
    await ctx.db.transaction().execute(async (tx) => {
      await changeAccount(ctx, tx, { seen: target, change, keepSession });
      const detail = { ...raise, ...describeEdit(change, body, amounts) };
      await audit(ctx, tx, call, { action: "user.update", target: target.id, detail, before: target });
    });
    tellRaise(ctx, call, { ...raise, name: target.username });
    await pay(ctx, call, { target, remark: body.remark ?? "", amounts });
    await ctx.coord.publish("users", String(target.id));
    return null;
  },

  async manage(ctx, call) {
    const { actor, body } = call;
    const target = subject(actor, await findUserByName(ctx.db, body.username));
    const result = actionResult(actor, target, body.action);
    await ctx.db.transaction().execute(async (tx) => {
      const isDeleted = body.action === "delete";
      const teams = isDeleted ? await removeAccount(ctx, tx, target) : [];
      if (!isDeleted) await changeAccount(ctx, tx, { seen: target, change: result });
      await audit(ctx, tx, call, {
        action: `user.${body.action}`,
        target: target.id,
        detail: { username: target.username, ...result },
        before: target,
        teams,
      });
    });
    await ctx.coord.publish("users", String(target.id));
    return { ...blankUser, ...result };
  },

  async remove(ctx, call) {
    const target = subject(call.actor, await findUserById(ctx.db, call.params.id));
    await ctx.db.transaction().execute(async (tx) => {
      const teams = await removeAccount(ctx, tx, target);
      const detail = { username: target.username };
      await audit(ctx, tx, call, { action: "user.delete", target: target.id, detail, teams });
    });
    await ctx.coord.publish("users", String(target.id));
    return null;
  },
};

async function listPage(ctx: Context, query: Call<typeof userAdminApi.list>["query"], keyword: string) {
  const { status, role, group } = query;
  const filter = { keyword, exceptStatus: UserStatus.deleted, status, role, group, ...madeOf(query) };
  const page = sortedPage(query, DOWNWARDS);
  // The one column whose name on the wire is another: yuan there, millionths in the row.
  const order = page.order === "invite_commission_balance" ? "invite_commission_micro" : page.order;
  const rows = await listUsers(ctx.db, { ...filter, ...page, order });
  return { data: rows.map(presentUser), ...(await totalBeside(query, () => countUsers(ctx.db, filter))) };
}

/** The user an actor wants to act on. Throws: when there is none; denied, when the user's rank is not lower. */
export function subject(actor: Actor, row: UserRow | undefined): UserRow {
  if (!row || row.status === UserStatus.deleted) throw faults.notFound("找不到该用户");
  if (!outranks(actor, row)) throw faults.denied("不能操作同级或更高级别的用户", aboutUser(row));
  return row;
}

function refuseCommon(ctx: Context, password: string, username: string): void {
  if (isTooCommon(password, [username, ctx.options.get("SystemName")]))
    throw faults.refused("这个密码太容易被猜到，请换一个");
}

interface NewAccount {
  readonly username: string;
  readonly password: string;
  readonly display_name?: string | undefined;
  readonly role: number;
}

async function insertNamed(ctx: Context, tx: Db, draft: NewAccount): Promise<number> {
  try {
    return await insertUser(tx, {
      username: draft.username,
      password: draft.password,
      display_name: draft.display_name || draft.username,
      role: draft.role,
      status: UserStatus.enabled,
      email: "",
      github_id: "",
      wechat_id: "",
      access_token_hash: null,
      group: "default",
      aff_code: "",
      inviter_id: 0,
      created_at: ctx.clock.seconds(),
    });
  } catch (error) {
    throw isTaken(error) ? faults.refused("用户名已被使用") : error;
  }
}

/** The role and status of a user after an action. Throws: AppError as in requirements W2.7. */
function actionResult(
  actor: Actor,
  target: UserRow,
  action: UserAction["action"],
): { role: number; status: number } {
  const { role, status } = target;
  if (isSuper(target) && action !== "enable")
    throw faults.denied("不能对超级管理员执行该操作", aboutUser(target));
  switch (action) {
    case "disable":
      return { role, status: UserStatus.disabled };
    case "enable":
      return { role, status: UserStatus.enabled };
    case "delete":
      return { role, status: UserStatus.deleted };
    case "promote":
      if (!mayGrant(actor, Role.admin)) throw faults.denied("只有超级管理员可以提升用户", aboutUser(target));
      if (isStaff(target)) throw faults.refused("该用户已经是管理员");
      return { role: Role.admin, status };
    case "demote":
      if (!isStaff(target)) throw faults.refused("该用户已经是普通用户");
      return { role: Role.user, status };
  }
}
