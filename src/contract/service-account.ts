// Service accounts (服务账户): access tokens of machines that hold single permissions, never more than who made them (requirements Z18).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { SERVICE_GRANTABLE } from "./permission.ts";
import { IdParams, Nothing, rowsOf } from "./wire.ts";

export const ServiceAccount = z.object({
  id: z.int(),
  name: z.string(),
  permissions: z.array(z.string()),
  /** Addresses and networks it may call from, separated by commas; "" = any. */
  subnet: z.string(),
  created_by: z.int(),
  /** The name of who made it. */
  creator: z.string(),
  created_at: z.int(),
  expires_at: z.int(),
  /** Seconds; 0 = it was not ended. */
  revoked_at: z.int(),
  /** Seconds, to the minute; 0 = never. */
  last_used_at: z.int(),
  last_address: z.string(),
  /** In the answer of its making only: what goes into the Authorization header. */
  token: z.string().default(""),
});
export type ServiceAccount = z.output<typeof ServiceAccount>;

export const ServiceAccountDraft = z.object({
  // It stands in the audit log behind its maker's name and a slash.
  name: z
    .string()
    .trim()
    .min(1, "请输入名称")
    .max(40, "名称最多 40 个字符")
    .regex(/^[^/\p{Cc}]*$/u, "名称不能含有斜杠"),
  permissions: z
    .array(z.enum(SERVICE_GRANTABLE, "没有这个权限，或服务账户不能持有它"))
    .min(1, "请至少选择一项权限")
    .max(100),
  subnet: z.string().trim().max(1_000, "IP 限制最多 1000 个字符").default(""),
  days: z.int().min(1, "须为 1 到 365 天").max(365, "须为 1 到 365 天").default(90),
});
export type ServiceAccountDraft = z.output<typeof ServiceAccountDraft>;

export const serviceAccountApi = {
  list: endpoint({
    method: "GET",
    path: "/api/service_account/",
    level: "admin",
    permission: "service.read",
    summary: "我的服务账户，新的在前；超级管理员可以看到所有人的。最多 500 个",
    data: rowsOf(ServiceAccount),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/service_account/",
    level: "admin",
    permission: "service.write",
    stepUp: "guarded",
    summary:
      "创建服务账户；token 只在本次返回，放入 Authorization 请求头。它只能调用所列权限的接口，且不超过创建者当时的权限，不需要再次验证",
    body: ServiceAccountDraft,
    data: ServiceAccount,
  }),
  revoke: endpoint({
    method: "DELETE",
    path: "/api/service_account/:id",
    level: "admin",
    permission: "service.write",
    summary: "停用服务账户，立即生效且不能恢复",
    params: IdParams,
    data: Nothing,
  }),
};
