// Login and logout: password login, registration, e-mail codes and the password reset.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { LoginUser } from "./factor.ts";
import { Username } from "./name.ts";
import { Password } from "./user.ts";
import { Nothing } from "./wire.ts";

/** Login payload (requirements B3). `username` may also be an e-mail address (requirements W3.3). */
export const Credentials = z.object({
  username: z.string().trim().min(1, "请输入用户名").max(128),
  password: z.string().min(1, "请输入密码").max(512),
});
export type Credentials = z.output<typeof Credentials>;

/** An e-mail address in lower case, at most 50 characters (requirements W3.3). */
export const Email = z
  .string()
  .trim()
  .toLowerCase()
  .max(50, "邮箱地址不能超过 50 个字符")
  .regex(z.regexes.email, "邮箱地址格式不正确");

/** An address that must be there: a missing one is reported before a wrong one. */
export const RequiredEmail = z.string().trim().min(1, "请输入邮箱地址").pipe(Email);

/** Text that older consoles send as null or leave out ⇄ text. */
const optionalText = z.codec(z.string().nullish(), z.string(), {
  decode: (text) => (text ?? "").trim().slice(0, 200),
  encode: (text) => text,
});

/** The proof of the human check; asked for when TurnstileCheckEnabled is on (requirements W4.1). */
export const TurnstileProof = z.codec(z.string().optional(), z.string(), {
  decode: (text) => (text ?? "").slice(0, 2048),
  encode: (text) => (text === "" ? undefined : text),
});

/** Registration payload (requirements B3). `password2` is the console's own check (requirements W20.24). */
export const Registration = z.object({
  username: Username,
  password: Password,
  password2: optionalText,
  /** Used only when EmailVerificationEnabled is on; checked then. */
  email: optionalText,
  verification_code: optionalText,
  aff_code: optionalText,
  /** The code of an invitation; needed where registration is by invitation only. */
  invitation: optionalText,
});
export type Registration = z.output<typeof Registration>;

const ProofQuery = z.object({ turnstile: TurnstileProof });
const EmailQuery = z.object({ email: Email, turnstile: TurnstileProof });

/** What the link of the reset mail carries. */
export const PasswordReset = z.object({
  email: Email,
  token: z.string().trim().min(1, "重置链接无效或已失效").max(200),
});
export type PasswordReset = z.output<typeof PasswordReset>;

export const authApi = {
  login: endpoint({
    method: "POST",
    path: "/api/user/login",
    level: "public",
    limit: "critical",
    summary: "密码登录，成功后设置会话 Cookie 并返回用户",
    body: Credentials,
    data: LoginUser,
  }),
  logout: endpoint({
    method: "GET",
    path: "/api/user/logout",
    level: "public",
    mutates: true,
    summary: "注销当前会话",
    data: Nothing,
  }),
  register: endpoint({
    method: "POST",
    path: "/api/user/register",
    level: "public",
    limit: "critical",
    turnstile: true,
    summary: "注册；开启邮箱验证时须带 email 与 verification_code",
    query: ProofQuery,
    body: Registration,
    data: Nothing,
  }),
  sendCode: endpoint({
    method: "GET",
    path: "/api/verification",
    level: "public",
    limit: "critical",
    turnstile: true,
    mutates: true,
    identifies: true,
    summary: "发送邮箱验证码；已登录时用于绑定邮箱，否则用于注册",
    query: EmailQuery,
    data: Nothing,
  }),
  requestReset: endpoint({
    method: "GET",
    path: "/api/reset_password",
    level: "public",
    limit: "critical",
    turnstile: true,
    mutates: true,
    summary: "发送密码重置邮件；无论邮箱是否注册，回答都一样",
    query: EmailQuery,
    data: Nothing,
  }),
  reset: endpoint({
    method: "POST",
    path: "/api/user/reset",
    level: "public",
    limit: "critical",
    summary: "用邮件中的令牌重置密码，返回新密码",
    body: PasswordReset,
    data: z.string(),
  }),
};
