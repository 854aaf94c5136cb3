// Alerts: the targets that an operator sets up, what was sent to them, and what lasts at the moment (requirements I50–I55).
import { z } from "zod";
import { ALERT_EVENTS, type AlertEvent } from "./alert-events.ts";
import { Email } from "./auth.ts";
import { endpoint } from "./endpoint.ts";
import { Language } from "./language.ts";
import { isOneLine } from "./name.ts";
import { IdParams, ListBeside, Nothing, query, rowsOf, withoutEndSlashes } from "./wire.ts";

export const ALERT_KINDS = [
  "feishu",
  "dingtalk",
  "wecom",
  "telegram",
  "slack",
  "bark",
  "mail",
  "webhook",
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** What a target of each kind consists of; what is not named stays "". `secret-address` = every sender who knows the address can post. */
export interface AlertKindRow {
  readonly label: string;
  readonly address?: "secret-address" | "address";
  readonly secret?: "needed" | "optional";
  readonly to?: "needed";
  /** What an address must look like; absent = any web address. */
  readonly addressForm?: RegExp;
  readonly addressHint?: string;
}

export const alertKinds: Readonly<Record<AlertKind, AlertKindRow>> = {
  feishu: {
    label: "飞书机器人",
    address: "secret-address",
    secret: "optional",
    addressForm: /^https:\/\/open\.(feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/[\w-]{8,80}$/,
    addressHint: "https://open.feishu.cn/open-apis/bot/v2/hook/…",
  },
  dingtalk: {
    label: "钉钉机器人",
    address: "secret-address",
    secret: "optional",
    addressForm: /^https:\/\/oapi\.dingtalk\.com\/robot\/send\?access_token=\w{8,128}$/,
    addressHint: "https://oapi.dingtalk.com/robot/send?access_token=…",
  },
  wecom: {
    label: "企业微信机器人",
    address: "secret-address",
    addressForm: /^https:\/\/qyapi\.weixin\.qq\.com\/cgi-bin\/webhook\/send\?key=[\w-]{8,80}$/,
    addressHint: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…",
  },
  telegram: { label: "Telegram", secret: "needed", to: "needed" },
  slack: {
    label: "Slack",
    address: "secret-address",
    addressForm: /^https:\/\/hooks\.slack\.com\/services\/[\w/-]{8,200}$/,
    addressHint: "https://hooks.slack.com/services/…",
  },
  bark: { label: "Bark", address: "address", secret: "needed", addressHint: "https://api.day.app" },
  mail: { label: "邮件", to: "needed" },
  webhook: {
    label: "Webhook",
    address: "address",
    secret: "needed",
    addressHint: "https://example.com/hooks/tollgate",
  },
};

const Address = z
  .string()
  .trim()
  .max(1_000, "地址最多 1,000 个字符")
  .refine((text) => text === "" || /^https?:\/\/[^/\s#@]+[^\s#@]*$/.test(text), {
    error: "地址须以 http:// 或 https:// 开头，不能含空格、@ 或 #",
  })
  .overwrite(withoutEndSlashes)
  .default("");

/** `22:30`; "" = no quiet hours. */
const Hour = z
  .string()
  .trim()
  .regex(/^$|^([01]\d|2[0-3]):[0-5]\d$/, "时间须为 24 小时制，例如 22:30")
  .default("");

const Event = z.enum(ALERT_EVENTS as [AlertEvent, ...AlertEvent[]], "没有这种事件");

export const AlertTargetDraft = z.object({
  name: z
    .string()
    .trim()
    .min(1, "请输入名称")
    .max(40, "名称最多 40 个字符")
    .refine(isOneLine, "名称不能换行"),
  is_enabled: z.boolean(),
  events: z
    .array(Event)
    .min(1, "请至少选择一种事件")
    .max(50)
    .overwrite((events) => [...new Set(events)]),
  tells_end: z.boolean().default(true),
  /** Of the messages. */
  language: Language.default("zh"),
  quiet_from: Hour,
  quiet_to: Hour,
  /** Where to post; "" = it stays. */
  address: Address,
  /** Signing key, device key or robot's token; "" = it stays. */
  secret: z
    .string()
    .trim()
    .max(500, "密钥最多 500 个字符")
    .refine((text) => /^[\x21-\x7e]*$/.test(text), "密钥只能含英文字母、数字与符号")
    .default(""),
  /** Whom to write to: a chat, or addresses of mail with `;` between. */
  to: z.string().trim().max(1_000, "接收人最多 1,000 个字符").refine(isOneLine, "接收人不能换行").default(""),
});
export type AlertTargetDraft = z.output<typeof AlertTargetDraft>;

export const NewAlertTarget = AlertTargetDraft.extend({ kind: z.enum(ALERT_KINDS) });
export type NewAlertTarget = z.output<typeof NewAlertTarget>;

/** What a draft lacks, for the operator; undefined = nothing. `known` = what the stored target has. */
export function alertDraftFault(
  kind: AlertKind,
  draft: Pick<AlertTargetDraft, "address" | "secret" | "to" | "quiet_from" | "quiet_to">,
  known: { readonly hasAddress: boolean; readonly hasSecret: boolean },
): string | undefined {
  const row = alertKinds[kind];
  const { address, secret, to } = draft;
  if (row.address !== undefined && address === "" && !known.hasAddress) return "请输入地址";
  if (row.addressForm && address !== "" && !row.addressForm.test(address))
    return `地址不是${row.label}的地址，应形如 ${row.addressHint ?? ""}`;
  if (row.secret === "needed" && secret === "" && !known.hasSecret) return "请输入密钥";
  if (row.to !== undefined && to === "") return "请输入接收人";
  if ((draft.quiet_from === "") !== (draft.quiet_to === "")) return "免打扰时段须同时填写开始与结束";
  return formFault(kind, secret, to);
}

/** Of a webhook's secret, a chat and mail addresses. */
function formFault(kind: AlertKind, secret: string, to: string): string | undefined {
  if (kind === "webhook" && secret !== "" && !isWebhookSecret(secret))
    return "密钥须为 whsec_ 加上 24 字节以上的 base64";
  if (kind === "telegram" && secret !== "" && !/^\d{5,20}:[\w-]{20,80}$/.test(secret))
    return "令牌须形如 123456:ABC-DEF…";
  if (kind === "telegram" && !/^(-?\d{1,20}|@\w{4,40})$/.test(to)) return "会话须为数字 ID 或 @频道名";
  if (kind !== "mail") return undefined;
  const wrong = to.split(";").find((one) => !Email.safeParse(one.trim()).success);
  return wrong === undefined ? undefined : `邮箱地址不正确：${wrong.trim()}`;
}

/** Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
function isWebhookSecret(text: string): boolean {
  return /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(text);
}

export const AlertTarget = z.object({
  id: z.int(),
  kind: z.enum(ALERT_KINDS),
  name: z.string(),
  is_enabled: z.boolean(),
  events: z.array(Event),
  tells_end: z.boolean(),
  language: Language,
  quiet_from: z.string(),
  quiet_to: z.string(),
  /** Of kinds whose address is a secret, its host alone. */
  address: z.string(),
  has_secret: z.boolean(),
  to: z.string(),
  /** Messages that wait: for the limit of the vendor, another try, or the end of the quiet hours. */
  waiting: z.int(),
  /** Seconds; 0 = never. */
  last_sent_at: z.int(),
  /** Why the last message failed; "" = it did not. */
  last_problem: z.string(),
});
export type AlertTarget = z.output<typeof AlertTarget>;

export const ALERT_STATES = ["waiting", "sent", "failed"] as const;

/** One message to one target. */
export const AlertDelivery = z.object({
  id: z.int(),
  target_id: z.int(),
  target_name: z.string(),
  event: z.string(),
  level: z.enum(["critical", "warning", "info", "over"]),
  title: z.string(),
  content: z.string(),
  state: z.enum(ALERT_STATES),
  tries: z.int(),
  /** Why the last try failed; "" = none did. */
  problem: z.string(),
  created_at: z.int(),
  /** Seconds: when it was sent or given up, or the next try; 0 = at once. */
  at: z.int(),
});
export type AlertDelivery = z.output<typeof AlertDelivery>;

/** What lasts at the moment. */
export const AlertCondition = z.object({
  event: z.string(),
  about: z.string(),
  title: z.string(),
  since: z.int(),
});
export type AlertCondition = z.output<typeof AlertCondition>;

export const alertApi = {
  list: endpoint({
    method: "GET",
    path: "/api/alert/target",
    level: "root",
    permission: "alert.read",
    summary: "通知对象（不含密钥）",
    data: rowsOf(AlertTarget),
  }),
  create: endpoint({
    method: "POST",
    path: "/api/alert/target",
    level: "root",
    permission: "alert.write",
    stepUp: "guarded",
    summary: "添加通知对象；类型之后不能修改",
    body: NewAlertTarget,
    data: AlertTarget,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/alert/target/:id",
    level: "root",
    permission: "alert.write",
    stepUp: "guarded",
    summary: "修改通知对象；地址与密钥留空表示不变，换了主机须重新填写密钥",
    params: IdParams,
    body: AlertTargetDraft,
    data: AlertTarget,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/alert/target/:id",
    level: "root",
    permission: "alert.write",
    stepUp: "guarded",
    summary: "删除通知对象及其发送记录",
    params: IdParams,
    data: Nothing,
  }),
  test: endpoint({
    method: "POST",
    path: "/api/alert/target/:id/test",
    level: "root",
    permission: "alert.write",
    limit: "critical",
    summary: "发送一条测试消息，返回结果",
    params: IdParams,
    body: z.object({}).nullish(),
    data: z.object({ is_ok: z.boolean(), detail: z.string() }),
  }),
  deliveries: endpoint({
    method: "GET",
    path: "/api/alert/delivery",
    level: "root",
    permission: "alert.read",
    summary: "发送记录，最近 30 天",
    query: z.object({ p: query.page, size: query.size, target: query.count }),
    data: rowsOf(AlertDelivery),
    beside: ListBeside,
  }),
  retry: endpoint({
    method: "POST",
    path: "/api/alert/delivery/:id/retry",
    level: "root",
    permission: "alert.write",
    summary: "重新发送一条失败的消息",
    params: IdParams,
    body: z.object({}).nullish(),
    data: Nothing,
  }),
  conditions: endpoint({
    method: "GET",
    path: "/api/alert/condition",
    level: "root",
    permission: "alert.read",
    summary: "尚未恢复的问题",
    data: rowsOf(AlertCondition),
  }),
};
