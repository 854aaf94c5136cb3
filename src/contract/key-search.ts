// From a key that has leaked, e.g. into a public repository, to its token and owner, for administrators. The key travels in a body,
// never in an address, and is in no answer.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Nothing, Quota } from "./wire.ts";

export const KeyOwner = z.object({
  token_id: z.int(),
  token_name: z.string(),
  /** The begin and the end of the key. */
  masked_key: z.string(),
  token_status: z.int(),
  remain_quota: Quota,
  unlimited_quota: z.boolean(),
  used_quota: Quota,
  created_time: z.int(),
  accessed_time: z.int(),
  expired_time: z.int(),
  user_id: z.int(),
  username: z.string(),
  user_status: z.int(),
  user_group: z.string(),
});
export type KeyOwner = z.output<typeof KeyOwner>;

export const keySearchApi = {
  find: endpoint({
    method: "POST",
    path: "/api/token/find",
    level: "admin",
    permission: "user.read",
    summary: "按完整密钥查找令牌及其主人",
    /** As clients send it: `sk-` and a channel behind it may be there. */
    body: z.object({ key: z.string().trim().min(1, "请输入密钥").max(200, "这不是令牌的密钥") }),
    data: KeyOwner,
  }),
  disable: endpoint({
    method: "POST",
    path: "/api/token/disable",
    level: "admin",
    permission: "user.write",
    summary: "禁用任意用户的一个令牌",
    body: z.object({ id: z.int().min(1) }),
    data: Nothing,
  }),
};
