// The option table (requirements B3): one row drives storage, defaults, validation, masking, the settings page and /api/status.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import {
  amount,
  domains,
  flag,
  graceDays,
  html,
  lendingDays,
  link,
  maybeAmount,
  origins,
  percent,
  port,
  positive,
  repository,
  text,
  timeZone,
  url,
  whole,
  wholeYuan,
} from "./option-kinds.ts";
import {
  groupRatios,
  groupStrategies,
  groupTexts,
  modelDays,
  modelUnits,
  priceNames,
  priceSources,
  ratios,
} from "./option-tables.ts";
import { COMMISSION_BASES } from "./partner-terms.ts";
import { routeRules } from "./route-rule.ts";
import { CHANNEL_STRATEGIES } from "./strategy.ts";
import { DEFAULT_PLANS, TopUpPlans } from "./topup-plans.ts";
import { Nothing, rowsOf } from "./wire.ts";

export type OptionTab = "system" | "operation" | "other";

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
  PriceCurrency: row({
    schema: z.enum(["USD", "CNY"], "须为 USD 或 CNY"),
    fallback: "USD",
    tab: "operation",
    label: "价格显示的货币",
  }),
  CatalogueForGuestsEnabled: row({ ...on, tab: "operation", label: "未登录也可查看模型广场" }),
  ModelEndingLettersEnabled: row({ ...off, tab: "operation", label: "模型停用前通知使用过的用户" }),
  ModelLastDays: row({ schema: modelDays, fallback: "{}", tab: "operation", label: "模型停用日期" }),
  ModelUnits: row({ schema: modelUnits, fallback: "{}", tab: "operation", label: "模型计费方式" }),
  PriceNames: row({ schema: priceNames, fallback: "{}", tab: "operation", label: "价目表中的模型名称" }),
  PriceSources: row({
    schema: priceSources,
    fallback: "{}",
    tab: "operation",
    label: "价目表的先后",
    root: true,
  }),
  PriceAutoPublishEnabled: row({
    ...off,
    tab: "operation",
    label: "自动发布没有疑问的价格",
    root: true,
  }),
  PriceRisePercent: row({ ...zero, fallback: "20", label: "价格涨幅超过多少须确认（%）" }),
  PriceFallPercent: row({ ...share, fallback: "50", label: "价格降幅超过多少须确认（%）" }),
  PriceChangedPercent: row({ ...share, fallback: "30", label: "多少模型变价须整体确认（%）" }),
  PriceShrinkPercent: row({ ...share, fallback: "10", label: "价目表缩减多少须整体确认（%）" }),
  FallbackModelRatio: row({
    schema: maybeAmount,
    fallback: "",
    tab: "operation",
    label: "未定价模型的倍率（留空则拒绝）",
  }),
  BatchRatio: row({ schema: amount, fallback: "0.5", tab: "operation", label: "批处理倍率" }),
  FreeAtZeroEnabled: row({
    ...off,
    tab: "operation",
    label: "余额用完后仍可使用免费模型",
  }),
  RefuseInDebtEnabled: row({ ...off, tab: "operation", label: "有欠额时暂停付费调用" }),
  ManualOrderLimitYuan: row({ ...zero, label: "补单须另一位超级管理员批准的金额（元）", root: true }),
  TopUpLink: row({ ...noLink, tab: "operation", label: "充值链接" }),
  TopUpPlans: row({ schema: TopUpPlans, fallback: DEFAULT_PLANS, tab: "operation", label: "充值套餐" }),
  GiftPercent: row({ ...share, fallback: "5", label: "礼品码赠送的比例（%）" }),
  RedeemCommissionPercent: row({ ...share, fallback: "5", label: "兑换码的返现比例（%）" }),
  PayCommissionPercent: row({ ...share, fallback: "5", label: "在线充值的返现比例（%）" }),
  PayCommissionBase: row({
    schema: z.enum(COMMISSION_BASES, `须为 ${COMMISSION_BASES.join("、")} 之一`),
    fallback: "quota",
    tab: "operation",
    label: "在线充值返现的计算方式",
  }),
  PlanCommissionPercent: row({ ...share, label: "购买套餐的返现比例（%）" }),
  CommissionFirstOrders: row({ ...zero, label: "每位被邀请用户前几笔有返现（0 为全部）" }),
  CommissionFirstDays: row({ ...zero, label: "被邀请用户注册后几天内有返现（0 为一直）" }),
  CommissionMonthYuan: row({ ...zero, schema: wholeYuan, label: "每位邀请人每月的返现上限（元，0 为不限）" }),
  CommissionHoldDays: row({ ...zero, schema: graceDays, fallback: "7", label: "返现冻结天数" }),
  LeastWithdrawalYuan: row({ ...zero, schema: wholeYuan, fallback: "100", label: "最低提现金额（元）" }),
  PlanGraceDays: row({ ...zero, schema: lendingDays, label: "套餐到期后的宽限天数" }),
  ChatLink: row({ ...noLink, tab: "operation", label: "聊天页面链接" }),
  PricingLink: row({ ...noLink, tab: "operation", label: "价格页面链接" }),
  DocsLink: row({ ...noLink, tab: "operation", label: "文档页面链接" }),
  CheapLink: row({ ...noLink, tab: "operation", label: "特惠套餐页面链接" }),
  QuotaPerUnit: row({ schema: positive, fallback: "500000", tab: "operation", label: "单位美元额度" }),
  SoldDollarYuan: row({ schema: positive, fallback: "7", tab: "operation", label: "每美元额度实收（元）" }),
  RefuseBelowCostEnabled: row({ ...off, tab: "operation", label: "拒绝低于成本的调用" }),
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
  ResponsesStateEnabled: row({ ...off, tab: "operation", label: "允许上游保存 Responses" }),
  ResponsesSocketEnabled: row({ ...on, tab: "operation", label: "允许 Responses 使用 WebSocket" }),
  BatchesEnabled: row({ ...off, tab: "operation", label: "允许文件与批处理" }),
  SessionAffinityEnabled: row({ ...on, tab: "operation", label: "同一对话优先使用同一渠道" }),
  ChannelStrategy: row({
    schema: z.enum(CHANNEL_STRATEGIES, `须为 ${CHANNEL_STRATEGIES.join("、")} 之一`),
    fallback: "weight",
    tab: "operation",
    label: "同优先级渠道的选择策略",
  }),
  ChannelStrategyByGroup: row({
    schema: groupStrategies,
    fallback: "{}",
    tab: "operation",
    label: "分组的选择策略",
  }),
  NativeFormatFirstEnabled: row({ ...off, tab: "operation", label: "同优先级内先用与客户端格式相同的渠道" }),
  HedgeStreamsEnabled: row({ ...off, tab: "operation", label: "流式请求首字过慢时同时请求另一渠道" }),
  RouteRules: row({ schema: routeRules, fallback: "[]", tab: "operation", label: "按条件路由的规则" }),
  ChannelDisableThreshold: row({ schema: amount, fallback: "5", tab: "operation", label: "最长响应时间" }),
  ChannelBalanceThreshold: row({ schema: amount, fallback: "5", tab: "operation", label: "渠道余额通知线" }),
  DiskFreeThreshold: row({ ...share, fallback: "10", label: "磁盘剩余百分比通知线" }),
  AutomaticDisableChannelEnabled: row({ ...off, tab: "operation", label: "失败时自动禁用渠道" }),
  AutomaticEnableChannelEnabled: row({ ...off, tab: "operation", label: "成功时自动启用渠道" }),
  ChannelProbeMinutes: row({ ...zero, fallback: "10", label: "自动禁用的渠道首次重试的分钟数" }),
  ChannelProbeMaxHours: row({ ...zero, fallback: "24", label: "自动禁用的渠道重试的最长间隔（小时）" }),
  ChannelProbesPerRound: row({ ...zero, fallback: "5", label: "每分钟最多重试的渠道数" }),
  ChannelKeyProbeMinutes: row({ ...zero, fallback: "10", label: "自动禁用的密钥首次重试的分钟数" }),
  ChannelKeyProbeMaxHours: row({ ...zero, fallback: "24", label: "自动禁用的密钥重试的最长间隔（小时）" }),
  UpstreamModelsHours: row({ ...zero, fallback: "24", label: "比较上游模型列表的间隔（小时）" }),
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
