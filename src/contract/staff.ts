// Sets of permissions for administrators below the super administrator (requirements Z15, Z16, Z17).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { GRANTABLE } from "./permission.ts";
import { IdParams, Nothing } from "./wire.ts";

/** The names of the sets that come with the program; their rows are told in the reader's language. */
export const BUILT_IN_SETS: readonly string[] = ["审计员", "财务", "客服", "渠道运维"];

export const StaffSetDraft = z.object({
  name: z.string().trim().min(1, "请输入名称").max(40, "名称最多 40 个字符"),
  permissions: z
    .array(z.enum(GRANTABLE, "没有这个权限，或它只属于超级管理员"))
    .min(1, "请至少选择一项权限")
    .max(100),
});
export type StaffSetDraft = z.output<typeof StaffSetDraft>;

export const StaffSet = z.object({
  id: z.int(),
  name: z.string(),
  permissions: z.array(z.string()),
  /** It came with the program and stays as it is. */
  is_built_in: z.boolean(),
  /** Administrators that have it. */
  members: z.int(),
  updated_at: z.int(),
});
export type StaffSet = z.output<typeof StaffSet>;

export const staffApi = {
  list: endpoint({
    method: "GET",
    path: "/api/staff/set",
    level: "root",
    permission: "user.role.write",
    summary: "管理员权限集",
    data: z.array(StaffSet),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/staff/set",
    level: "root",
    permission: "user.role.write",
    stepUp: "guarded",
    summary: "创建权限集；权限逐项列出，新版本增加的权限不会自动进入",
    body: StaffSetDraft,
    data: StaffSet,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/staff/set/:id",
    level: "root",
    permission: "user.role.write",
    stepUp: "guarded",
    summary: "修改自建的权限集，一秒内生效",
    params: IdParams,
    body: StaffSetDraft,
    data: StaffSet,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/staff/set/:id",
    level: "root",
    permission: "user.role.write",
    stepUp: "guarded",
    summary: "删除自建的、没有管理员使用的权限集",
    params: IdParams,
    data: Nothing,
  }),
  assign: endpoint({
    method: "PUT",
    path: "/api/staff/user/:id",
    level: "root",
    permission: "user.role.write",
    stepUp: "guarded",
    summary: "为管理员指定权限集，0 为不限；其登录与系统访问令牌随之失效",
    params: IdParams,
    body: z.object({ staff_set_id: z.int().min(0) }),
    data: Nothing,
  }),
};
