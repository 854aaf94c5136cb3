// Login providers as an operator sets them up: OpenID Connect and OAuth 2 services (requirements I40–I48, I60–I62). Logging in through them
// is sign-on.ts: guests load that alone.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { MailDomain } from "./mail-domain.ts";
import { GivenTeamRole } from "./team-role.ts";
import { IdParams, Nothing, query, rowsOf } from "./wire.ts";

export const PROVIDER_KINDS = ["oidc", "oauth2", "feishu", "dingtalk", "wecom"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** Ends of paths below /oauth and /api/oauth that are ours, or the family's. */
const RESERVED_SLUGS: readonly string[] = ["state", "github", "wechat", "email", "bind", "identity"];

function isWebAddress(text: string): boolean {
  return /^https?:\/\/[\w[][^\s#]*$/i.test(text);
}

const Address = z
  .string()
  .trim()
  .max(500, "地址最多 500 个字符")
  .refine((text) => text === "" || isWebAddress(text), "地址须以 http:// 或 https:// 开头，不能带 #")
  .default("");

/** Names and indexes with dots between; no expression language. */
const Path = z
  .string()
  .trim()
  .max(120, "字段路径最多 120 个字符")
  .regex(/^$|^[^.\s]+(\.[^.\s]+)*$/, "字段路径须为以点分隔的名称")
  .default("");

/**
 * A user who has the value in this claim, or in the list that it is, gets the group, is in the team, or is an administrator with the set
 * of permissions. Of groups and of sets the first rule that fits counts, of each team its first.
 */
export const Rule = z
  .object({
    path: Path.refine((path) => path !== "", "请输入字段路径"),
    value: z.string().trim().min(1, "请输入字段的值").max(200, "字段的值最多 200 个字符"),
    /** "" = none. */
    group: z.string().trim().max(32, "分组名称过长").default(""),
    /** 0 = none. */
    team_id: z.int().min(0).default(0),
    team_role: GivenTeamRole.default("member"),
    /** 0 = none. */
    staff_set_id: z.int().min(0).default(0),
  })
  .refine(
    ({ group, team_id, staff_set_id }) =>
      [group !== "", team_id !== 0, staff_set_id !== 0].filter(Boolean).length === 1,
    "每条规则须给出一个分组、一个团队或一个权限集",
  );
export type Rule = z.output<typeof Rule>;

/** What a provider needs that is no secret. Fields of the other kind are "". */
export const ProviderSettings = z.object({
  client_id: z.string().trim().min(1, "请输入客户端 ID").max(200, "客户端 ID 最多 200 个字符"),
  /** How the client proves itself to the token endpoint. */
  auth_style: z.enum(["body", "basic"]).default("body"),
  scopes: z.string().trim().max(300, "授权范围最多 300 个字符").default("openid profile email"),
  issuer: Address,
  authorize_url: Address,
  token_url: Address,
  userinfo_url: Address,
  id_path: Path,
  name_path: Path,
  mail_path: Path,
  /** Whether the address is proved: boolean true or the text "true". */
  verified_path: Path,
  /** Of 飞书 and 钉钉: the companies whose people may come, by `tenant_key` or `corpId`. */
  tenants: z.array(z.string().trim().min(1).max(80, "企业标识过长")).max(20, "最多 20 个企业").default([]),
  /** Of 企业微信: the app's AgentId. */
  agent_id: z
    .string()
    .trim()
    .regex(/^\d{0,12}$/, "应用 ID 须为数字")
    .default(""),
  /** Domains that the provider may speak for: an address elsewhere counts as not proved. */
  mail_domains: z.array(MailDomain).max(20, "最多 20 个域名").default([]),
  /**
   * Who gets a new account: no visitor, every visitor who may register, or, while registration is closed, addresses of the domains and
   * people of the companies.
   */
  sign_up: z.enum(["never", "open", "domain"]).default("open"),
  /** An ordinary account with this proved address is taken over without being asked. */
  links_by_mail: z.boolean().default(false),
  /** Accounts bound to it, with an address of its domains, have no other way in; super administrators keep theirs. */
  is_only_way: z.boolean().default(false),
  /** A second factor that the provider reports (`amr` with `mfa`) counts as ours. */
  trusts_mfa: z.boolean().default(false),
  /** Rules may make administrators, each with a set of permissions; without it they make none. */
  grants_staff: z.boolean().default(false),
  rules: z.array(Rule).max(50, "最多 50 条规则").default([]),
});
export type ProviderSettings = z.output<typeof ProviderSettings>;

export const ProviderDraft = ProviderSettings.extend({
  name: z.string().trim().min(1, "请输入名称").max(20, "名称最多 20 个字符"),
  is_enabled: z.boolean(),
  sort: z.int().min(0).max(1_000).default(0),
  /** "" = it stays. */
  secret: z.string().trim().max(2_000, "密钥最多 2,000 个字符").default(""),
});
export type ProviderDraft = z.output<typeof ProviderDraft>;

export const NewProvider = ProviderDraft.extend({
  kind: z.enum(PROVIDER_KINDS),
  slug: z
    .string()
    .trim()
    .regex(/^[a-z0-9-]{2,32}$/, "标识须为 2–32 位小写字母、数字或连字符")
    .refine((slug) => !RESERVED_SLUGS.includes(slug), "该标识已被系统使用"),
});
export type NewProvider = z.output<typeof NewProvider>;

export const LoginProvider = ProviderSettings.extend({
  id: z.int(),
  slug: z.string(),
  kind: z.enum(PROVIDER_KINDS),
  name: z.string(),
  is_enabled: z.boolean(),
  sort: z.int(),
  has_secret: z.boolean(),
  /** To be entered at the provider; "" while ServerAddress is not set. */
  redirect_url: z.string(),
  /** Accounts bound to it. */
  identities: z.int(),
});
export type LoginProvider = z.output<typeof LoginProvider>;

export const loginProviderApi = {
  list: endpoint({
    method: "GET",
    path: "/api/login_provider",
    level: "root",
    permission: "provider.read",
    summary: "登录服务（不含密钥）",
    data: rowsOf(LoginProvider),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/login_provider",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "添加登录服务；协议与标识之后不能修改",
    body: NewProvider,
    data: LoginProvider,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/login_provider/:id",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "修改登录服务；密钥留空表示不变",
    params: IdParams,
    body: ProviderDraft,
    data: LoginProvider,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/login_provider/:id",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "删除登录服务；name 须与其名称一致，绑定保留 30 天",
    params: IdParams,
    query: z.object({ name: query.text }),
    data: Nothing,
  }),
  test: endpoint({
    method: "POST",
    path: "/api/login_provider/:id/test",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "测试登录服务能否连通",
    params: IdParams,
    body: z.object({}).nullish(),
    data: z.object({ is_ok: z.boolean(), detail: z.string() }),
  }),
};
