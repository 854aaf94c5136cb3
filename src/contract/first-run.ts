// The first run in the browser, opened by an address that the terminal prints (requirements I39).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { LoginUser } from "./factor.ts";
import { Password } from "./user.ts";

/** Who may register: every visitor, visitors with an invitation, no visitor. */
export const Registration = z.enum(["open", "invited", "closed"], "请选择谁可以注册");
export type Registration = z.output<typeof Registration>;

/** The super administrator's own password and the address of the server, who may register, with the key of the one-time address. */
export const FirstRun = z.object({
  key: z.string().trim().min(1, "请用终端里打印的完整地址打开本页").max(200),
  password: Password,
  /** As browsers reach the server; "" = as before. */
  server_address: z.string().trim().max(2_000).default(""),
  /** Absent = as before. */
  registration: Registration.optional(),
});
export type FirstRun = z.output<typeof FirstRun>;

export const firstRunApi = {
  finish: endpoint({
    method: "POST",
    path: "/api/first_run",
    level: "public",
    limit: "critical",
    keyed: true,
    summary:
      "首次启动：用终端打印的一次性地址里的密钥设置超级管理员密码、服务器地址与注册方式，并登录；设置过密码后关闭",
    body: FirstRun,
    data: LoginUser,
  }),
};
