// Domains of mail: what one is, and which group and team a user joins who proves an address of it (requirements I65).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { GivenTeamRole } from "./team-role.ts";
import { IdParams, Nothing, rowsOf } from "./wire.ts";

/** Hosts of mail where every person can have an address: no domain of an organisation. */
const PUBLIC_HOSTS: ReadonlySet<string> = new Set(
  (
    "126.com 139.com 163.com 188.com 189.cn aliyun.com foxmail.com gmail.com googlemail.com gmx.com gmx.de hotmail.com icloud.com " +
    "live.com mail.com mail.ru me.com msn.com naver.com outlook.com proton.me protonmail.com qq.com sina.cn sina.com sohu.com " +
    "tom.com vip.qq.com vip.163.com yahoo.com yandex.com yandex.ru yeah.net zoho.com"
  ).split(" "),
);

/** A whole domain, compared as such, in ASCII: names in other scripts are `xn--…`, so that what looks alike is not alike. */
export const MailDomain = z
  .string()
  .trim()
  .toLowerCase()
  .max(190, "域名过长")
  .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, "邮箱域名格式不正确")
  .refine((domain) => !PUBLIC_HOSTS.has(domain), "公共邮箱的域名不能作为单位的域名");

export const MailDomainDraft = z.object({
  domain: MailDomain,
  /** Of new accounts, and of accounts that are still in `default`; "" = it stays. */
  group: z.string().trim().max(32, "分组名称过长").default(""),
  /** 0 = none. */
  team_id: z.int().min(0).default(0),
  /** At most a member: an address of the domain does not say what else its user may do. */
  team_role: GivenTeamRole.extract(["member", "viewer"]).default("member"),
});
export type MailDomainDraft = z.output<typeof MailDomainDraft>;

export const MailDomainRow = z.object({
  ...MailDomainDraft.shape,
  domain: z.string(),
  id: z.int(),
  /** "" = none, or it is gone. */
  team_name: z.string(),
  created_at: z.int(),
});
export type MailDomainRow = z.output<typeof MailDomainRow>;

export const mailDomainApi = {
  list: endpoint({
    method: "GET",
    path: "/api/mail_domain",
    level: "root",
    permission: "provider.read",
    summary: "邮箱域名：验证了该域名邮箱的人加入的分组与团队",
    data: rowsOf(MailDomainRow),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/mail_domain",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "添加邮箱域名；公共邮箱的域名不能添加",
    body: MailDomainDraft,
    data: MailDomainRow,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/mail_domain/:id",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "修改邮箱域名；已经加入的人不受影响",
    params: IdParams,
    body: MailDomainDraft,
    data: MailDomainRow,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/mail_domain/:id",
    level: "root",
    permission: "provider.write",
    stepUp: "guarded",
    summary: "删除邮箱域名；已经加入的人不受影响",
    params: IdParams,
    data: Nothing,
  }),
};
