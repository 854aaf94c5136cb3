// Rows as One API 0.6 sends them: nulls where its columns are nullable, nothing that is ours. Invented users and keys.

export interface UserRow {
  id: number;
  username: string;
  password: string;
  display_name: string;
  role: number;
  status: number;
  email: string;
  github_id: string;
  wechat_id: string;
  verification_code: string;
  access_token: string;
  quota: number;
  used_quota: number;
  request_count: number;
  group: string;
  aff_code: string;
  inviter_id: number;
}

export interface TokenRow {
  id: number;
  user_id: number;
  key: string;
  status: number;
  name: string;
  created_time: number;
  accessed_time: number;
  expired_time: number;
  remain_quota: number;
  unlimited_quota: boolean;
  used_quota: number;
}

export interface ChannelRow {
  id: number;
  type: number;
  key: string;
  status: number;
  name: string;
  weight: number | null;
  created_time: number;
  test_time: number;
  response_time: number;
  base_url: string | null;
  other: string;
  balance: number;
  balance_updated_time: number;
  models: string;
  group: string;
  used_quota: number;
  model_mapping: string | null;
  priority: number | null;
  config: string;
}

export interface RedemptionRow {
  id: number;
  user_id: number;
  key: string;
  status: number;
  name: string;
  quota: number;
  created_time: number;
  redeemed_time: number;
  count: number;
}

export interface LogRow {
  id: number;
  user_id: number;
  created_at: number;
  type: number;
  content: string;
  username: string;
  token_name: string;
  model_name: string;
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
  channel: number;
}

export const FIRST_SEC = 1_710_000_000;

export function userRow(id: number, username: string, role: number): UserRow {
  return {
    id,
    username,
    password: "",
    display_name: username,
    role,
    status: 1,
    email: "",
    github_id: "",
    wechat_id: "",
    verification_code: "",
    access_token: "",
    quota: 100_000_000,
    used_quota: 0,
    request_count: 0,
    group: "default",
    aff_code: `A${id}bC`,
    inviter_id: 0,
  };
}

export function tokenRow(id: number, userId: number, name: string): TokenRow {
  return {
    id,
    user_id: userId,
    key: `${"k".repeat(40)}${String(id).padStart(8, "0")}`,
    status: 1,
    name,
    created_time: FIRST_SEC + id,
    accessed_time: FIRST_SEC + id,
    expired_time: -1,
    remain_quota: 500_000,
    unlimited_quota: false,
    used_quota: 0,
  };
}

export function channelRow(id: number, name: string): ChannelRow {
  return {
    id,
    type: 1,
    key: "",
    status: 1,
    name,
    weight: null,
    created_time: FIRST_SEC + id,
    test_time: 0,
    response_time: 0,
    base_url: null,
    other: "",
    balance: 0,
    balance_updated_time: 0,
    models: "gpt-3.5-turbo,gpt-4",
    group: "default",
    used_quota: 0,
    model_mapping: null,
    priority: null,
    config: "",
  };
}

export function redemptionRow(id: number, name: string): RedemptionRow {
  return {
    id,
    user_id: 1,
    key: String(id).padStart(32, "0"),
    status: 1,
    name,
    quota: 100_000,
    created_time: FIRST_SEC + id,
    redeemed_time: 0,
    count: 0,
  };
}

export function logRow(id: number, user: UserRow): LogRow {
  return {
    id,
    user_id: user.id,
    created_at: FIRST_SEC + id,
    type: 2,
    content: "模型倍率 0.75，分组倍率 1.00",
    username: user.username,
    token_name: "第一把",
    model_name: "gpt-3.5-turbo",
    quota: 1_500,
    prompt_tokens: 800,
    completion_tokens: 400,
    channel: 1,
  };
}

/** What GET /api/status says: the fields of release 0.6 and no others. */
export const statusRow = {
  version: "v0.6.5",
  start_time: FIRST_SEC,
  email_verification: false,
  github_oauth: false,
  github_client_id: "",
  system_name: "One API",
  logo: "",
  footer_html: "",
  wechat_qrcode: "",
  wechat_login: false,
  server_address: "http://localhost:3000",
  turnstile_check: false,
  turnstile_site_key: "",
  top_up_link: "",
  chat_link: "",
  quota_per_unit: 500_000,
  display_in_currency: true,
} as const;

/** What GET /api/option/ says, keys ending in Token or Secret left out. */
export const optionRows: Readonly<Record<string, string>> = {
  PasswordLoginEnabled: "true",
  PasswordRegisterEnabled: "true",
  RegisterEnabled: "true",
  EmailVerificationEnabled: "false",
  EmailDomainRestrictionEnabled: "false",
  EmailDomainWhitelist: "gmail.com,163.com",
  GitHubOAuthEnabled: "false",
  GitHubClientId: "",
  WeChatAuthEnabled: "false",
  WeChatServerAddress: "",
  WeChatAccountQRCodeImageURL: "",
  MessagePusherAddress: "",
  TurnstileCheckEnabled: "false",
  TurnstileSiteKey: "",
  SMTPServer: "",
  SMTPPort: "587",
  SMTPAccount: "",
  SMTPFrom: "",
  ServerAddress: "http://localhost:3000",
  Notice: "",
  SystemName: "One API",
  Logo: "",
  Footer: "",
  HomePageContent: "",
  About: "",
  Theme: "default",
  QuotaForNewUser: "0",
  QuotaForInviter: "0",
  QuotaForInvitee: "0",
  QuotaRemindThreshold: "1000",
  PreConsumedQuota: "500",
  ModelRatio: '{"gpt-3.5-turbo":0.75,"gpt-4":15}',
  CompletionRatio: "{}",
  GroupRatio: '{"default":1,"svip":1,"vip":1}',
  TopUpLink: "",
  ChatLink: "",
  QuotaPerUnit: "500000",
  RetryTimes: "0",
  ChannelDisableThreshold: "5",
  AutomaticDisableChannelEnabled: "false",
  AutomaticEnableChannelEnabled: "false",
  LogConsumeEnabled: "true",
  DisplayInCurrencyEnabled: "true",
  DisplayTokenStatEnabled: "true",
  ApproximateTokenEnabled: "false",
};
