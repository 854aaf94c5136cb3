// The option table (requirements B3): one row drives storage, defaults, validation, masking, the settings page and /api/status.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { sanitizeHtml } from "./html.ts";
import { isOneLine } from "./name.ts";
import { groupRatios, groupTexts, ratios } from "./option-tables.ts";
import { DEFAULT_PLANS, TopUpPlans } from "./topup-plans.ts";
import { Nothing, rowsOf, withoutEndSlashes } from "./wire.ts";

export type OptionTab = "system" | "operation" | "other";

/** `true` ⇄ boolean; anything but `true` is false (requirements W6.1). */
const flag = z.codec(z.string(), z.boolean(), {
  decode: (text) => text === "true",
  encode: (value) => String(value),
});

const TOO_LARGE = `不能大于 ${Number.MAX_SAFE_INTEGER.toLocaleString("en-US")}`;

function number(message: string, check: (value: number) => boolean) {
  return z.codec(
    z
      .string()
      .refine((text) => text.trim() !== "" && check(Number(text)), { error: message, abort: true })
      .refine((text) => Number(text) <= Number.MAX_SAFE_INTEGER, TOO_LARGE),
    z.number(),
    { decode: Number, encode: String },
  );
}
const whole = number("须为不小于 0 的整数", (value) => Number.isInteger(value) && value >= 0);
const amount = number("须为不小于 0 的数字", (value) => Number.isFinite(value) && value >= 0);
const positive = number("须为大于 0 的数字", (value) => Number.isFinite(value) && value > 0);
const port = number(
  "须为 1 到 65535 的端口号",
  (value) => Number.isInteger(value) && value >= 1 && value <= 65_535,
);

const percent = number(
  "须为 0 到 100 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 100,
);

const graceDays = number(
  "须为 0 到 365 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 365,
);

/** One line: it may stand in a mail's head, a title or an address. */
const text = z.string().trim().max(2_000, "最多 2,000 个字符").refine(isOneLine, "不能含有换行或控制字符");
/** Markdown, HTML or an address; HTML is cut down to an allowlist, also what an import brought (requirements H01). */
const html = z.string().max(200_000, "内容过长，最多 200,000 个字符").overwrite(sanitizeHtml);

/** http(s) address without trailing slashes; "" allowed. */
const url = z
  .string()
  .trim()
  .max(2_000, "最多 2,000 个字符")
  .refine((value) => value === "" || /^https?:\/\/[^/]/.test(value), "地址须以 http:// 或 https:// 开头")
  .refine((value) => !/[\s@]/.test(value), "地址里不能有空格或 @")
  .overwrite(withoutEndSlashes);

/** http(s) address or a path of this site; keeps its trailing slash (requirements H06). */
const link = z
  .string()
  .trim()
  .max(2_000, "最多 2,000 个字符")
  .refine(
    (value) => value === "" || /^(https?:\/\/|\/(?![/\\]))/.test(value),
    "链接须以 http(s):// 或 / 开头",
  )
  .refine((value) => !/\s/.test(value), "链接里不能有空格");

/** Where releases are published: `owner/name` on GitHub; "" = nowhere. */
const repository = z
  .string()
  .trim()
  .refine((value) => value === "" || isRepository(value), "须为 owner/name 形式的 GitHub 仓库");

/** Whether a text is `owner/name`, and nothing that could lead elsewhere in an address. */
export function isRepository(text: string): boolean {
  return /^[A-Za-z0-9][\w-]{0,38}\/(?!\.{1,2}$)[\w.-]{1,100}$/.test(text);
}

function partsOf(value: string): string[] {
  return value.trim() === "" ? [] : value.split(",").map((part) => part.trim().toLowerCase());
}

/** Comma list without empty and repeated entries (requirements B5). */
const domains = z.codec(
  z.string().refine((value) => {
    const parts = partsOf(value);
    return parts.every((part) => part !== "") && new Set(parts).size === parts.length;
  }, "邮箱域名白名单不能有空项或重复项"),
  z.array(z.string()),
  {
    decode: partsOf,
    encode: (list) => list.join(","),
  },
);

/** Comma list of origins: scheme, host and port, as browsers write them. */
const origins = z.codec(
  z
    .string()
    .max(2_000, "最多 2,000 个字符")
    .refine(
      (value) => partsOf(value).every((part) => /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(part)),
      "须为逗号分隔的来源，如 https://console.example.com，末尾不带斜杠",
    ),
  z.array(z.string()),
  { decode: partsOf, encode: (list) => list.join(",") },
);

/** Empty text ⇄ null: no ratio at all. */
const maybeAmount = z.codec(
  z
    .string()
    .refine(
      (value) => value.trim() === "" || (Number.isFinite(Number(value)) && Number(value) >= 0),
      "须留空或为不小于 0 的数字",
    ),
  z.number().nullable(),
  {
    decode: (value) => (value.trim() === "" ? null : Number(value)),
    encode: (value) => (value === null ? "" : String(value)),
  },
);

/** An IANA zone by its name. `UTC+8` and offsets are none: they know no daylight saving time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z][A-Za-z_]+(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
const timeZone = z
  .string()
  .trim()
  .refine(isTimeZone, "须为 IANA 时区名，例如 Asia/Shanghai（中国标准时间）或 UTC");

export interface OptionRow {
  /** Stored text ⇄ value. */
  readonly schema: z.ZodType;
  /** Stored text that stands when the database has none. */
  readonly fallback: string;
  readonly tab: OptionTab;
  readonly label: string;
  /** Never sent to a browser, sealed at rest; only written when non-empty (requirements B5). */
  readonly secret?: true;
  /** Only role 100 may write it: with it, a lower role could take over a session of role 100 (requirements J4). */
  readonly root?: true;
}

/** Fixes the literal types of a row. */
const row = <const R extends OptionRow>(definition: R): R => definition;

/** A table of ratios, empty as long as the prices that are built in stand. */
function ratioRow<const L extends string>(label: L) {
  return row({ schema: ratios(label), fallback: "{}", tab: "operation", label });
}

const off = { schema: flag, fallback: "false" } as const;
const on = { schema: flag, fallback: "true" } as const;
const noText = { schema: text, fallback: "" } as const;
const noUrl = { schema: url, fallback: "" } as const;
const noLink = { schema: link, fallback: "" } as const;
const noHtml = { schema: html, fallback: "" } as const;
const zero = { schema: whole, fallback: "0", tab: "operation" } as const;
const share = { ...zero, schema: percent } as const;
const secret = { ...noText, secret: true, root: true } as const;

export const optionTable = {
  PasswordLoginEnabled: row({ ...on, tab: "system", label: "允许通过密码进行登录" }),
  PasswordRegisterEnabled: row({ ...on, tab: "system", label: "允许通过密码进行注册" }),
  RegisterEnabled: row({ ...on, tab: "system", label: "允许新用户注册" }),
  InvitationRequiredEnabled: row({ ...off, tab: "system", label: "仅限受邀注册" }),
  EmailVerificationEnabled: row({ ...off, tab: "system", label: "通过密码注册时需要进行邮箱验证" }),
  EmailDomainRestrictionEnabled: row({ ...off, tab: "system", label: "启用邮箱域名白名单" }),
  EmailDomainWhitelist: row({
    schema: domains,
    fallback: "gmail.com,163.com,126.com,qq.com,outlook.com,hotmail.com,icloud.com,yahoo.com,foxmail.com",
    tab: "system",
    label: "邮箱域名白名单",
  }),
  GitHubOAuthEnabled: row({ ...off, tab: "system", label: "允许通过 GitHub 账户登录 & 注册" }),
  GitHubClientId: row({ ...noText, tab: "system", label: "GitHub Client ID", root: true }),
  GitHubClientSecret: row({ ...secret, tab: "system", label: "GitHub Client Secret" }),
  GitHubImportedNameEnabled: row({
    ...off,
    tab: "system",
    label: "允许导入的账户凭 GitHub 用户名登录",
    root: true,
  }),
  WeChatAuthEnabled: row({ ...off, tab: "system", label: "允许通过微信登录 & 注册" }),
  WeChatServerAddress: row({ ...noUrl, tab: "system", label: "WeChat Server 服务器地址", root: true }),
  WeChatServerToken: row({ ...secret, tab: "system", label: "WeChat Server 访问凭证" }),
  WeChatAccountQRCodeImageURL: row({ ...noLink, tab: "system", label: "微信公众号二维码图片链接" }),
  MessagePusherAddress: row({ ...noUrl, tab: "system", label: "Message Pusher 推送地址" }),
  MessagePusherToken: row({ ...secret, tab: "system", label: "Message Pusher 访问凭证" }),
  TurnstileCheckEnabled: row({ ...off, tab: "system", label: "启用 Turnstile 用户校验", root: true }),
  TurnstileSiteKey: row({ ...noText, tab: "system", label: "Turnstile Site Key", root: true }),
  TurnstileSecretKey: row({ ...secret, tab: "system", label: "Turnstile Secret Key" }),
  SMTPServer: row({ ...noText, tab: "system", label: "SMTP 服务器地址", root: true }),
  SMTPPort: row({ schema: port, fallback: "587", tab: "system", label: "SMTP 端口", root: true }),
  SMTPAccount: row({ ...noText, tab: "system", label: "SMTP 账户", root: true }),
  SMTPFrom: row({ ...noText, tab: "system", label: "SMTP 发送者邮箱", root: true }),
  SMTPToken: row({ ...secret, tab: "system", label: "SMTP 访问凭证" }),
  ServerAddress: row({ ...noUrl, tab: "system", label: "服务器地址", root: true }),
  OutboundProxy: row({ ...secret, tab: "system", label: "出站代理" }),
  MfaRequiredFor: row({
    schema: z.enum(["none", "staff", "all"], "须为 none、staff 或 all"),
    fallback: "none",
    tab: "system",
    label: "强制两步验证",
    root: true,
  }),
  MfaGraceDays: row({
    schema: graceDays,
    fallback: "14",
    tab: "system",
    label: "强制两步验证的宽限天数",
    root: true,
  }),
  StepUpForAllEnabled: row({ ...off, tab: "system", label: "没有两步验证的账户也须再次验证", root: true }),
  PasskeyOrigins: row({
    schema: origins,
    fallback: "",
    tab: "system",
    label: "通行密钥的其他来源",
    root: true,
  }),

  Notice: row({ ...noHtml, tab: "other", label: "公告" }),
  SystemName: row({ schema: text, fallback: "Tollgate", tab: "other", label: "系统名称" }),
  Logo: row({ ...noLink, tab: "other", label: "Logo 图片地址" }),
  Footer: row({ ...noHtml, tab: "other", label: "页脚" }),
  HomePageContent: row({ ...noHtml, tab: "other", label: "首页内容" }),
  About: row({ ...noHtml, tab: "other", label: "关于" }),
  Theme: row({
    schema: z.string().refine((name) => ["default", "berry", "air"].includes(name), "无效的主题"),
    fallback: "default",
    tab: "other",
    label: "主题",
  }),
  ReleaseRepository: row({ schema: repository, fallback: "", tab: "other", label: "发布仓库", root: true }),

  QuotaForNewUser: row({ ...zero, label: "新用户初始额度" }),
  QuotaForInviter: row({ ...zero, label: "邀请新用户奖励额度" }),
  QuotaForInvitee: row({ ...zero, label: "新用户使用邀请码奖励额度" }),
  QuotaRemindThreshold: row({ schema: whole, fallback: "1000", tab: "operation", label: "额度提醒阈值" }),
  PreConsumedQuota: row({ schema: whole, fallback: "500", tab: "operation", label: "请求预扣费额度" }),
  ModelRatio: ratioRow("模型倍率"),
  CompletionRatio: ratioRow("补全倍率"),
  CacheRatio: ratioRow("缓存倍率"),
  CacheWriteRatio: ratioRow("缓存写入倍率"),
  AudioRatio: ratioRow("音频倍率"),
  AudioCompletionRatio: ratioRow("音频补全倍率"),
  ImageRatio: ratioRow("图片倍率"),
  ImageCompletionRatio: ratioRow("图片补全倍率"),
  GroupRatio: row({
    schema: groupRatios,
    fallback: '{"default":1,"vip":1,"svip":1}',
    tab: "operation",
    label: "分组倍率",
  }),
  UserUsableGroups: row({
    schema: groupTexts,
    fallback: "{}",
    tab: "operation",
    label: "用户可为令牌选择的分组",
  }),
  FallbackModelRatio: row({
    schema: maybeAmount,
    fallback: "",
    tab: "operation",
    label: "未定价模型的倍率（留空则拒绝）",
  }),
  FreeAtZeroEnabled: row({
    ...off,
    tab: "operation",
    label: "余额用完后仍可使用免费模型",
  }),
  TopUpLink: row({ ...noLink, tab: "operation", label: "充值链接" }),
  TopUpPlans: row({ schema: TopUpPlans, fallback: DEFAULT_PLANS, tab: "operation", label: "充值套餐" }),
  PayCommissionPercent: row({ ...share, fallback: "5", label: "在线充值的返现比例（%）" }),
  PlanCommissionPercent: row({ ...share, label: "购买套餐的返现比例（%）" }),
  CommissionHoldDays: row({ ...zero, schema: graceDays, fallback: "7", label: "返现冻结天数" }),
  ChatLink: row({ ...noLink, tab: "operation", label: "聊天页面链接" }),
  PricingLink: row({ ...noLink, tab: "operation", label: "价格页面链接" }),
  DocsLink: row({ ...noLink, tab: "operation", label: "文档页面链接" }),
  CheapLink: row({ ...noLink, tab: "operation", label: "特惠套餐页面链接" }),
  QuotaPerUnit: row({ schema: positive, fallback: "500000", tab: "operation", label: "单位美元额度" }),
  RetryTimes: row({ ...zero, label: "失败重试次数" }),
  TokenRequestsPerMinute: row({ ...zero, label: "每个令牌每分钟的请求数上限" }),
  UserRequestsPerMinute: row({ ...zero, label: "每个用户每分钟的请求数上限" }),
  TokenConcurrency: row({ ...zero, label: "每个令牌同时进行的请求数上限" }),
  UserConcurrency: row({ ...zero, label: "每个用户同时进行的请求数上限" }),
  TokenShownOnceEnabled: row({ ...off, tab: "operation", label: "新令牌的密钥只显示一次" }),
  BudgetTimeZone: row({
    schema: timeZone,
    fallback: "Asia/Shanghai",
    tab: "operation",
    label: "限额按日、周、月计算时的时区",
  }),
  ChannelQueueSeconds: row({ ...zero, fallback: "5", label: "渠道达到限额时的排队秒数" }),
  SessionAffinityEnabled: row({ ...on, tab: "operation", label: "同一对话优先使用同一渠道" }),
  ChannelDisableThreshold: row({ schema: amount, fallback: "5", tab: "operation", label: "最长响应时间" }),
  ChannelBalanceThreshold: row({ schema: amount, fallback: "5", tab: "operation", label: "渠道余额通知线" }),
  DiskFreeThreshold: row({ ...share, fallback: "10", label: "磁盘剩余百分比通知线" }),
  AutomaticDisableChannelEnabled: row({ ...off, tab: "operation", label: "失败时自动禁用渠道" }),
  AutomaticEnableChannelEnabled: row({ ...off, tab: "operation", label: "成功时自动启用渠道" }),
  ChannelKeyExportEnabled: row({ ...off, tab: "operation", label: "允许超级管理员导出渠道密钥" }),
  LogConsumeEnabled: row({ ...on, tab: "operation", label: "启用额度消费日志记录" }),
  DisplayInCurrencyEnabled: row({ ...on, tab: "operation", label: "以货币形式显示额度" }),
  TeamCreateEnabled: row({ ...on, tab: "system", label: "允许用户创建团队" }),
  DisplayTokenStatEnabled: row({
    ...on,
    tab: "operation",
    label: "Billing 相关 API 显示令牌额度而非用户额度",
  }),
  ApproximateTokenEnabled: row({
    ...off,
    tab: "operation",
    label: "使用近似的方式估算 token 数以减少计算量",
  }),
} as const;

export type OptionKey = keyof typeof optionTable;
export type OptionValue<K extends OptionKey> = z.output<(typeof optionTable)[K]["schema"]>;

/** Whether a text is the key of an option. */
export function isOptionKey(key: string): key is OptionKey {
  return Object.hasOwn(optionTable, key);
}

/** One option as it crosses the wire: always text. Secrets are absent; `<key>Configured` says whether one is set. */
export const Option = z.object({ key: z.string(), value: z.string() });
export type Option = z.output<typeof Option>;

/** Booleans and numbers are accepted and turned into text (requirements W3.10). */
export const OptionWrite = z.object({
  key: z.string().min(1),
  value: z.union([z.string(), z.boolean(), z.number()]).overwrite((value) => String(value)),
});

export const optionApi = {
  list: endpoint({
    method: "GET",
    path: "/api/option/",
    level: "admin",
    permission: "option.read",
    summary: "所有选项（不含敏感信息）",
    data: rowsOf(Option),
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/option/",
    level: "admin",
    permission: "option.write",
    stepUp: "guarded",
    summary: "保存一个选项",
    body: OptionWrite,
    undecodable: 400, // The one place where the family does so.
    data: Nothing,
  }),
};
