// Every way in which the server itself calls the outside, by the option for all (requirements C10): what a visitor or an administrator asks
// for, and what is seen, with the proxy and without.

import { vi } from "vitest";
import type { PaymentProviderName } from "#contract/payment-provider.ts";
import { compareDue } from "#server/payments/compare.ts";
import { pollDue } from "#server/payments/poller.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { APP } from "#test/emulators/chat-logins.ts";
import { until } from "#test/emulators/raw-http.ts";
import { ROBOT } from "#test/emulators/robots.ts";
import { asRoot } from "./app.ts";
import type { GlobalExit } from "./global-exit.ts";
import { named } from "./outside-proxies.ts";
import { addProvider, beginAt, comeBackTo, somebody } from "./sign-on-app.ts";
import { visit } from "./visitor.ts";

/** A path, and what is seen of it. */
export interface GlobalPath {
  /** Makes what the call needs; returns the call. */
  begin(exit: GlobalExit): Promise<() => Promise<string>>;
  readonly good: string;
  /** What is seen when the proxy is not there. */
  readonly down: string;
}

interface Said {
  readonly success: boolean;
  readonly message: string;
}
/** Names of providers are of one test. */
const short = ({ success, message }: Said) => (success ? "good" : message.replace(/ sso-\d+/, ""));

let people = 0;
const freshId = () => {
  people += 1;
  return people;
};

/** A login at a provider of this kind: the person has agreed, and comes back. */
const signOn = (
  fields: (exit: GlobalExit) => Record<string, unknown>,
  agree: (exit: GlobalExit, page: string) => Record<string, string>,
): GlobalPath["begin"] => {
  return async (exit) => {
    const { app } = exit.world;
    const { slug } = await addProvider(app, fields(exit));
    const who = visit(app);
    const back = agree(exit, await beginAt(who, slug));
    return async () => short(await comeBackTo(who, slug, back));
  };
};

const oidc = ({ services }: GlobalExit) => ({ kind: "oidc", issuer: services.issuer });
const oauth2 = ({ services: { site } }: GlobalExit) => ({
  kind: "oauth2",
  authorize_url: `${named(site.url)}/authorize`,
  token_url: `${named(site.url)}/token`,
  userinfo_url: `${named(site.url)}/profile`,
  id_path: "id",
  name_path: "name",
});
const BY_PROXY = "本站的出站代理不可用，请稍后再试或联系管理员";
const UNANSWERED = `IdP 登录失败：${BY_PROXY}`;

/** A provider that the administrator tests. */
const tested = (fields: (exit: GlobalExit) => Record<string, unknown>, down: string): GlobalPath => ({
  begin: async (exit) => {
    const { app } = exit.world;
    const { id } = await addProvider(app, fields(exit));
    return async () => {
      const { data } = await app.call(asRoot, "POST", `/api/login_provider/${id}/test`, {});
      return data.is_ok ? "good" : data.detail;
    };
  },
  good: "good",
  down,
});

const chat = (kind: string, place: Record<string, unknown>): GlobalPath => ({
  begin: signOn(
    () => ({ kind, client_id: APP.id, secret: APP.secret, ...place }),
    ({ services }, page) => {
      const back = services.chats.agree(page, { id: somebody(), tenant: "corp-1" });
      return { code: back["authCode"] ?? back["code"] ?? "", state: back["state"] ?? "" };
    },
  ),
  good: "good",
  down: UNANSWERED,
});

/** A target of alerts that the administrator tests. */
const alert = (kind: string, fields: (exit: GlobalExit) => object): GlobalPath => ({
  begin: async (exit) => {
    const { app, clock } = exit.world;
    clock.advance(60_000);
    const draft = { kind, name: `to ${kind}`, is_enabled: true, events: ["budget_spent"], ...fields(exit) };
    const { data, message } = await app.call(asRoot, "POST", "/api/alert/target", draft);
    if (data === undefined || data === null) throw new Error(message);
    return async () => {
      const { data: told } = await app.call(asRoot, "POST", `/api/alert/target/${data.id}/test`, {});
      return told.is_ok ? "good" : told.detail;
    };
  },
  good: "good",
  down: "连接失败（proxy_unreachable）",
});

/** Accounts at payment providers, one for each kind. */
async function shop(exit: GlobalExit, provider: PaymentProviderName) {
  const { world, services } = exit;
  const desk = services.desks.desks.find((one) => one.provider === provider);
  if (desk === undefined) throw new Error(`no ${provider}`);
  const account = await world.account(desk.draft);
  return { ...desk, account };
}

const PAID = 25_000_000;

/** What is asked of a provider of payments, and what comes of it. */
const payments = (provider: PaymentProviderName): Readonly<Record<string, GlobalPath>> => ({
  [`an order at ${provider}`]: {
    begin: async (exit) => {
      const { account, method } = await shop(exit, provider);
      const { who } = await exit.world.buyer();
      return async () => {
        const { success, data, message } = await exit.world.buy(who, account, { method });
        if (!success) return message;
        return data.qr + data.url === "" ? "no place to pay" : "good";
      };
    },
    good: "good",
    down: "no place to pay",
  },
  [`a look at an order of ${provider}`]: {
    begin: async (exit) => {
      const { world } = exit;
      const { account, method, desk } = await shop(exit, provider);
      const { order, user } = await world.ordered(account, { method });
      desk.pay(order.order_no);
      return async () => {
        world.clock.advance(60_000);
        await pollDue(world.app.ctx);
        return String(await world.gained(user));
      };
    },
    good: String(PAID),
    down: "0",
  },
  [`a refund at ${provider}`]: {
    begin: async (exit) => {
      const { world } = exit;
      const { account, method, desk, notice } = await shop(exit, provider);
      const { order } = await world.ordered(account, { method });
      desk.pay(order.order_no);
      await world.notify(account, notice(order.order_no));
      return async () => {
        const path = `/api/payment/manage/${order.order_no}/refund`;
        const { success, message } = await world.app.call(asRoot, "POST", path, {
          amount: "1.00",
          reason: "测试",
        });
        const [refund] = await listRefunds(world.app.ctx.db, order.order_no);
        return success ? String(refund?.state) : message;
      };
    },
    // WeChat Pay takes its time.
    good: provider === "wechat" ? "asked" : "done",
    down: "unknown",
  },
});

/** The daily list of every provider at once: one call of the job. */
const LISTS: GlobalPath = {
  begin: async (exit) => {
    const { world } = exit;
    for (const provider of PROVIDERS) await shop(exit, provider);
    const passDay = () => world.clock.advance(26 * 3_600_000);
    await compareDue(world.app.ctx);
    return async () => {
      passDay();
      // `5 days, 0 brought, 0 missing, 0 later, 0 unclear`
      return (await compareDue(world.app.ctx))
        .replace(/[1-9]\d*/g, "some")
        .split(", ")
        .slice(2)
        .join(", ");
    };
  },
  good: "0 missing, 0 later, 0 unclear",
  down: "0 missing, 0 later, some unclear",
};

const PROVIDERS = ["epay-v1", "epay-v2", "stripe", "alipay", "wechat"] as const;

export const GLOBAL_PATHS: Readonly<Record<string, GlobalPath>> = {
  "GitHub's login": {
    begin: async (exit) => {
      const who = visit(exit.world.app);
      const { url } = await who.call("GET", "/api/oauth/state");
      const { code, state } = exit.services.github.agree(url, { id: freshId(), login: "octocat" });
      return async () => short(await who.call("GET", `/api/oauth/github?code=${code}&state=${state}`));
    },
    good: "good",
    down: `GitHub 登录失败：${BY_PROXY}`,
  },
  "WeChat's login": {
    begin: async (exit) => {
      const code = exit.services.wechat.tell(`wx-${freshId()}`);
      return async () => short(await visit(exit.world.app).call("GET", `/api/oauth/wechat?code=${code}`));
    },
    good: "good",
    down: `微信登录失败：${BY_PROXY}`,
  },
  Turnstile: {
    begin: async (exit) => {
      const proof = exit.services.turnstile.solve({ hostname: "gate.example" });
      await exit.set({ TurnstileCheckEnabled: "true" });
      return async () => {
        const body = { username: `human${freshId()}`, password: "harbour-lamp-9" };
        const path = `/api/user/register?turnstile=${proof}`;
        const answer = await visit(exit.world.app).call("POST", path, body);
        await exit.set({ TurnstileCheckEnabled: "false" });
        return short(answer);
      };
    },
    good: "good",
    down: `无法完成人机验证：${BY_PROXY}`,
  },
  "a login by OpenID Connect": {
    begin: signOn(oidc, ({ services }, page) => {
      const { code, state } = services.forger.agree(page, somebody(), { claims: { iss: services.issuer } });
      return { code, state };
    }),
    good: "good",
    down: UNANSWERED,
  },
  "a provider of OpenID Connect that is tested": tested(oidc, "egress proxy_unreachable"),
  "a logout that a provider tells of": {
    begin: async (exit) => {
      const { app, clock } = exit.world;
      const { issuer, forger } = exit.services;
      const { slug, id } = await addProvider(app, oidc(exit));
      await app.call(asRoot, "POST", `/api/login_provider/${id}/test`, {});
      const claims = { iss: issuer, sub: somebody(), iat: clock.seconds() };
      return async () => {
        const response = await app.request(`/api/oauth/${slug}/backchannel`, {
          method: "POST",
          headers: { host: "localhost", "content-type": "application/x-www-form-urlencoded" },
          body: new URLSearchParams({ logout_token: forger.tellLogout(claims) }),
        });
        return String(response.status);
      };
    },
    good: "200",
    down: "400",
  },
  "a login by OAuth 2": {
    begin: signOn(oauth2, (_, page) => ({
      code: "the-code",
      state: new URL(page).searchParams.get("state") ?? "",
    })),
    good: "good",
    down: UNANSWERED,
  },
  "a service of OAuth 2 that is tested": tested(oauth2, "egress proxy_unreachable"),
  "飞书's login": chat("feishu", { tenants: ["corp-1"] }),
  "钉钉's login": chat("dingtalk", { tenants: ["corp-1"] }),
  "企业微信's login": chat("wecom", { agent_id: APP.agent }),
  "the pusher": {
    begin: async (exit) => {
      const { pusher } = exit.services;
      await exit.set({ MessagePusherAddress: named(pusher.url), MessagePusherToken: pusher.token });
      return async () => {
        const { ctx } = exit.world.app;
        const before = pusher.messages.length;
        const failed = vi.spyOn(ctx.events, "externalFailed");
        ctx.notify({ event: "key_disabled", about: `key ${freshId()}`, title: "hello", content: "hello" });
        await until(() => pusher.messages.length > before || failed.mock.calls.length > 0);
        return failed.mock.calls[0]?.[0].problem ?? "good";
      };
    },
    good: "good",
    down: "proxy_unreachable",
  },
  "飞书's robot": alert("feishu", () => ({ address: ROBOT.feishu, secret: ROBOT.feishuSecret })),
  "钉钉's robot": alert("dingtalk", () => ({ address: ROBOT.dingtalk, secret: ROBOT.dingtalkSecret })),
  "企业微信's robot": alert("wecom", () => ({ address: ROBOT.wecom })),
  Telegram: alert("telegram", () => ({ secret: ROBOT.telegramToken, to: "-1001" })),
  Slack: alert("slack", () => ({ address: ROBOT.slack })),
  Bark: alert("bark", (exit) => ({ address: named(exit.services.robots.url), secret: ROBOT.barkKey })),
  "a webhook": alert("webhook", (exit) => ({
    address: `${named(exit.services.robots.url)}/hook`,
    secret: ROBOT.webhookSecret,
  })),
  ...Object.assign({}, ...PROVIDERS.map(payments)),
  "the lists of payments": LISTS,
  "a price list": {
    begin: async (exit) => {
      const address = `${named(exit.services.site.url)}/prices.json`;
      return async () => short(await exit.world.app.call(asRoot, "POST", "/api/price/draft", { address }));
    },
    good: "good",
    down: "取不到价目表，请检查地址与网络",
  },
};
