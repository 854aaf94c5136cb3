// Login through other services: GitHub, the WeChat server, and binding them or an e-mail address to an account.
import { z } from "zod";
import { Email } from "./auth.ts";
import { endpoint } from "./endpoint.ts";
import { LoginUser } from "./factor.ts";
import { Nothing, query } from "./wire.ts";

/** Long enough for every code and state that GitHub issues. */
const handedOut = z.codec(z.string().optional(), z.string(), {
  decode: (text) => (text ?? "").slice(0, 512),
  encode: (text) => (text === "" ? undefined : text),
});

/** WeChat codes are valid for 3 minutes (requirements B5). */
const WeChatQuery = z.object({ code: query.text });

/** Where a new account comes from; other consoles leave it out. */
const affCode = { aff_code: query.text };

export const oauthApi = {
  state: endpoint({
    method: "GET",
    path: "/api/oauth/state",
    level: "public",
    limit: "critical",
    mutates: true,
    identifies: true,
    summary: "取得一次性的第三方登录状态；url 为带 PKCE 的 GitHub 授权地址",
    data: z.string(),
    /** Our addition: the authorisation page with everything it needs; "" while GitHub is not set up. */
    beside: z.object({ url: z.string().default("") }),
  }),
  github: endpoint({
    method: "GET",
    path: "/api/oauth/github",
    level: "public",
    stepUp: "guarded",
    limit: "critical",
    mutates: true,
    identifies: true,
    summary: "GitHub 回调：登录或注册；已登录时为绑定，message 为 bind，无 data",
    query: z.object({ code: handedOut, state: handedOut, ...affCode }),
    data: LoginUser.nullable(),
    beside: z.object({ message: z.enum(["", "bind"]) }),
  }),
  wechat: endpoint({
    method: "GET",
    path: "/api/oauth/wechat",
    level: "public",
    limit: "critical",
    mutates: true,
    summary: "用公众号给出的验证码登录或注册",
    query: WeChatQuery.extend(affCode),
    data: LoginUser,
  }),
  bindWeChat: endpoint({
    method: "GET",
    path: "/api/oauth/wechat/bind",
    level: "user",
    stepUp: "guarded",
    limit: "critical",
    mutates: true,
    summary: "绑定微信",
    query: WeChatQuery,
    data: Nothing,
  }),
  bindEmail: endpoint({
    method: "GET",
    path: "/api/oauth/email/bind",
    level: "user",
    stepUp: "guarded",
    limit: "critical",
    mutates: true,
    summary: "绑定邮箱",
    query: z.object({ email: Email, code: query.text }),
    data: Nothing,
  }),
};
