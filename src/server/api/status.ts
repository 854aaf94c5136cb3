// Handlers: the public status, the model lists and the groups (requirements W3.2).
import { providerModels } from "#contract/provider-models.ts";
import type { statusApi } from "#contract/status.ts";
import { relyingParty } from "#server/accounts/passkeys.ts";
import type { Handlers } from "./call.ts";

export const status: Handlers<{ status: typeof statusApi }>["status"] = {
  async status(ctx) {
    const { options, version, startedAt, defaultPassword } = ctx;
    return {
      oauth_providers: [...(await ctx.signOn.buttons())],
      passkey_rp_id: relyingParty(ctx)?.id ?? "",
      version,
      start_time: startedAt,
      email_verification: options.get("EmailVerificationEnabled"),
      github_oauth: options.get("GitHubOAuthEnabled"),
      github_client_id: options.get("GitHubClientId"),
      system_name: options.get("SystemName"),
      logo: options.get("Logo"),
      footer_html: options.get("Footer"),
      wechat_qrcode: options.get("WeChatAccountQRCodeImageURL"),
      wechat_login: options.get("WeChatAuthEnabled"),
      server_address: options.get("ServerAddress"),
      turnstile_check: options.get("TurnstileCheckEnabled"),
      turnstile_site_key: options.get("TurnstileSiteKey"),
      top_up_link: options.get("TopUpLink"),
      chat_link: options.get("ChatLink"),
      quota_per_unit: options.get("QuotaPerUnit"),
      display_in_currency: options.get("DisplayInCurrencyEnabled"),
      theme: options.get("Theme"),
      password_login: options.get("PasswordLoginEnabled"),
      // By invitation only is closed to visitors who have none.
      register: options.get("RegisterEnabled") && !options.get("InvitationRequiredEnabled"),
      register_invited: options.get("RegisterEnabled") && options.get("PasswordRegisterEnabled"),
      default_password: defaultPassword.isInUse,
      first_run: await ctx.firstRun.isOpen(),
      pricing_link: options.get("PricingLink"),
      docs_link: options.get("DocsLink"),
      cheap_link: options.get("CheapLink"),
      budget_time_zone: options.get("BudgetTimeZone"),
      pre_consumed_quota: options.get("PreConsumedQuota"),
      price_currency: options.get("PriceCurrency"),
      partner: {
        gift_percent: options.get("GiftPercent"),
        redeem_percent: options.get("RedeemCommissionPercent"),
        pay_percent: options.get("PayCommissionPercent"),
        pay_base: options.get("PayCommissionBase"),
        plan_percent: options.get("PlanCommissionPercent"),
        first_orders: options.get("CommissionFirstOrders"),
        first_days: options.get("CommissionFirstDays"),
        month_yuan: options.get("CommissionMonthYuan"),
        least_withdrawal: options.get("LeastWithdrawalYuan"),
      },
      catalogue_open: options.get("CatalogueForGuestsEnabled"),
    };
  },

  notice: ({ options }) => options.get("Notice"),
  about: ({ options }) => options.get("About"),
  homePage: ({ options }) => options.get("HomePageContent"),

  models() {
    const lists: Record<string, string[]> = {};
    for (const [type, names] of Object.entries(providerModels)) lists[type] = [...names];
    return lists;
  },

  availableModels: ({ candidates }, { actor }) => [...candidates.models(actor.group)],

  groups({ options }) {
    const names = Object.keys(options.get("GroupRatio")).filter((name) => name !== "default");
    return ["default", ...names.sort()];
  },
};
