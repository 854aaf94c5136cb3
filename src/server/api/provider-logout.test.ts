// Providers that tell of logouts (requirements I64): a real one ends the sessions of who has left, and a forged token ends none.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Forger, Lies } from "#test/emulators/oidc-forger.ts";
import { startOidcWorld } from "#test/emulators/oidc-world.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import { enrolTotp } from "#test/worlds/authenticator.ts";
import {
  addProvider,
  beginAt,
  comeBackTo,
  freshSlug,
  loginThrough,
  SERVER,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

describe.each(databases)("logouts at login providers on $name", (database) => {
  let world: SignOnApp;
  let app: TestApp;
  let forger: Forger;
  let slug: string;

  beforeAll(async () => {
    // Tokens are made at the real time.
    world = await startSignOnApp(database, systemClock);
    ({ app, forger } = world);
    slug = world.row.slug;
  });
  afterAll(() => world.close());

  const isIn = async (who: Visitor) => (await who.call("GET", "/api/user/self")).success;
  const tell = (token: string, at = slug) =>
    app.request(`/api/oauth/${at}/backchannel`, {
      method: "POST",
      headers: { host: "localhost", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ logout_token: token }),
    });
  /** A browser in which a person has logged in, in a session that the provider has a name for. */
  async function enter(sub: string, sid?: string, at = slug): Promise<Visitor> {
    const who = visit(app);
    const lies: Lies = sid === undefined ? {} : { claims: { sid } };
    const answer = await loginThrough(who, at, { forger, sub, lies });
    expect(answer.success).toBe(true);
    return who;
  }

  test("who logs out at a provider that we did not write is logged out here, in that browser alone", async () => {
    const mine = freshSlug();
    const address = await app.listen();
    const redirectUrl = `${SERVER}/oauth/${mine}`;
    const logoutUrl = `${address}/api/oauth/${mine}/backchannel`;
    const real = await startOidcWorld({ redirectUrl, logoutUrl, isInToken: true });
    try {
      await addProvider(app, {
        slug: mine,
        issuer: real.issuer,
        client_id: real.clientId,
        secret: real.clientSecret,
      });
      const enterReal = async (subject: string) => {
        const [who, browser] = [visit(app), new Map<string, string>()];
        const back = await real.agree(await beginAt(who, mine), subject, browser);
        expect((await comeBackTo(who, mine, back.searchParams)).success).toBe(true);
        return { who, browser };
      };
      const [first, second, other] = [
        await enterReal("anna"),
        await enterReal("anna"),
        await enterReal("bert"),
      ];
      await real.leave(first.browser);
      expect(await isIn(first.who)).toBe(false);
      expect(await isIn(second.who)).toBe(true);
      expect(await isIn(other.who)).toBe(true);
      const logged = await app.ctx.db
        .selectFrom("audit")
        .select(["actor_id", "detail"])
        .where("action", "=", "auth.logout")
        .execute();
      expect(logged).toEqual([{ actor_id: 0, detail: JSON.stringify({ via: mine, sessions: 1 }) }]);
    } finally {
      await real.close();
    }
  });

  test("a person, one of their sessions, or a session alone: that ends, and nothing else", async () => {
    const [sub, other] = [somebody(), somebody()];
    const elsewhere = await addProvider(app, { issuer: forger.url });
    const a = await enter(sub, "sid-a");
    const b = await enter(sub, "sid-b");
    const c = await enter(sub, "sid-c");
    const unnamed = await enter(sub);
    const stranger = await enter(other, "sid-d");
    const away = await enter(sub, "sid-a", elsewhere.slug);
    const everybody = async () => Promise.all([a, b, c, unnamed, stranger, away].map(isIn));

    // What the provider never named is the person's all the same.
    const answer = await tell(forger.tellLogout({ sub, sid: "sid-a" }));
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await everybody()).toEqual([false, true, true, false, true, true]);
    expect((await tell(forger.tellLogout({ sid: "sid-b" }))).status).toBe(200);
    expect(await everybody()).toEqual([false, false, true, false, true, true]);
    // A session's name does not reach over to another person.
    expect((await tell(forger.tellLogout({ sub, sid: "sid-d" }))).status).toBe(200);
    expect((await tell(forger.tellLogout({ sub: "nobody", sid: "sid-d" }))).status).toBe(200);
    expect(await everybody()).toEqual([false, false, true, false, true, true]);
    expect((await tell(forger.tellLogout({ sub }))).status).toBe(200);
    expect(await everybody()).toEqual([false, false, false, false, true, true]);
  });

  const EVENT = "http://schemas.openid.net/event/backchannel-logout";
  const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

  test.each<[string, (f: Forger, sub: string) => string]>([
    ["with a nonce, as ID tokens have one", (f, sub) => f.tellLogout({ sub, nonce: "n" })],
    ["with an empty nonce", (f, sub) => f.tellLogout({ sub, nonce: null })],
    ["that is old", (f, sub) => f.tellLogout({ sub, iat: ago(400) })],
    ["from the future", (f, sub) => f.tellLogout({ sub, iat: ago(-400) })],
    ["without a time", (f, sub) => f.tellLogout({ sub, iat: undefined })],
    ["that has expired", (f, sub) => f.tellLogout({ sub, exp: ago(200) })],
    ["for another client", (f, sub) => f.tellLogout({ sub, aud: "client-2" })],
    ["of another issuer", (f, sub) => f.tellLogout({ sub, iss: "https://evil.example" })],
    ["without events", (f, sub) => f.tellLogout({ sub, events: undefined })],
    ["of another event", (f, sub) => f.tellLogout({ sub, events: { "urn:other": {} } })],
    ["whose events are a list", (f, sub) => f.tellLogout({ sub, events: [EVENT] })],
    ["without an id", (f, sub) => f.tellLogout({ sub, jti: undefined })],
    ["that names no person", (f) => f.tellLogout({})],
    ["that names everybody", (f) => f.tellLogout({ sub: "", sid: "" })],
    ["that is not signed", (f, sub) => f.tellLogout({ sub }, "nobody")],
    ["signed with the public key as a secret", (f, sub) => f.tellLogout({ sub }, "hs256")],
    ["signed by a stranger", (f, sub) => f.tellLogout({ sub }, "stranger")],
    ["that is none", () => "a.b.c"],
    ["that is empty", () => ""],
  ])("a token %s ends nothing", async (_, forge) => {
    const sub = somebody();
    const who = await enter(sub);
    const answer = await tell(forge(forger, sub));
    expect([answer.status, await answer.text()]).toEqual([400, ""]);
    expect(await isIn(who)).toBe(true);
  });

  test("a token counts once, at its own provider", async () => {
    const sub = somebody();
    await enter(sub);
    const other = await addProvider(app, { issuer: forger.url, client_id: "client-9" });
    const token = forger.tellLogout({ sub });
    expect((await tell(token, other.slug)).status).toBe(400);
    expect((await tell(token, "nowhere")).status).toBe(400);
    const answers = await Promise.all(Array.from({ length: 20 }, () => tell(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const again = await enter(sub);
    expect((await tell(token)).status).toBe(400);
    expect(await isIn(again)).toBe(true);
  });

  test("a login that still waits for its second factor ends too", async () => {
    const sub = somebody();
    const phone = await enrolTotp(app, await enter(sub));
    const who = visit(app);
    expect((await loginThrough(who, slug, { forger, sub })).data).toMatchObject({ require_2fa: true });
    expect((await tell(forger.tellLogout({ sub }))).status).toBe(200);
    const answer = await who.call("POST", "/api/user/login/2fa", { code: phone.code() });
    expect(answer.success).toBe(false);
    expect(await isIn(who)).toBe(false);
  });
});
