// How the options are laid out: which section of which tab, and one sentence each. Every option of the table stands here once.
import type { OptionKey, OptionTab } from "#contract/option.ts";

export interface SectionField {
  readonly key: OptionKey;
  /** One sentence about what it does. */
  readonly help: string;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly submit: string;
  readonly fields: readonly SectionField[];
}

const system: readonly Section[] = [
  {
    id: "address",
    title: "通用设置",
    text: "邮件里的链接、第三方登录的回调与控制台里的接口地址都从这里来。",
    submit: "更新服务器地址",
    fields: [
      { key: "ServerAddress", help: "用户访问本站的地址，例如 https://api.example.com，结尾的斜杠会去掉。" },
    ],
  },
  {
    id: "login",
    title: "配置登录注册",
    text: "谁可以进来，新账户从哪里来。",
    submit: "保存登录注册设置",
    fields: [
      { key: "PasswordLoginEnabled", help: "关闭后只能通过第三方登录；至少要留一种超级管理员能用的方式。" },
      { key: "RegisterEnabled", help: "关闭后任何方式都不能注册新账户，已有账户不受影响。" },
      { key: "PasswordRegisterEnabled", help: "关闭后新账户只能通过 GitHub 或微信产生。" },
      {
        key: "EmailVerificationEnabled",
        help: "注册时须填写邮件里的验证码，须先在下面配置 SMTP 的服务器与发件地址。",
      },
    ],
  },
  {
    id: "domains",
    title: "配置邮箱域名白名单",
    text: "用来防止恶意用户利用临时邮箱批量注册。",
    submit: "保存邮箱域名白名单设置",
    fields: [
      { key: "EmailDomainRestrictionEnabled", help: "开启后只有白名单里的域名可以收到验证码。" },
      { key: "EmailDomainWhitelist", help: "输入域名后按回车添加，例如 example.com；不能有空项或重复项。" },
    ],
  },
  {
    id: "smtp",
    title: "配置 SMTP",
    text: "用来发送验证码、重置密码与额度提醒的邮件。",
    submit: "保存 SMTP 设置",
    fields: [
      { key: "SMTPServer", help: "主机名，例如 smtp.qq.com。更换后须重新填写访问凭证。" },
      { key: "SMTPPort", help: "默认 587（STARTTLS）；465 使用 TLS。" },
      { key: "SMTPAccount", help: "登录邮件服务器的账户，通常是邮箱地址。" },
      { key: "SMTPFrom", help: "收件人看到的发件地址，通常与账户一致。" },
      { key: "SMTPToken", help: "邮件服务器的密码或授权码。" },
    ],
  },
  {
    id: "github",
    title: "配置 GitHub OAuth App",
    text: "在 GitHub 的开发者设置里新建 OAuth App，回调地址填“服务器地址/oauth/github”。",
    submit: "保存 GitHub OAuth 设置",
    fields: [
      { key: "GitHubOAuthEnabled", help: "登录页会出现 GitHub 按钮，须先填写下面两项。" },
      { key: "GitHubClientId", help: "OAuth App 页面上的 Client ID。" },
      { key: "GitHubClientSecret", help: "OAuth App 页面上生成的 Client Secret。" },
      {
        key: "GitHubImportedNameEnabled",
        help: "从旧系统导入的普通用户仅凭用户名即可首次登录；用户名可能已易主，迁移完成后请关闭。",
      },
    ],
  },
  {
    id: "wechat",
    title: "配置 WeChat Server",
    text: "通过一台 WeChat Server 让用户用公众号验证码登录。",
    submit: "保存 WeChat Server 设置",
    fields: [
      { key: "WeChatAuthEnabled", help: "登录页会出现微信按钮，须先填写地址与凭证。" },
      {
        key: "WeChatServerAddress",
        help: "结尾的斜杠会去掉。更换后须重新填写访问凭证。",
      },
      { key: "WeChatServerToken", help: "WeChat Server 的访问凭证。" },
      { key: "WeChatAccountQRCodeImageURL", help: "登录弹窗里显示的公众号二维码图片。" },
    ],
  },
  {
    id: "pusher",
    title: "配置 Message Pusher",
    text: "渠道被自动禁用等消息会推送到这里；不填则改发邮件给超级管理员。",
    submit: "保存 Message Pusher 设置",
    fields: [
      {
        key: "MessagePusherAddress",
        help: "推送地址，例如 https://push.example.com/push/admin。更换后须重新填写访问凭证。",
      },
      { key: "MessagePusherToken", help: "推送服务的访问凭证。" },
    ],
  },
  {
    id: "turnstile",
    title: "配置 Turnstile",
    text: "Cloudflare 的人机验证，用于注册、发送邮件与注销账户。",
    submit: "保存 Turnstile 设置",
    fields: [
      {
        key: "TurnstileCheckEnabled",
        help: "须先填写下面两项和上面的“服务器地址”，只接受在该域名下完成的验证；开启后验证失败的请求会被拒绝。",
      },
      { key: "TurnstileSiteKey", help: "公开的站点密钥，会出现在网页里。" },
      { key: "TurnstileSecretKey", help: "服务器用来核对验证结果的密钥。" },
    ],
  },
];

const operation: readonly Section[] = [
  {
    id: "general",
    title: "通用设置",
    text: "链接、额度的显示方式与失败后的重试。",
    submit: "保存通用设置",
    fields: [
      { key: "TopUpLink", help: "充值页上“获取兑换码”打开的链接，例如发卡网站。" },
      { key: "ChatLink", help: "聊天页内嵌的网页；不会把令牌交给它。" },
      { key: "PricingLink", help: "价格页内嵌的网页。" },
      { key: "DocsLink", help: "文档页内嵌的网页。" },
      { key: "CheapLink", help: "特惠套餐页内嵌的网页。" },
      { key: "QuotaPerUnit", help: "一美元等于多少额度，默认 500000；改动会改变所有价格的含义。" },
      { key: "RetryTimes", help: "上游失败后最多换几次渠道重试，0 表示不重试。" },
      {
        key: "SessionAffinityEnabled",
        help: "较长的对话在渠道可用时固定走同一渠道，以命中上游的提示缓存；关闭后每次请求都按权重选择。",
      },
      { key: "DisplayInCurrencyEnabled", help: "关闭后控制台显示额度点数而不是美元。" },
      { key: "DisplayTokenStatEnabled", help: "开启后客户端查到的是令牌的额度，不是账户的。" },
      { key: "ApproximateTokenEnabled", help: "用字符数估算，省去分词的计算，预扣会不太准。" },
    ],
  },
  {
    id: "log",
    title: "日志设置",
    text: "关闭消费日志不影响扣费，只是不再留下每次调用的明细。",
    submit: "保存日志设置",
    fields: [
      {
        key: "LogConsumeEnabled",
        help: "每次调用记录模型、用量与花费，失败的记录原因，供用户与管理员查询。",
      },
    ],
  },
  {
    id: "monitor",
    title: "监控设置",
    text: "什么时候自动停用渠道，什么时候提醒用户。",
    submit: "保存监控设置",
    fields: [
      {
        key: "ChannelDisableThreshold",
        help: "单位秒；测试所有渠道时，更慢的会被自动禁用，0 表示不限。",
      },
      { key: "QuotaRemindThreshold", help: "剩余额度低于此值时发邮件提醒用户。" },
      { key: "AutomaticDisableChannelEnabled", help: "密钥失效、欠费等错误出现时停用渠道。" },
      { key: "AutomaticEnableChannelEnabled", help: "被自动禁用的渠道测试通过后重新启用。" },
    ],
  },
  {
    id: "limits",
    title: "请求限制",
    text: "防止个别用户占满服务。0 表示不限；有多个节点时由所有节点合并计数。超过时返回 429，不扣费。",
    submit: "保存请求限制",
    fields: [
      { key: "TokenRequestsPerMinute", help: "一分钟内最多开始多少次调用，均匀恢复。" },
      { key: "UserRequestsPerMinute", help: "同一用户所有令牌合计。" },
      { key: "TokenConcurrency", help: "同一令牌最多同时有多少次调用在进行，流式输出占用到结束为止。" },
      { key: "UserConcurrency", help: "同一用户所有令牌合计。" },
    ],
  },
  {
    id: "quota",
    title: "额度设置",
    text: "新账户与邀请得到的额度，以及调用开始时预先扣下的额度。",
    submit: "保存额度设置",
    fields: [
      { key: "QuotaForNewUser", help: "新用户注册后得到的额度。" },
      { key: "PreConsumedQuota", help: "每次调用至少预扣多少 token 的费用，结束后多退少补。" },
      { key: "QuotaForInviter", help: "邀请人每邀请一位新用户得到的额度。" },
      { key: "QuotaForInvitee", help: "使用邀请码注册的新用户额外得到的额度。" },
    ],
  },
  {
    id: "model-ratio",
    title: "模型倍率",
    text: "倍率 1 等于每 token 一点额度。表里已含内置价格，改过的会标出来。名称后带“>数字”的是输入超过这么多 token 时整个请求的价格。",
    submit: "保存模型倍率",
    fields: [
      { key: "ModelRatio", help: "模型 → 输入价格的倍率。" },
      { key: "FallbackModelRatio", help: "表里没有的模型按此倍率计费；留空则拒绝调用，不会误收费用。" },
      {
        key: "FreeAtZeroEnabled",
        help: "免费指倍率为 0：不扣费，照常计入日志与频率限制；关闭时余额须大于零。",
      },
    ],
  },
  {
    id: "completion-ratio",
    title: "补全倍率",
    text: "输出比输入贵多少倍。没有列出的模型按所属系列的规则计算。",
    submit: "保存补全倍率",
    fields: [{ key: "CompletionRatio", help: "模型 → 输出价格相对输入价格的倍数。" }],
  },
  {
    id: "cache-ratio",
    title: "缓存倍率",
    text: "命中上游缓存的输入按多少折计费，写入缓存的输入加价多少。没有列出的模型按普通输入计费。",
    submit: "保存缓存倍率",
    fields: [
      { key: "CacheRatio", help: "模型 → 缓存命中的输入价格相对普通输入的倍数。" },
      {
        key: "CacheWriteRatio",
        help: "模型 → 写入缓存（5 分钟）的输入价格相对普通输入的倍数；写入 1 小时的按其 1.6 倍计。",
      },
    ],
  },
  {
    id: "media-ratio",
    title: "音频与图片倍率",
    text: "音频、图片的 token 与文字价格不同的模型。没有列出的模型按文字计费。",
    submit: "保存音频与图片倍率",
    fields: [
      { key: "AudioRatio", help: "模型 → 音频输入价格相对文字输入的倍数。" },
      { key: "AudioCompletionRatio", help: "模型 → 音频输出价格相对音频输入的倍数。" },
      { key: "ImageRatio", help: "模型 → 图片输入价格相对文字输入的倍数。" },
      { key: "ImageCompletionRatio", help: "模型 → 图片输出价格相对图片输入的倍数。" },
    ],
  },
  {
    id: "group-ratio",
    title: "分组倍率",
    text: "不同用户分组的折扣；这里的名称也是可以选择的分组。",
    submit: "保存分组倍率",
    fields: [{ key: "GroupRatio", help: "分组 → 价格的倍数，必须包含 default。" }],
  },
];

const other: readonly Section[] = [
  {
    id: "releases",
    title: "更新来源",
    text: "检查更新时，去哪里查询最新版本。",
    submit: "保存更新来源",
    fields: [
      {
        key: "ReleaseRepository",
        help: "GitHub 仓库，例如 owner/name；留空则不访问任何外部网站。保存后刷新页面生效。",
      },
    ],
  },
  {
    id: "notice",
    title: "公告",
    text: "用户打开控制台时看到的消息。",
    submit: "保存公告",
    fields: [{ key: "Notice", help: "支持 Markdown 与 HTML，危险的标签与属性会被去掉；留空则不显示。" }],
  },
  {
    id: "brand",
    title: "个性化设置",
    text: "本站的名称与外观。",
    submit: "保存个性化设置",
    fields: [
      { key: "SystemName", help: "显示在标题、登录页与邮件里的名称。" },
      { key: "Logo", help: "图片的链接，http(s):// 或 / 开头；留空使用内置标志。" },
      { key: "Theme", help: "整个控制台的主色；明暗由每位用户自己切换。" },
    ],
  },
  {
    id: "home",
    title: "首页内容",
    text: "替换内置的首页。",
    submit: "保存首页内容",
    fields: [
      {
        key: "HomePageContent",
        help: "Markdown、HTML，或一个 https 链接（将以内嵌网页显示）；留空使用内置首页。",
      },
    ],
  },
  {
    id: "about",
    title: "关于",
    text: "“关于”页面的内容。",
    submit: "保存关于",
    fields: [
      { key: "About", help: "Markdown、HTML，或一个 https 链接（将以内嵌网页显示）；留空使用内置说明。" },
    ],
  },
  {
    id: "footer",
    title: "页脚",
    text: "每个页面底部的一行。",
    submit: "设置页脚",
    fields: [{ key: "Footer", help: "HTML，例如备案号与链接；留空使用默认页脚。" }],
  },
];

export const sections: Readonly<Record<OptionTab, readonly Section[]>> = { system, operation, other };
