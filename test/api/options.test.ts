// Every option of the table has its default, its validation and its effect (requirements B3). The records below are complete by type: an option
// without an entry does not compile. An effect is proved here, or by the test file that is named and speaks of the option.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OptionKey, type OptionRow, optionTable } from "#contract/option.ts";
import { defaultModelRatio } from "#contract/prices.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { startSmtp } from "#test/emulators/smtp-emulator.ts";
import { DEFAULTS, KINDS, kinds } from "#test/seeds/option-kinds.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODEL = "gpt-4";
// The keys of the table are exactly OptionKey.
const keys = Object.keys(optionTable) as OptionKey[];

describe("every option", () => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let url: string;
  let alice: SeededUser;
  let key: string;

  beforeAll(async () => {
    app = await createTestApp();
    upstream = await createFakeUpstream();
    url = await app.listen();
    alice = await seedUser(app.ctx, "alice");
    key = (await seedToken(app.ctx, alice.id)).key;
    const channelKey = "sk-upstream-of-the-options-test";
    await seedChannel(app.ctx.db, {
      type: 8,
      key_hash: app.ctx.secrets.hash(channelKey),
      key_sealed: app.ctx.secrets.seal(channelKey, "channels.key"),
      base_url: upstream.url,
      models: `${MODEL},house-model`,
      group: "default,vip",
    });
    await app.ctx.candidates.reload();
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });

  const put = (name: OptionKey, value: string) =>
    app.call(asRoot, "PUT", "/api/option/", { key: name, value });
  async function shown(name: OptionKey): Promise<string | undefined> {
    const { data } = await app.call(asRoot, "GET", "/api/option/");
    return data.find((row: { key: string }) => row.key === name)?.value;
  }
  const status = async () => (await app.call({}, "GET", "/api/status")).data;

  interface Paid {
    readonly status: number;
    readonly charged: number;
    readonly promptTokens: number;
    readonly isLogged: boolean;
  }
  /** One call through the relay: what it cost, and what the log says. */
  async function pay(model = MODEL, user = alice, bearer = key, content = "hello"): Promise<Paid> {
    const read = async () => (await app.call(user.who, "GET", "/api/user/self")).data;
    const before = await read();
    const logs = await app.call(user.who, "GET", "/api/log/self/?type=2&size=1");
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${bearer}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content }], max_tokens: 20 }),
    });
    await response.text();
    const after = await app.call(user.who, "GET", "/api/log/self/?type=2&size=1");
    return {
      status: response.status,
      charged: before.quota - (await read()).quota,
      promptTokens: after.data[0]?.prompt_tokens ?? 0,
      isLogged: after.total > logs.total,
    };
  }
  /** The field of the public status that shows an option. */
  const inStatus =
    (name: OptionKey, field: string, value: string, seen: unknown = value) =>
    async () => {
      expect((await status())[field]).not.toEqual(seen);
      await put(name, value);
      expect((await status())[field]).toEqual(seen);
    };
  const atPath = (name: OptionKey, path: string) => async () => {
    await put(name, "# 你好");
    expect((await app.call({}, "GET", path)).data).toBe("# 你好");
  };

  type Effect = string | (() => Promise<void>);
  const usage = (prompt: number, completion: number, cached = 0) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  });

  const preConsumedQuota = async () => {
    const poor = await seedUser(app.ctx, "poor");
    await app.ctx.ledger.adjust({
      userId: poor.id,
      kind: "adjust",
      quota: { target: 5_000n },
      actorId: 1,
      reason: "test",
    });
    const token = await seedToken(app.ctx, poor.id);
    upstream.script(json(chatReply("hi", usage(1, 1))));
    // 500 tokens at a ratio of 15 are set aside whatever the call asks for.
    expect((await pay(MODEL, poor, token.key)).status).toBe(403);
    await put("PreConsumedQuota", "0");
    expect((await pay(MODEL, poor, token.key)).status).toBe(200);
  };
  const modelRatio = async () => {
    upstream.script(json(chatReply("", usage(10, 0))));
    expect((await pay()).charged).toBe(150);
    await put("ModelRatio", JSON.stringify({ [MODEL]: 3 }));
    expect((await pay()).charged).toBe(30);
  };
  const completionRatio = async () => {
    upstream.script(json(chatReply("hi", usage(1, 10))));
    expect((await pay()).charged).toBe(315);
    await put("CompletionRatio", JSON.stringify({ [MODEL]: 5 }));
    expect((await pay()).charged).toBe(765);
  };
  const cacheRatio = async () => {
    upstream.script(json(chatReply("", usage(10, 0, 10))));
    await put("CacheRatio", JSON.stringify({ [MODEL]: 0.1 }));
    expect((await pay()).charged).toBe(15);
  };
  /** Ten tokens of one kind, in or out, at three times the price of plain input. */
  const partRatio = (name: OptionKey, { prompt, completion }: { prompt?: object; completion?: object }) => {
    const [input, output, charged] = prompt === undefined ? [1, 10, 465] : [10, 0, 450];
    return async () => {
      const told = {
        ...usage(input, output),
        ...(prompt && { prompt_tokens_details: prompt }),
        ...(completion && { completion_tokens_details: completion }),
      };
      upstream.script(json(chatReply(output === 0 ? "" : "hi", told)));
      await put(name, JSON.stringify({ [MODEL]: 3 }));
      expect((await pay()).charged).toBe(charged);
    };
  };
  const groupRatio = async () => {
    const vip = await seedUser(app.ctx, "vip", { group: "vip" });
    const token = await seedToken(app.ctx, vip.id);
    upstream.script(json(chatReply("", usage(10, 0))));
    await put("GroupRatio", '{"default":1,"vip":0.5}');
    expect((await pay(MODEL, vip, token.key)).charged).toBe(75);
    expect((await app.call(asRoot, "GET", "/api/group/")).data).toEqual(["default", "vip"]);
  };
  const fallbackModelRatio = async () => {
    upstream.script(json(chatReply("", usage(10, 0))));
    expect((await pay("house-model")).status).toBe(400);
    await put("FallbackModelRatio", "2");
    expect(await pay("house-model")).toMatchObject({ status: 200, charged: 20 });
  };
  const freeAtZeroEnabled = async () => {
    const broke = await seedUser(app.ctx, "broke");
    const left = (units: bigint) =>
      app.ctx.ledger.adjust({
        userId: broke.id,
        kind: "adjust",
        quota: { target: units },
        actorId: 1,
        reason: "test",
      });
    const token = await seedToken(app.ctx, broke.id);
    upstream.script(json(chatReply("hi", usage(10, 10))));
    await put("ModelRatio", JSON.stringify({ [MODEL]: 0 }));
    await left(1n);
    expect(await pay(MODEL, broke, token.key)).toMatchObject({ status: 200, charged: 0, isLogged: true });
    await left(0n);
    expect(await pay(MODEL, broke, token.key)).toMatchObject({ status: 403, isLogged: false });
    await put("FreeAtZeroEnabled", "true");
    expect(await pay(MODEL, broke, token.key)).toMatchObject({ status: 200, charged: 0, isLogged: true });
    await put("UserRequestsPerMinute", "1");
    const statuses = [
      (await pay(MODEL, broke, token.key)).status,
      (await pay(MODEL, broke, token.key)).status,
    ];
    await put("UserRequestsPerMinute", "0");
    expect(statuses).toContain(429);
    await put("ModelRatio", "{}");
    expect((await pay(MODEL, broke, token.key)).status).toBe(403);
  };
  const logConsumeEnabled = async () => {
    upstream.script(json(chatReply("", usage(10, 0))));
    expect(await pay()).toMatchObject({ charged: 150, isLogged: true });
    await put("LogConsumeEnabled", "false");
    expect(await pay()).toMatchObject({ charged: 150, isLogged: false });
  };
  const approximateTokenEnabled = async () => {
    // Without usage from the upstream the prompt is counted here.
    upstream.script(json(chatReply("hi", null)));
    const content = "antidisestablishmentarianism ".repeat(20);
    const exact = await pay(MODEL, alice, key, content);
    await put("ApproximateTokenEnabled", "true");
    const estimated = await pay(MODEL, alice, key, content);
    expect(estimated.promptTokens).toBeGreaterThan(0);
    expect(estimated.promptTokens).not.toBe(exact.promptTokens);
  };
  const smtpLogin = async () => {
    const smtp = await startSmtp();
    await put("SMTPServer", "127.0.0.1");
    await put("SMTPPort", String(smtp.port));
    await put("SMTPAccount", "account@gate.example");
    await put("SMTPToken", "mail-password");
    expect(await app.ctx.mailer.post("a@example.com", { subject: "s", paragraphs: ["h"] })).toBe("sent");
    expect(smtp.letters[0]?.login).toBe("account@gate.example:mail-password");
    await app.ctx.db.deleteFrom("options").where("key", "like", "SMTP%").execute();
    await smtp.close();
  };

  const effects: Record<OptionKey, Effect> = {
    PasswordLoginEnabled: "src/server/api/auth.test.ts",
    TopUpPlans: "src/server/payments/orders.test.ts",
    GiftPercent: "src/server/api/partner-terms.test.ts",
    RedeemCommissionPercent: "src/server/api/partner-terms.test.ts",
    PayCommissionPercent: "src/server/payments/plans.test.ts",
    PayCommissionBase: "src/server/payments/commission.test.ts",
    CommissionFirstOrders: "src/server/payments/commission.test.ts",
    CommissionFirstDays: "src/server/api/partner-terms.test.ts",
    CommissionMonthYuan: "src/server/payments/commission.test.ts",
    LeastWithdrawalYuan: "src/server/api/partner-terms.test.ts",
    PlanCommissionPercent: "src/server/payments/plans.test.ts",
    CommissionHoldDays: "src/server/api/payouts.test.ts",
    ManualOrderLimitYuan: "src/server/payments/manual.test.ts",
    RefuseInDebtEnabled: "src/server/payments/debt.test.ts",
    PlanGraceDays: "src/server/payments/plans.test.ts",
    PasswordRegisterEnabled: "src/server/api/register.test.ts",
    RegisterEnabled: "src/server/api/register.test.ts",
    InvitationRequiredEnabled: "src/server/api/invitations.test.ts",
    EmailVerificationEnabled: "src/server/api/register.test.ts",
    EmailDomainRestrictionEnabled: "src/server/api/register.test.ts",
    EmailDomainWhitelist: "src/server/api/register.test.ts",
    GitHubOAuthEnabled: "src/server/api/oauth.test.ts",
    GitHubClientId: inStatus("GitHubClientId", "github_client_id", "Iv1.client"),
    GitHubClientSecret: "src/server/api/oauth.test.ts",
    GitHubImportedNameEnabled: "src/server/api/oauth.test.ts",
    WeChatAuthEnabled: "src/server/api/wechat.test.ts",
    WeChatServerAddress: "src/server/api/wechat.test.ts",
    WeChatServerToken: "src/server/api/wechat.test.ts",
    WeChatAccountQRCodeImageURL: inStatus(
      "WeChatAccountQRCodeImageURL",
      "wechat_qrcode",
      "https://example.com/qr.png",
    ),
    MessagePusherAddress: "src/server/accounts/notices.test.ts",
    MessagePusherToken: "src/server/accounts/notices.test.ts",
    TurnstileCheckEnabled: "src/server/api/turnstile.test.ts",
    TurnstileSiteKey: inStatus("TurnstileSiteKey", "turnstile_site_key", "site-key"),
    TurnstileSecretKey: "src/server/api/turnstile.test.ts",
    SMTPServer: "src/server/accounts/mailer.test.ts",
    SMTPPort: "src/server/accounts/mailer.test.ts",
    SMTPAccount: smtpLogin,
    SMTPFrom: "src/server/accounts/mailer.test.ts",
    SMTPToken: smtpLogin,
    OutboundProxy: "src/server/relay/proxies.test.ts",
    ServerAddress: "src/server/accounts/reminders.test.ts",
    MfaRequiredFor: "src/server/api/enforcement.test.ts",
    MfaGraceDays: "src/server/api/enforcement.test.ts",
    StepUpForAllEnabled: "src/server/api/step-up.test.ts",
    PasskeyOrigins: "src/server/api/passkeys.test.ts",
    Notice: atPath("Notice", "/api/notice"),
    SystemName: inStatus("SystemName", "system_name", "River"),
    Logo: inStatus("Logo", "logo", "https://example.com/logo.png"),
    Footer: inStatus("Footer", "footer_html", "<b>页脚</b>"),
    HomePageContent: atPath("HomePageContent", "/api/home_page_content"),
    About: atPath("About", "/api/about"),
    Theme: inStatus("Theme", "theme", "berry"),
    ReleaseRepository: "test/e2e/console-boards.test.ts",
    QuotaForNewUser: "src/server/api/register.test.ts",
    QuotaForInviter: "src/server/api/register.test.ts",
    QuotaForInvitee: "src/server/api/register.test.ts",
    QuotaRemindThreshold: "src/server/accounts/reminders.test.ts",
    PreConsumedQuota: preConsumedQuota,
    ModelRatio: modelRatio,
    CompletionRatio: completionRatio,
    CacheRatio: cacheRatio,
    CacheWriteRatio: partRatio("CacheWriteRatio", { prompt: { cache_write_tokens: 10 } }),
    AudioRatio: partRatio("AudioRatio", { prompt: { audio_tokens: 10 } }),
    AudioCompletionRatio: partRatio("AudioCompletionRatio", { completion: { audio_tokens: 10 } }),
    ImageRatio: partRatio("ImageRatio", { prompt: { image_tokens: 10 } }),
    ImageCompletionRatio: partRatio("ImageCompletionRatio", { completion: { image_tokens: 10 } }),
    GroupRatio: groupRatio,
    UserUsableGroups: "src/server/relay/groups.test.ts",
    PriceCurrency: inStatus("PriceCurrency", "price_currency", "CNY"),
    CatalogueForGuestsEnabled: "src/server/api/catalogue.test.ts",
    ModelUnits: "src/server/relay/call-prices.test.ts",
    PriceNames: "src/server/api/price-drafts.test.ts",
    PriceSources: "src/server/api/list-sources.test.ts",
    PriceAutoPublishEnabled: "src/server/api/list-sources.test.ts",
    PriceRisePercent: "src/server/api/price-drafts.test.ts",
    PriceFallPercent: "src/server/api/price-drafts.test.ts",
    PriceChangedPercent: "src/server/api/price-drafts.test.ts",
    PriceShrinkPercent: "src/server/api/price-drafts.test.ts",
    ModelLastDays: "src/server/api/catalogue.test.ts",
    FallbackModelRatio: fallbackModelRatio,
    BatchRatio: "src/server/relay/batches.test.ts",
    BatchesEnabled: "src/server/relay/batches.test.ts",
    FreeAtZeroEnabled: freeAtZeroEnabled,
    TopUpLink: inStatus("TopUpLink", "top_up_link", "https://example.com/shop"),
    ChatLink: inStatus("ChatLink", "chat_link", "https://example.com/chat"),
    PricingLink: inStatus("PricingLink", "pricing_link", "https://example.com/pricing"),
    DocsLink: inStatus("DocsLink", "docs_link", "https://example.com/docs"),
    CheapLink: inStatus("CheapLink", "cheap_link", "https://example.com/cheap"),
    QuotaPerUnit: inStatus("QuotaPerUnit", "quota_per_unit", "100000", 100_000),
    RefuseBelowCostEnabled: "src/server/relay/call-costs.test.ts",
    ModelEndingLettersEnabled: "src/server/jobs/model-endings.test.ts",
    SoldDollarYuan: "src/server/api/margins.test.ts",
    RetryTimes: "src/server/relay/failures.test.ts",
    TokenRequestsPerMinute: "src/server/relay/admission/limits.test.ts",
    UserRequestsPerMinute: "src/server/relay/admission/limits.test.ts",
    TokenConcurrency: "src/server/relay/admission/limits.test.ts",
    UserConcurrency: "src/server/relay/admission/limits.test.ts",
    TokenShownOnceEnabled: "src/server/api/token-keys.test.ts",
    BudgetTimeZone: "src/server/relay/call-limits.test.ts",
    ChannelQueueSeconds: "src/server/relay/channel-limits.test.ts",
    ResponsesStateEnabled: "src/server/relay/stateful.test.ts",
    ResponsesSocketEnabled: "src/server/relay/realtime/realtime.test.ts",
    SessionAffinityEnabled: "src/server/relay/routing/affinity.test.ts",
    ChannelStrategy: "src/server/relay/strategies.test.ts",
    ChannelStrategyByGroup: "src/server/relay/strategies.test.ts",
    NativeFormatFirstEnabled: "src/server/relay/strategies.test.ts",
    HedgeStreamsEnabled: "src/server/relay/hedging.test.ts",
    RouteRules: "src/server/relay/route-rules.test.ts",
    ChannelBalanceThreshold: "src/server/jobs/alert-watch.test.ts",
    DiskFreeThreshold: "src/server/jobs/alert-watch.test.ts",
    ChannelDisableThreshold: "src/server/api/channel-runs.test.ts",
    AutomaticDisableChannelEnabled: "src/server/api/channel-runs.test.ts",
    AutomaticEnableChannelEnabled: "src/server/api/channel-runs.test.ts",
    ChannelProbeMinutes: "src/server/jobs/channel-probes.test.ts",
    ChannelProbeMaxHours: "src/server/jobs/channel-probes.test.ts",
    ChannelProbesPerRound: "src/server/jobs/channel-probes.test.ts",
    ChannelKeyProbeMinutes: "src/server/relay/keys.test.ts",
    ChannelKeyProbeMaxHours: "src/server/relay/keys.test.ts",
    UpstreamModelsHours: "src/server/api/channel-models.test.ts",
    ChannelKeyExportEnabled: "src/server/api/channel-keys.test.ts",
    LogConsumeEnabled: logConsumeEnabled,
    DisplayInCurrencyEnabled: inStatus("DisplayInCurrencyEnabled", "display_in_currency", "false", false),
    TeamCreateEnabled: "src/server/api/teams.test.ts",
    DisplayTokenStatEnabled: "src/server/relay/queries/billing.test.ts",
    ApproximateTokenEnabled: approximateTokenEnabled,
  };

  test.each(keys)("%s begins with its default", async (name) => {
    const row: OptionRow = optionTable[name];
    if (row.secret) expect(await shown(name)).toBeUndefined();
    else if (name === "ModelRatio")
      expect(JSON.parse((await shown(name)) ?? "")).toEqual({ ...defaultModelRatio });
    // A first start asks for second factors.
    else if (name === "MfaRequiredFor") expect(await shown(name)).toBe("staff");
    else if (!kinds[name].startsWith("ratios") || name === "GroupRatio")
      expect(await shown(name)).toBe(row.fallback);
    const wanted = DEFAULTS[name];
    if (wanted !== undefined) expect(row.fallback).toBe(wanted);
  });

  test.each(keys)("%s takes what fits and refuses what does not, keeping what was there", async (name) => {
    const row: OptionRow = optionTable[name];
    const { good, bad } = KINDS[kinds[name]];
    for (const text of good) expect(row.schema.safeDecode(text as never).success, text).toBe(true);
    const before = await shown(name);
    for (const text of bad) {
      expect(await put(name, text), text.slice(0, 40)).toMatchObject({ status: 200, success: false });
      expect(await shown(name)).toBe(before);
    }
  });

  test.each(keys)("%s does what it says", async (name) => {
    const effect = effects[name];
    if (typeof effect === "string") {
      expect(existsSync(join(ROOT, effect))).toBe(true);
      expect(readFileSync(join(ROOT, effect), "utf8")).toMatch(new RegExp(`\\b${name}\\b`));
      return;
    }
    await effect();
    // Back to what it was, for the tests that follow.
    await app.ctx.db.deleteFrom("options").where("key", "=", name).execute();
    await app.ctx.options.reload();
  });
});
