// Logging in through a login provider, and the identities bound to an account (requirements I40–I48, I60–I62).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { LoginUser } from "./factor.ts";
import { IdParams, Nothing, query, rowsOf } from "./wire.ts";

/** An identity that the user has bound. */
export const Identity = z.object({
  id: z.int(),
  slug: z.string(),
  name: z.string(),
  email: z.string(),
  created_at: z.int(),
  last_login_at: z.int(),
});
export type Identity = z.output<typeof Identity>;

/** Long enough for every code, state and issuer. */
const answered = z.codec(z.string().optional(), z.string(), {
  decode: (text) => (text ?? "").slice(0, 4_096),
  encode: (text) => (text === "" ? undefined : text),
});

/** What a provider sends back to the browser. */
export const ProviderAnswer = z.object({
  code: answered,
  state: answered,
  /** Who answers, where the provider tells it (RFC 9207). */
  iss: answered,
  error: answered,
});
export type ProviderAnswer = z.output<typeof ProviderAnswer>;

const SlugParams = z.object({ slug: z.string().max(64) });

export const signOnApi = {
  identities: endpoint({
    method: "GET",
    path: "/api/oauth/identity",
    level: "user",
    summary: "我绑定的登录服务账号",
    data: rowsOf(Identity),
  }),
  unbind: endpoint({
    method: "DELETE",
    path: "/api/oauth/identity/:id",
    level: "user",
    stepUp: "guarded",
    limit: "critical",
    summary: "解除绑定；不能解除最后一种登录方式",
    params: IdParams,
    data: Nothing,
  }),
  begin: endpoint({
    method: "POST",
    path: "/api/oauth/:slug/begin",
    level: "public",
    limit: "critical",
    identifies: true,
    summary: "开始登录或绑定，返回登录服务的授权地址",
    params: SlugParams,
    body: z.object({}).nullish(),
    data: z.string(),
  }),
  finish: endpoint({
    method: "GET",
    path: "/api/oauth/:slug",
    level: "public",
    stepUp: "guarded",
    limit: "critical",
    mutates: true,
    identifies: true,
    summary: "登录服务回调：登录或注册；已登录时为绑定，message 为 bind，无 data",
    params: SlugParams,
    query: ProviderAnswer.extend({ aff_code: query.text }),
    data: LoginUser.nullable(),
    beside: z.object({ message: z.enum(["", "bind"]) }),
  }),
};
