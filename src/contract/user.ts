// Users as they cross the wire. Secrets are always empty here (requirements W3.4, A25).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Language } from "./language.ts";
import { Nothing, Quota } from "./wire.ts";

export const Role = { guest: 0, user: 1, admin: 10, root: 100 } as const;
export const UserStatus = { enabled: 1, disabled: 2, deleted: 3 } as const;

export const User = z.object({
  id: z.int(),
  username: z.string(),
  /** Always "" in answers. */
  password: z.string().default(""),
  display_name: z.string(),
  role: z.int(),
  status: z.int(),
  email: z.string().default(""),
  github_id: z.string().default(""),
  wechat_id: z.string().default(""),
  verification_code: z.string().default(""),
  /** Always "" in answers. */
  access_token: z.string().default(""),
  quota: Quota.default(0),
  used_quota: Quota.default(0),
  request_count: z.int().default(0),
  group: z.string().default("default"),
  aff_code: z.string().default(""),
  inviter_id: z.int().default(0),
  /** Yuan as decimal text; "0" means none (requirements B3). */
  invite_commission_balance: z.string().default("0"),
  /** An administrator's set of permissions; 0 = none, and then everything that administrators may. */
  staff_set_id: z.int().default(0),
  /** When the account was made. Seconds; 0 = other servers of the family do not say. */
  created_at: z.int().default(0),
  /** zh or en, as the user chose; "" = what the browser prefers. Other servers of the family do not say. */
  language: z.string().default(""),
  /** Of the signed-in user: what an administrator may do. Other servers of the family do not say. */
  permissions: z.array(z.string()).optional(),
  /** Of the signed-in user: the name of the set; "" = none. */
  staff_set: z.string().optional(),
  /** Of the signed-in user: the administrator who looks at this console, and until when, in seconds; absent = it is one's own. */
  viewer: z.object({ username: z.string(), until: z.int() }).optional(),
});
export type User = z.output<typeof User>;

/** Password rule of the server: 8–128 characters (requirements J11; the console's placeholder says 8–20). */
export const Password = z.string().min(8, "密码长度不得小于 8 位").max(128, "密码长度不得大于 128 位");

/** A name as it comes with an edit: the rules of `name.ts` apply to what changes only, imported ones may be longer or odd. */
export const EditedName = z.string().trim().max(128);

/** Own profile: absent and empty fields stay as they are; a new password needs the current one (requirements A09). */
export const SelfUpdate = z.object({
  username: EditedName.optional(),
  display_name: EditedName.optional(),
  password: z.union([z.literal(""), Password]).optional(),
  original_password: z.string().max(512).optional(),
  /** "" = as it was: who never chose one has none. */
  language: z.union([z.literal(""), Language]).optional(),
});
export type SelfUpdate = z.output<typeof SelfUpdate>;

export const userApi = {
  self: endpoint({
    method: "GET",
    path: "/api/user/self",
    level: "user",
    enrols: true,
    summary: "当前用户",
    data: User,
  }),
  updateSelf: endpoint({
    method: "PUT",
    path: "/api/user/self",
    level: "user",
    summary: "修改自己的用户名、显示名称、界面语言或密码；修改密码须带 original_password",
    body: SelfUpdate,
    data: Nothing,
  }),
};
