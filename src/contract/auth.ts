// Coming in and going out.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { User } from "./user.ts";
import { Nothing } from "./wire.ts";

/** Login payload (spec §3). `username` may also be an e-mail address (contract 3.3). */
export const Credentials = z.object({
  username: z.string().trim().min(1, "请输入用户名").max(128),
  password: z.string().min(1, "请输入密码").max(512),
});
export type Credentials = z.output<typeof Credentials>;

export const authApi = {
  login: endpoint({
    method: "POST",
    path: "/api/user/login",
    level: "public",
    limit: "critical",
    summary: "密码登录，成功后设置会话 Cookie 并返回用户",
    body: Credentials,
    data: User,
  }),
  logout: endpoint({
    method: "GET",
    path: "/api/user/logout",
    level: "public",
    mutates: true,
    summary: "注销当前会话",
    data: Nothing,
  }),
};
