// How the kinds of login providers are called.
import type { ProviderKind } from "#contract/login-provider.ts";

export const KIND_NAMES: Readonly<Record<ProviderKind, string>> = {
  oidc: "OpenID Connect",
  oauth2: "OAuth 2.0",
  feishu: "飞书",
  dingtalk: "钉钉",
  wecom: "企业微信",
};

/** What an app of a chat calls its parts. */
export interface ChatWords {
  readonly id: string;
  readonly secret: string;
  /** How a company is named; undefined = the id names it. */
  readonly tenant?: string;
}

export const CHAT_WORDS: Readonly<Partial<Record<ProviderKind, ChatWords>>> = {
  feishu: { id: "App ID", secret: "App Secret", tenant: "企业的 tenant_key" },
  dingtalk: { id: "Client ID（AppKey）", secret: "Client Secret（AppSecret）", tenant: "企业的 CorpId" },
  wecom: { id: "企业 ID（CorpID）", secret: "应用的 Secret" },
};
