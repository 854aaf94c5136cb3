// A server that leaves by the option for all, and beside it everything that it calls without a channel: logins, alerts, payments, price lists.
// Each service has a name that only a proxy knows.
import type { OptionKey } from "#contract/option.ts";
import { type ChatLogins, startChatLogins } from "#test/emulators/chat-logins.ts";
import { type GithubEmulator, startGithub } from "#test/emulators/github-emulator.ts";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { discoveryOf, type Forger, startForger } from "#test/emulators/oidc-forger.ts";
import { type Robots, startRobots } from "#test/emulators/robots.ts";
import {
  type PusherEmulator,
  startPusher,
  startTurnstile,
  startWeChat,
  type TurnstileEmulator,
  type WeChatEmulator,
} from "#test/emulators/service-emulators.ts";
import { tunnel } from "#test/emulators/tls-tunnel.ts";
import type { TestAppOptions, TestDatabase } from "./app.ts";
import { HOST, named } from "./outside-proxies.ts";
import { type Desks, startDesks } from "./pay-desks.ts";
import { PaymentWorld } from "./payment-world.ts";

/** What is called without a channel. */
export interface Services {
  readonly github: GithubEmulator;
  readonly turnstile: TurnstileEmulator;
  readonly wechat: WeChatEmulator;
  readonly pusher: PusherEmulator;
  readonly robots: Robots;
  readonly chats: ChatLogins;
  readonly forger: Forger;
  /** Where the forger is reached, with TLS, which the name of a provider must have. */
  readonly issuer: string;
  /** Answers OAuth 2, and has a list of prices. */
  readonly site: HttpEmulator;
  readonly desks: Desks;
}

export class GlobalExit {
  readonly world = new PaymentWorld();
  #services: Services | undefined;
  readonly #closers: (() => unknown)[] = [];
  /** Of the provider of logins; the test lets its process trust it. */
  cert = "";

  get services(): Services {
    if (this.#services === undefined) throw new Error("the world was not started");
    return this.#services;
  }

  async start(database: TestDatabase, logger: NonNullable<TestAppOptions["logger"]>): Promise<void> {
    const { now } = this.world.clock;
    const [github, turnstile, wechat, pusher, robots, chats, forger] = await Promise.all([
      startGithub(),
      startTurnstile(),
      startWeChat(now),
      startPusher(),
      startRobots(now),
      startChatLogins(),
      startForger(),
    ]);
    const [site, vendors, desks] = await Promise.all([
      startHttpEmulator(({ path }) => ({ json: SITE[path] ?? {} })),
      bothOf(robots, chats),
      startDesks(now, (url) => named(url)),
    ]);
    const issuer = await this.#sealed(forger);
    this.#services = { github, turnstile, wechat, pusher, robots, chats, forger, issuer, site, desks };
    for (const one of [github, turnstile, wechat, pusher, robots, chats, forger, site, vendors, desks])
      this.#closers.push(() => one.close());
    await this.world.start(database, {
      logger,
      env: {
        TRUSTED_PROXIES: "127.0.0.1",
        GITHUB_URL: named(github.url),
        GITHUB_API_URL: named(github.url),
        TURNSTILE_URL: named(turnstile.url),
        CHAT_VENDOR_URL: named(vendors.url),
      },
    });
    await this.set({
      // The days of payments are more than an administrator has time to add a factor.
      MfaRequiredFor: "none",
      GitHubClientId: github.clientId,
      GitHubClientSecret: github.clientSecret,
      GitHubOAuthEnabled: "true",
      WeChatServerAddress: named(wechat.url),
      WeChatServerToken: wechat.token,
      WeChatAuthEnabled: "true",
      TurnstileSiteKey: "site-key",
      TurnstileSecretKey: turnstile.secret,
    });
  }

  /** The forger under its name with TLS; it says what it is called there. */
  async #sealed(forger: Forger): Promise<string> {
    const { port, cert, close } = await tunnel(Number(new URL(forger.url).port), HOST);
    this.#closers.push(close);
    this.cert = cert;
    const issuer = `https://${HOST}:${port}`;
    forger.discovery = () => ({ json: discoveryOf(issuer) });
    return issuer;
  }

  async set(values: Partial<Record<OptionKey, string>>): Promise<void> {
    // The keys of the argument are option keys.
    for (const [key, value] of Object.entries(values))
      await this.world.app.ctx.options.set(key as OptionKey, value);
  }

  /** "" = everything goes directly. */
  leaveBy(proxy: string): Promise<void> {
    return this.set({ OutboundProxy: proxy });
  }

  async stop(): Promise<void> {
    await this.world.stop();
    for (const close of this.#closers.toReversed()) await close();
  }
}

const SITE: Readonly<Record<string, object>> = {
  "/token": { access_token: "opaque", token_type: "bearer" },
  "/profile": { id: "person-1", name: "Bo" },
  "/prices.json": { openai: { models: { "gpt-4o": { cost: { input: 3, output: 15, cache_read: 0.3 } } } } },
};

/** One address of all chat vendors, as the server is given it: robots, and what people log in by. */
function bothOf(robots: Robots, chats: ChatLogins): Promise<HttpEmulator> {
  return startHttpEmulator(async ({ method, path, search, headers, body }) => {
    const { url } = /^\/(open-apis\/bot|robot|cgi-bin\/webhook|bot|services)/.test(path) ? robots : chats;
    const kept = Object.entries(headers).filter(([name]) =>
      /^(content-type|authorization|x-acs-)/.test(name),
    );
    const answer = await fetch(url + path + search, {
      method,
      // Just seen to be texts.
      headers: Object.fromEntries(kept) as Record<string, string>,
      ...(method === "POST" && { body }),
    });
    return { status: answer.status, body: new Uint8Array(await answer.arrayBuffer()) };
  });
}
