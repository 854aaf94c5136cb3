// How the options are laid out: which section of which tab, and one sentence each. Every option of the table stands here once.
import type { OptionTab } from "#contract/option.ts";
import { modelSections } from "./model-sections.ts";
import { fields, type Section } from "./section.ts";
import { partnerSection } from "./section-partner.ts";

const system: readonly Section[] = [
  {
    id: "address",
    title: "通用设置",
    text: "邮件里的链接、第三方登录的回调与控制台里的接口地址都从这里来。",
    submit: "更新服务器地址",
    fields: fields({
      ServerAddress: "用户访问本站的地址，例如 https://api.example.com，结尾的斜杠会去掉。",
    }),
  },
  {
    id: "login",
    title: "配置登录注册",
    text: "谁可以进来，新账户从哪里来。",
    submit: "保存登录注册设置",
    fields: fields({
      PasswordLoginEnabled: "关闭后只能通过第三方登录；至少要留一种超级管理员能用的方式。",
      RegisterEnabled: "关闭后任何方式都不能注册新账户，已有账户不受影响。",
      PasswordRegisterEnabled: "关闭后新账户只能通过 GitHub 或微信产生。",
      InvitationRequiredEnabled:
        "打开后须用管理员在“用户 → 邀请”中创建的链接注册；登录服务按邮箱域名放行的人不受影响。",
      TeamCreateEnabled: "关闭后只有管理员能创建团队，已有团队不受影响。",
      EmailVerificationEnabled: "注册时须填写邮件里的验证码，须先在下面配置 SMTP 的服务器与发件地址。",
    }),
  },
  {
    id: "factors",
    title: "配置两步验证",
    text: "谁必须启用两步验证，敏感操作何时再次询问。",
    submit: "保存两步验证设置",
    fields: [
      { key: "MfaRequiredFor", help: "被要求的账户在宽限期后只能添加验证方式，系统访问令牌也会停用。" },
      { key: "MfaGraceDays", help: "从账户第一次被要求时算起的天数；0 表示立即。" },
      {
        key: "StepUpForAllEnabled",
        help: "关闭时只有启用了两步验证的账户会被再次询问；开启后其他账户用密码确认，且系统访问令牌不能用于这些操作。",
      },
      {
        key: "PasskeyOrigins",
        help: "通行密钥属于“服务器地址”的域名；若控制台还有同域名下的其他地址，在此列出，逗号分隔。",
      },
    ],
  },
  {
    id: "domains",
    title: "配置邮箱域名白名单",
    text: "用来防止恶意用户利用临时邮箱批量注册。",
    submit: "保存邮箱域名白名单设置",
    fields: fields({
      EmailDomainRestrictionEnabled: "开启后只有白名单里的域名可以收到验证码。",
      EmailDomainWhitelist: "输入域名后按回车添加，例如 example.com；不能有空项或重复项。",
    }),
  },
  {
    id: "smtp",
    title: "配置 SMTP",
    text: "用来发送验证码、重置密码与额度提醒的邮件。",
    submit: "保存 SMTP 设置",
    fields: fields({
      SMTPServer: "主机名，例如 smtp.qq.com。更换后须重新填写访问凭证。",
      SMTPPort: "默认 587（STARTTLS）；465 使用 TLS。",
      SMTPAccount: "登录邮件服务器的账户，通常是邮箱地址。",
      SMTPFrom: "收件人看到的发件地址，通常与账户一致。",
      SMTPToken: "邮件服务器的密码或授权码。",
    }),
  },
  {
    id: "proxy",
    title: "配置出站代理",
    text: "渠道没有自己的代理时，发往上游的请求都经过这里；登录服务与消息推送也是。",
    submit: "保存出站代理设置",
    fields: fields({
      OutboundProxy:
        "例如 socks5h://用户:密码@主机:端口，也支持 http、https、socks5；保存后不再显示。填 direct 表示直连，填 inherit 表示不设置。",
    }),
  },
  {
    id: "github",
    title: "配置 GitHub OAuth App",
    text: "在 GitHub 的开发者设置里新建 OAuth App，回调地址填“服务器地址/oauth/github”。",
    submit: "保存 GitHub OAuth 设置",
    fields: fields({
      GitHubOAuthEnabled: "登录页会出现 GitHub 按钮，须先填写下面两项。",
      GitHubClientId: "OAuth App 页面上的 Client ID。",
      GitHubClientSecret: "OAuth App 页面上生成的 Client Secret。",
      GitHubImportedNameEnabled:
        "从旧系统导入的普通用户仅凭用户名即可首次登录；用户名可能已易主，迁移完成后请关闭。",
    }),
  },
  {
    id: "wechat",
    title: "配置 WeChat Server",
    text: "通过一台 WeChat Server 让用户用公众号验证码登录。",
    submit: "保存 WeChat Server 设置",
    fields: fields({
      WeChatAuthEnabled: "登录页会出现微信按钮，须先填写地址与凭证。",
      WeChatServerAddress: "结尾的斜杠会去掉。更换后须重新填写访问凭证。",
      WeChatServerToken: "WeChat Server 的访问凭证。",
      WeChatAccountQRCodeImageURL: "登录弹窗里显示的公众号二维码图片。",
    }),
  },
  {
    id: "pusher",
    title: "配置 Message Pusher",
    text: "渠道被自动禁用等消息会推送到这里；不填则改发邮件给超级管理员。",
    submit: "保存 Message Pusher 设置",
    fields: fields({
      MessagePusherAddress: "推送地址，例如 https://push.example.com/push/admin。更换后须重新填写访问凭证。",
      MessagePusherToken: "推送服务的访问凭证。",
    }),
  },
  {
    id: "turnstile",
    title: "配置 Turnstile",
    text: "Cloudflare 的人机验证，用于注册、发送邮件与注销账户。",
    submit: "保存 Turnstile 设置",
    fields: fields({
      TurnstileCheckEnabled:
        "须先填写下面两项和上面的“服务器地址”，只接受在该域名下完成的验证；开启后验证失败的请求会被拒绝。",
      TurnstileSiteKey: "公开的站点密钥，会出现在网页里。",
      TurnstileSecretKey: "服务器用来核对验证结果的密钥。",
    }),
  },
];

const operation: readonly Section[] = [
  {
    id: "general",
    title: "通用设置",
    text: "链接、额度的显示方式与失败后的重试。",
    submit: "保存通用设置",
    fields: fields({
      TopUpLink: "充值页上“获取兑换码”打开的链接，例如发卡网站。",
      TopUpPlans: "充值页出售的套餐：dollars 是到账的美元额度，yuan 是售价（元）。已创建的订单不受改动影响。",
      RefuseInDebtEnabled:
        "退款或拒付时余额不够收回的部分是欠额。开启后，欠额还清前只能调用免费模型；充值与兑换会先还欠额。",
      ManualOrderLimitYuan:
        "人工补单的实收金额超过它时，须由另一位超级管理员批准后才入账；其他货币按支付渠道的汇率折算。0 为不需要。调高或改为 0 在 24 小时后生效。管理员手工为一个账户增加的额度，或一名管理员制作的兑换码，24 小时内按面值合计超过它时，在操作审计中标明并通知超级管理员。",
      PlanGraceDays: "套餐到期而没有续订时，出借的分组再保留这些天，调用由余额支付；0 到 3，0 为到期即止。",
      ChatLink: "聊天页内嵌的网页；不会把令牌交给它。",
      PricingLink: "价格页内嵌的网页。",
      DocsLink: "文档页内嵌的网页。",
      CheapLink: "特惠套餐页内嵌的网页。",
      QuotaPerUnit: "一美元等于多少额度，默认 500000；改动会改变所有价格的含义。",
      SoldDollarYuan:
        "没有填写售价的兑换码，以及来历不明的额度（如导入的余额），每美元实收多少元；只用于计算毛利，7 表示按面值。赠送的额度不计收入。",
      RefuseBelowCostEnabled:
        "某渠道的成本高于售价时不用该渠道；所有渠道都如此则返回 400。成本未知的不受影响。",
      RetryTimes: "上游失败后最多换几次渠道重试，0 表示不重试。",
      ChannelQueueSeconds:
        "能用的渠道都达到自己的限额时，请求最多等这么久（不超过 30 秒），先到先得；0 表示立即返回 429。",
      ResponsesStateEnabled:
        "开启后 /v1/responses 可以用 previous_response_id 与 background：内容由上游保存（OpenAI 为 30 天），后续请求只走生成它的渠道和密钥。",
      ResponsesSocketEnabled:
        "Codex 默认用 WebSocket：一次连接，每轮只发新增内容，任何渠道都可以应答，按请求计费不变；关闭后客户端改用 HTTP。",
      BatchesEnabled:
        "开启后可以上传文件（/v1/files）并提交批处理（/v1/batches），逐行计费；只有支持它们的渠道可以应答。关闭时返回 501。",
      SessionAffinityEnabled:
        "较长的对话在渠道可用时固定走同一渠道，以命中上游的提示缓存；关闭后每次请求都按权重选择。",
      ChannelStrategy:
        "延迟最低：按权重取两个，用较快的一个；成本最低：按模型价格乘渠道的成本倍率，相差 5% 以内的按权重分配。",
      ChannelStrategyByGroup: '个别分组另用的策略，例如 {"vip": "latency"}；取值 weight、latency、cost。',
      NativeFormatFirstEnabled: "不必转换格式的渠道先用，都不可用时再用其他渠道；优先级仍然在前。",
      HedgeStreamsEnabled:
        "超过该模型 95% 的请求所需的首字时间仍无输出时，再请求下一个渠道，先输出者为准，另一个立即中断。用户只付一次；被中断的上游可能仍收提示的费用，因此最多用于 2% 的流式请求。",
      RouteRules:
        '在“渠道 → 路由解释 → 路由规则”里逐项填写，或在这里编辑 JSON。按顺序取第一条符合的规则，条件可写 models、groups、teams（团队 ID）、kib_over、kib_up_to（请求体 KiB），结果为 only 或 avoid（渠道 ID），例如 [{"name": "长文本", "models": ["claude-*"], "kib_over": 200, "only": [3, 7]}]。',
      DisplayInCurrencyEnabled: "关闭后控制台显示额度点数而不是美元。",
      DisplayTokenStatEnabled: "开启后客户端查到的是令牌的额度，不是账户的。",
      ApproximateTokenEnabled: "用字符数估算，省去分词的计算，预扣会不太准。",
    }),
  },
  {
    id: "log",
    title: "日志设置",
    text: "关闭消费日志不影响扣费，只是不再留下每次调用的明细。",
    submit: "保存日志设置",
    fields: fields({
      LogConsumeEnabled: "每次调用记录模型、用量与花费，失败的记录原因，供用户与管理员查询。",
    }),
  },
  {
    id: "monitor",
    title: "监控设置",
    text: "什么时候自动停用渠道，什么时候提醒用户。",
    submit: "保存监控设置",
    fields: fields({
      ChannelDisableThreshold: "单位秒；测试所有渠道时，更慢的会被自动禁用，0 表示不限。",
      QuotaRemindThreshold: "剩余额度低于此值时发邮件提醒用户。",
      ChannelBalanceThreshold: "查询过余额的渠道低于此值时通知，单位以服务商为准；0 表示不检查。",
      DiskFreeThreshold: "数据目录所在磁盘剩余不足时通知，高出两个百分点后告知恢复；0 表示不检查。",
      AutomaticDisableChannelEnabled: "密钥失效、欠费等错误出现时停用渠道。",
      AutomaticEnableChannelEnabled: "被自动禁用的渠道测试通过后重新启用，并按下面三项自动重试。",
      ChannelProbeMinutes:
        "停用后过这么久发一个很小的请求，每失败一次间隔变为 6 倍；余额不足的每天零点（UTC）后也试一次。0 表示不重试。",
      ChannelProbeMaxHours: "间隔不会超过这么久；0 表示间隔不变。",
      ChannelProbesPerRound: "限制重试的花费；0 表示不重试。手动禁用的渠道从不重试。",
      ChannelKeyProbeMinutes:
        "多密钥渠道的密钥停用后过这么久重试，每失败一次间隔变为 6 倍；余额不足的每天零点（UTC）后也试一次。每个渠道 10 秒内最多重试一个。0 表示不重试。",
      ChannelKeyProbeMaxHours: "间隔不会超过这么久；0 表示间隔不变。新的设置从下一次重试起生效。",
      UpstreamModelsHours: "上游新增或下架的模型会显示在渠道列表上，由管理员决定是否采用；0 表示不比较。",
      ChannelKeyExportEnabled:
        "多密钥渠道的密钥列表上出现“导出”，导出时须再次验证身份，并写入审计日志。平时应关闭。",
    }),
  },
  {
    id: "limits",
    title: "请求限制",
    text: "防止个别用户占满服务。0 表示不限；有多个节点时由所有节点合并计数。超过时返回 429，不扣费。",
    submit: "保存请求限制",
    fields: fields({
      TokenRequestsPerMinute: "一分钟内最多开始多少次调用，均匀恢复。",
      UserRequestsPerMinute: "同一用户所有令牌合计。",
      TokenConcurrency: "同一令牌最多同时有多少次调用在进行，流式输出占用到结束为止。",
      UserConcurrency: "同一用户所有令牌合计。",
      BudgetTimeZone:
        "IANA 时区名，例如 Asia/Shanghai。限额的日、周、月从该时区的零点开始。改为其他时区时，这些限额从零重新计数。",
    }),
  },
  {
    id: "token",
    title: "令牌的密钥",
    text: "用户能否再次查看自己令牌的密钥。",
    submit: "保存令牌设置",
    fields: fields({
      TokenShownOnceEnabled:
        "开启后新令牌与轮换得到的密钥只显示一次，服务器只保存哈希；已有的令牌不受影响，关闭后也不会恢复。",
    }),
  },
  partnerSection,
  {
    id: "quota",
    title: "额度设置",
    text: "新账户与邀请得到的额度，以及调用开始时预先扣下的额度。",
    submit: "保存额度设置",
    fields: fields({
      QuotaForNewUser: "新用户注册后得到的额度。",
      PreConsumedQuota: "每次调用至少预扣多少 token 的费用，结束后多退少补。",
      QuotaForInviter: "邀请人每邀请一位新用户得到的额度。",
      QuotaForInvitee: "使用邀请码注册的新用户额外得到的额度。",
    }),
  },
  {
    id: "catalogue",
    title: "模型广场",
    text: "所有人看到的模型与价格。",
    submit: "保存模型广场设置",
    fields: fields({
      CatalogueForGuestsEnabled: "关闭后须登录才能查看模型与价格；访客看到的是 default 分组的价格。",
      PriceCurrency: "模型价格以哪种货币显示，人民币按 1 美元 = 7 元换算；不影响计费。",
      ModelEndingLettersEnabled:
        "停用前 30、7、1 天各发一封邮件给最近 30 天调用过它的用户；管理员总会收到通知。",
      ModelLastDays:
        '模型 → 最后可用的日期，例如 {"gpt-4": "2026-12-31"}。模型广场会提前标出，过后不再列出；不影响调用。',
    }),
  },
  ...modelSections,
  {
    id: "group-ratio",
    title: "分组倍率",
    text: "不同用户分组的折扣；这里的名称也是可以选择的分组。",
    submit: "保存分组倍率",
    fields: fields({
      GroupRatio: "分组 → 价格的倍数，必须包含 default。",
      UserUsableGroups:
        '分组 → 说明，例如 {"vip": "更稳定"}。所有用户都可以为自己的令牌选择这些分组，按该分组的倍率计费；没有倍率的分组不可选。',
    }),
  },
];

const other: readonly Section[] = [
  {
    id: "releases",
    title: "更新来源",
    text: "检查更新时，去哪里查询最新版本。",
    submit: "保存更新来源",
    fields: fields({
      ReleaseRepository: "GitHub 仓库，例如 owner/name；留空则不访问任何外部网站。保存后刷新页面生效。",
    }),
  },
  {
    id: "notice",
    title: "公告",
    text: "用户打开控制台时看到的消息。",
    submit: "保存公告",
    fields: fields({ Notice: "支持 Markdown 与 HTML，危险的标签与属性会被去掉；留空则不显示。" }),
  },
  {
    id: "brand",
    title: "个性化设置",
    text: "本站的名称与外观。",
    submit: "保存个性化设置",
    fields: fields({
      SystemName: "显示在标题、登录页与邮件里的名称。",
      Logo: "图片的链接，http(s):// 或 / 开头；留空使用内置标志。",
      Theme: "整个控制台的主色；明暗由每位用户自己切换。",
    }),
  },
  {
    id: "home",
    title: "首页内容",
    text: "替换内置的首页。",
    submit: "保存首页内容",
    fields: fields({
      HomePageContent: "Markdown、HTML，或一个 https 链接（将以内嵌网页显示）；留空使用内置首页。",
    }),
  },
  {
    id: "about",
    title: "关于",
    text: "“关于”页面的内容。",
    submit: "保存关于",
    fields: fields({
      About: "Markdown、HTML，或一个 https 链接（将以内嵌网页显示）；留空使用内置说明。",
    }),
  },
  {
    id: "footer",
    title: "页脚",
    text: "每个页面底部的一行。",
    submit: "设置页脚",
    fields: fields({ Footer: "HTML，例如备案号与链接；留空使用默认页脚。" }),
  },
];

export const sections: Readonly<Record<OptionTab, readonly Section[]>> = { system, operation, other };
