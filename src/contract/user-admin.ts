// Administration of users (requirements W3.5): only the fields named here can be changed, and only those that are sent.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { DisplayName, Username } from "./name.ts";
import { Yuan } from "./partner.ts";
import { EditedName, Password, User } from "./user.ts";
import {
  IdParams,
  InBlocks,
  ListBeside,
  ListQuery,
  MadeBetween,
  Nothing,
  Quota,
  query,
  rowsOf,
  SearchQuery,
} from "./wire.ts";

const Amount = Quota.min(0, "额度不能小于 0").max(Number.MAX_SAFE_INTEGER);

/** A new user starts with the quota for new users; all other fields have their defaults. */
export const UserDraft = z.object({
  username: Username,
  password: Password,
  /** Absent or empty = the user name. */
  display_name: DisplayName.optional(),
  /** Must be below the actor's own; default 1. */
  role: z.int().optional(),
});
export type UserDraft = z.output<typeof UserDraft>;

/** The actions of the user list, and the two of the family that it has no button for (requirements W20.12). */
export const UserAction = z.object({
  username: z.string().trim().min(1, "请输入用户名"),
  action: z.enum(["disable", "enable", "delete", "promote", "demote"], "未知的操作"),
});
export type UserAction = z.output<typeof UserAction>;

/**
 * Absent fields stay as they are; the console sends the whole object. Amounts are absolute and become a difference to the
 * balance of that moment; with the value the form was opened with beside them, the difference to that is what is applied, so
 * that calls made meanwhile are not undone (requirements M20).
 */
export const UserUpdate = z.object({
  id: z.int().min(1),
  username: EditedName.optional(),
  display_name: EditedName.optional(),
  /** "" = unchanged. */
  password: z.union([z.literal(""), Password]).optional(),
  /** One of the groups that have a ratio; "" = default. */
  group: z.string().trim().max(64).optional(),
  role: z.int().optional(),
  status: z.int().optional(),
  /** These three can be cleared, not set: their user must prove that they belong to the account. */
  email: z.string().max(256).optional(),
  github_id: z.string().max(256).optional(),
  wechat_id: z.string().max(256).optional(),
  quota: Amount.optional(),
  /** The quota that the form showed when it was opened. */
  original_quota: Quota.optional(),
  invite_commission_balance: Yuan.optional(),
  original_invite_commission_balance: Yuan.optional(),
  /** The reason; kept in the ledger beside changes of amounts. */
  remark: z.string().trim().max(200, "备注最多 200 个字符").optional(),
});
export type UserUpdate = z.output<typeof UserUpdate>;

/** Which users are listed; 0 and "" = all. */
const OfUsers = { status: query.count, role: query.count, group: query.text, ...MadeBetween, ...InBlocks };

/** A user as the form of administrators is opened with it. */
export const EditedUser = User.extend({
  /** Quota that a refund or dispute could not take; whatever comes in pays it first, what an administrator adds included. */
  debt_quota: Quota.default(0),
});
export type EditedUser = z.output<typeof EditedUser>;

export const userAdminApi = {
  list: endpoint({
    method: "GET",
    path: "/api/user/",
    level: "admin",
    permission: "user.read",
    summary: "用户，可按状态、角色、分组与注册时间筛选；export 时成批返回，用于导出",
    query: ListQuery.extend(OfUsers),
    data: rowsOf(User),
    beside: ListBeside,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/user/search",
    level: "admin",
    permission: "user.read",
    summary: "按 ID，或用户名、显示名称、邮箱的前缀搜索用户，筛选同上",
    query: SearchQuery.extend(OfUsers),
    data: rowsOf(User),
    beside: ListBeside,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/user/:id",
    level: "admin",
    permission: "user.read",
    summary: "一个级别更低的用户",
    params: IdParams,
    data: EditedUser,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/user/",
    level: "admin",
    permission: "user.create",
    needs: { role: "user.role.write" },
    stepUp: "guarded",
    summary: "创建用户",
    body: UserDraft,
    data: Nothing,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/user/",
    level: "admin",
    permission: "user.write",
    needsToChange: {
      group: "user.group.write",
      role: "user.role.write",
      status: "user.disable",
      quota: "money.adjust",
      invite_commission_balance: "money.adjust",
    },
    stepUp: "guarded",
    summary: "修改级别更低的用户；未出现的字段保持不变",
    body: UserUpdate,
    data: Nothing,
  }),
  manage: endpoint({
    method: "POST",
    path: "/api/user/manage",
    level: "admin",
    permission: "user.disable",
    needs: {
      action: { delete: "user.delete", promote: "user.role.write", demote: "user.role.write" },
    },
    stepUp: "guarded",
    summary: "禁用、启用、删除、提升或降级用户，返回新的状态与角色",
    body: UserAction,
    data: User,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/user/:id",
    level: "admin",
    permission: "user.delete",
    stepUp: "guarded",
    summary: "删除用户",
    params: IdParams,
    data: Nothing,
  }),
};
