// The public facts about this installation, and the model lists.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { PartnerTerms } from "./partner-terms.ts";
import { lenient, rowsOf } from "./wire.ts";

export const Status = z.object({
  version: z.string(),
  start_time: z.int(),
  email_verification: z.boolean(),
  github_oauth: z.boolean(),
  github_client_id: z.string(),
  system_name: z.string(),
  logo: z.string(),
  footer_html: z.string(),
  wechat_qrcode: z.string(),
  wechat_login: z.boolean(),
  server_address: z.string(),
  turnstile_check: z.boolean(),
  turnstile_site_key: z.string(),
  top_up_link: z.string(),
  chat_link: z.string(),
  quota_per_unit: z.number(),
  display_in_currency: z.boolean(),
  /** Our additions. */
  /** default, berry or air: how the console looks. */
  theme: z.string().default("default"),
  password_login: z.boolean().default(true),
  register: z.boolean().default(true),
  /** A visitor who has an invitation may register. */
  register_invited: z.boolean().default(true),
  default_password: z.boolean().default(false),
  /** The address that the terminal printed still leads to the first run. */
  first_run: z.boolean().default(false),
  /** Whose site passkeys are for; "" = the server has no name, so there are none. */
  passkey_rp_id: z.string().default(""),
  /** The login providers that are on. */
  oauth_providers: z.array(z.object({ slug: z.string(), name: z.string(), kind: z.string() })).default([]),
  /** What the pages of these names show in a frame; "" = none. */
  pricing_link: z.string().default(""),
  docs_link: z.string().default(""),
  cheap_link: z.string().default(""),
  /** The zone whose days, weeks and months limits are counted by. */
  budget_time_zone: z.string().default(""),
  /** Least that a call sets aside, in LLM tokens; what it costs is by model. */
  pre_consumed_quota: z.int().default(0),
  /** The money that prices are shown in. */
  price_currency: z.enum(["USD", "CNY"]).default("USD"),
  /** What the partner plan brings, as its page tells. */
  partner: PartnerTerms.prefault({}),
  /** Guests may look at the catalogue. */
  catalogue_open: z.boolean().default(true),
});
export type Status = z.output<typeof Status>;

const text = { data: lenient(z.string(), "") };

export const statusApi = {
  status: endpoint({
    method: "GET",
    path: "/api/status",
    level: "public",
    summary: "公开状态",
    data: Status,
  }),
  notice: endpoint({ method: "GET", path: "/api/notice", level: "public", summary: "公告", ...text }),
  about: endpoint({ method: "GET", path: "/api/about", level: "public", summary: "关于", ...text }),
  homePage: endpoint({
    method: "GET",
    path: "/api/home_page_content",
    level: "public",
    summary: "首页内容",
    ...text,
  }),
  models: endpoint({
    method: "GET",
    path: "/api/models",
    level: "user",
    summary: "渠道类型 → 默认模型名",
    data: lenient(z.record(z.string(), z.array(z.string())), {}),
  }),
  availableModels: endpoint({
    method: "GET",
    path: "/api/user/available_models",
    level: "user",
    summary: "我的分组可用的模型",
    data: rowsOf(z.string()),
  }),
  groups: endpoint({
    method: "GET",
    path: "/api/group/",
    level: "admin",
    permission: "group.read",
    summary: "分组名称",
    data: rowsOf(z.string()),
  }),
};
