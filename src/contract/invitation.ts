// Invitations to the server (邀请): links that make accounts, also while registration is by invitation only (requirements I38).
import { z } from "zod";
import { Email } from "./auth.ts";
import { endpoint } from "./endpoint.ts";
import { IdParams, Nothing, Quota, rowsOf } from "./wire.ts";

export const Invitation = z.object({
  id: z.int(),
  /** The user who registers with it must prove this address; "" = none. */
  email: z.string(),
  /** Of the accounts it makes. */
  group: z.string(),
  /** What each of them is given. */
  quota: Quota,
  max_uses: z.int(),
  used: z.int(),
  created_by: z.int(),
  created_at: z.int(),
  expires_at: z.int(),
  /** Seconds; 0 = it was not taken back. */
  revoked_at: z.int(),
  /** In the answer of its making only: the end of the link. */
  code: z.string().default(""),
});
export type Invitation = z.output<typeof Invitation>;

export const InvitationDraft = z.object({
  email: z.union([z.literal(""), Email]).default(""),
  group: z.string().trim().min(1, "请选择分组").max(64, "分组名称最多 64 个字符").default("default"),
  quota: Quota.min(0, "额度不能小于 0").max(Number.MAX_SAFE_INTEGER, "额度过大").default(0),
  max_uses: z.int().min(1, "须为 1 到 1000").max(1_000, "须为 1 到 1000").default(1),
  days: z.int().min(1, "须为 1 到 90 天").max(90, "须为 1 到 90 天").default(7),
});
export type InvitationDraft = z.output<typeof InvitationDraft>;

export const invitationApi = {
  list: endpoint({
    method: "GET",
    path: "/api/invitation/",
    level: "admin",
    permission: "user.read",
    summary: "最近的 500 个邀请，新的在前",
    data: rowsOf(Invitation),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/invitation/",
    level: "admin",
    permission: "user.create",
    stepUp: "guarded",
    summary: "创建邀请；code 只在本次返回，链接为 /register#invite=code。填写 email 时只能由该邮箱使用一次",
    body: InvitationDraft,
    data: Invitation,
  }),
  revoke: endpoint({
    method: "DELETE",
    path: "/api/invitation/:id",
    level: "admin",
    permission: "user.create",
    summary: "撤回邀请；已经注册的账户不受影响",
    params: IdParams,
    data: Nothing,
  }),
  look: endpoint({
    method: "POST",
    path: "/api/invitation/look",
    level: "public",
    limit: "critical",
    summary:
      "查看邀请：邀请人、到期时间，以及是否须验证受邀的邮箱；此浏览器记住一小时，供通过第三方登录注册时使用",
    body: z.object({ code: z.string().trim().min(1).max(100) }),
    data: z.object({ inviter: z.string(), expires_at: z.int(), needs_email: z.boolean() }),
  }),
};
