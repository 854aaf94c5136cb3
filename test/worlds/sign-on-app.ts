// Browsers that log in through a provider: what tests of such logins do again and again.
import { afterAll, afterEach, beforeAll } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { type Clock, fakeClock } from "#server/clock.ts";
import { type Forger, type Lies, startForger } from "#test/emulators/oidc-forger.ts";
import { type Answer, asRoot, createAppOn, type TestApp, type TestDatabase } from "./app.ts";
import { type Visitor, visit } from "./visitor.ts";

export const SERVER = "https://gate.example";

let made = 0;

/** A slug and name that no other provider has. */
export function freshSlug(): string {
  made += 1;
  return `sso-${made}`;
}

/** Sets up a provider as the super administrator would; returns what the API says of it. */
export async function addProvider(app: TestApp, fields: Record<string, unknown>): Promise<Answer["data"]> {
  const slug = freshSlug();
  const body = {
    kind: "oidc",
    slug,
    name: `IdP ${slug}`,
    is_enabled: true,
    client_id: "client-1",
    secret: "forger-secret-canary",
    ...fields,
  };
  const answer = await app.call(asRoot, "POST", "/api/login_provider", body);
  if (!answer.success) throw new Error(answer.message);
  return answer.data;
}

/** Changes a provider; what is not named stays. */
export async function changeProvider(
  app: TestApp,
  row: { readonly id: number },
  fields: Record<string, unknown>,
): Promise<Answer> {
  return app.call(asRoot, "PUT", `/api/login_provider/${row.id}`, { ...row, secret: "", ...fields });
}

/** Begins a login and returns the address of the provider's page. */
export async function beginAt(who: Visitor, slug: string): Promise<string> {
  const begun = await who.call("POST", `/api/oauth/${slug}/begin`, {});
  if (typeof begun.data !== "string") throw new Error(`${begun.status} ${begun.message}`);
  return begun.data;
}

/** What the page of the console calls when the browser is back. */
export function comeBackTo(
  who: Visitor,
  slug: string,
  back: Readonly<Record<string, string>> | URLSearchParams,
): Promise<Answer> {
  return who.call("GET", `/api/oauth/${slug}?${new URLSearchParams(back)}`);
}

/** A whole login of a person at the forger. */
export async function loginThrough(
  who: Visitor,
  slug: string,
  { forger, sub, lies }: { forger: Forger; sub: string; lies?: Lies },
): Promise<Answer> {
  return comeBackTo(who, slug, forger.agree(await beginAt(who, slug), sub, lies));
}

let people = 0;

/** A subject that no other test has used. */
export function somebody(): string {
  people += 1;
  return `sub-${people}`;
}

export interface SignOnApp {
  readonly app: TestApp;
  readonly forger: Forger;
  /** A provider that may speak for corp.example. */
  readonly row: { readonly id: number; readonly slug: string; readonly name: string };
  close(): Promise<void>;
}

/** The server with a provider beside it. */
export async function startSignOnApp(database: TestDatabase, clock: Clock): Promise<SignOnApp> {
  const forger = await startForger();
  const app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
  await app.ctx.options.set("ServerAddress", SERVER);
  // Tests of years have staff without second factors.
  await app.ctx.options.set("MfaRequiredFor", "none");
  const row = await addProvider(app, { issuer: forger.url, mail_domains: ["corp.example"] });
  return {
    app,
    forger,
    row,
    async close() {
      await app.close();
      await forger.close();
    },
  };
}

/** Opens the app for the tests of a `describe`. After each of them everybody may register, and an hour passes. */
export function useSignOnApp(database: TestDatabase) {
  const clock = fakeClock();
  let world: SignOnApp;
  beforeAll(async () => {
    world = await startSignOnApp(database, clock);
  });
  afterAll(() => world.close());
  const set = (key: OptionKey, value: string) => world.app.ctx.options.set(key, value);
  afterEach(async () => {
    await set("RegisterEnabled", "true");
    clock.advance(3_600_000);
  });
  return {
    clock,
    set,
    get app() {
      return world.app;
    },
    get forger() {
      return world.forger;
    },
    get row() {
      return world.row;
    },
    get slug() {
      return world.row.slug;
    },
    visit: () => visit(world.app),
    login: (who: Visitor, sub: string, lies: Lies = {}, at = world.row.slug) =>
      loginThrough(who, at, { forger: world.forger, sub, lies }),
    self: async (who: Visitor) => (await who.call("GET", "/api/user/self")).data,
  };
}
