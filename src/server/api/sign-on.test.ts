// Logins through OpenID Connect: what they need, and what they refuse (requirements I40, I41, I44, I45, I48).
import { describe, expect, test } from "vitest";
import type { Lies } from "#test/emulators/oidc-forger.ts";
import { startOidcWorld } from "#test/emulators/oidc-world.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import {
  addProvider,
  beginAt,
  comeBackTo,
  freshSlug,
  SERVER,
  somebody,
  useSignOnApp,
} from "#test/worlds/sign-on-app.ts";

const STATE = { status: 403, success: false, message: "登录状态校验失败，请重新发起" };

describe.each(databases)("logins through OpenID Connect on $name", (database) => {
  const sso = useSignOnApp(database);
  const { clock, set, visit, login, self } = sso;
  const failed = { success: false, message: expect.stringMatching(/登录失败，请重新发起$/) };

  describe("against a provider that we did not write", () => {
    test.each([true, false])("claims in the ID token: %s; the same account each time", async (isInToken) => {
      const mine = freshSlug();
      const redirectUrl = `${SERVER}/oauth/${mine}`;
      const world = await startOidcWorld({ redirectUrl, isInToken });
      try {
        world.people.set("anna", {
          email: "Anna@Corp.example",
          email_verified: true,
          name: "Anna",
          groups: ["vips"],
        });
        const made = await addProvider(sso.app, {
          slug: mine,
          issuer: world.issuer,
          client_id: world.clientId,
          secret: world.clientSecret,
          scopes: "openid profile email",
          mail_domains: ["corp.example"],
          rules: [{ path: "groups", value: "vips", group: "vip" }],
        });
        expect(made.redirect_url).toBe(redirectUrl);
        const ids = new Set<number>();
        for (const who of [visit(), visit()]) {
          const back = await world.agree(await beginAt(who, mine), "anna");
          const answer = await comeBackTo(who, mine, back.searchParams);
          expect(answer).toMatchObject({ success: true, message: "" });
          ids.add(answer.data.id);
          expect(await self(who)).toMatchObject({
            display_name: "Anna",
            email: "anna@corp.example",
            group: "vip",
          });
        }
        expect(ids.size).toBe(1);
        expect(world.exchanges).toHaveLength(2);
        for (const form of world.exchanges) {
          expect(form.get("code_verifier")).toMatch(/^[\w-]{43}$/);
          expect(form.get("redirect_uri")).toBe(redirectUrl);
        }
        // A code that was used, and one with the verifier of another login.
        const [first, second] = [visit(), visit()];
        const codes = [await world.agree(await beginAt(first, mine), "anna"), await beginAt(second, mine)];
        const stolen = { ...Object.fromEntries((codes[0] as URL).searchParams) };
        const state = new URL(String(codes[1])).searchParams.get("state") ?? "";
        expect(await comeBackTo(second, mine, { ...stolen, state })).toMatchObject(failed);
        await sso.app.ctx.db.deleteFrom("identities").where("provider_id", "=", made.id).execute();
        await sso.app.ctx.db
          .updateTable("users")
          .set({ email: "", mailbox: "" })
          .where("display_name", "=", "Anna")
          .execute();
      } finally {
        await world.close();
      }
    });
  });

  describe("the way to the provider", () => {
    test("carries PKCE, a nonce and a redirect address that no header decides", async () => {
      const who = visit();
      const begun = await who.call(
        "POST",
        `/api/oauth/${sso.slug}/begin`,
        {},
        {
          host: "localhost",
          "x-forwarded-host": "evil.example",
          "x-forwarded-proto": "http",
        },
      );
      const url = new URL(begun.data);
      expect(`${url.origin}${url.pathname}`).toBe(`${sso.forger.url}/authorize`);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        response_type: "code",
        client_id: "client-1",
        redirect_uri: `${SERVER}/oauth/${sso.slug}`,
        scope: "openid profile email",
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge_method: "S256",
        nonce: expect.stringMatching(/^[\w-]{43}$/),
        state: expect.stringMatching(/^[\w-]{43}$/),
      });
      const stored = JSON.stringify(await sso.app.ctx.db.selectFrom("codes").selectAll().execute());
      for (const name of ["state", "nonce"]) expect(stored).not.toContain(url.searchParams.get(name));
    });

    test("leads nowhere while the server has no address, and from no provider that is off", async () => {
      await set("ServerAddress", "");
      expect((await visit().call("POST", `/api/oauth/${sso.slug}/begin`, {})).message).toContain(
        "服务器地址",
      );
      await set("ServerAddress", SERVER);
      const off = await addProvider(sso.app, { issuer: sso.forger.url, is_enabled: false });
      for (const name of [off.slug, "nobody", "__proto__"])
        expect((await visit().call("POST", `/api/oauth/${name}/begin`, {})).message).toBe(
          "管理员未启用该登录方式",
        );
    });

    test("a state works once, in its browser, for ten minutes, at its provider, for who was signed in", async () => {
      const who = visit();
      const back = sso.forger.agree(await beginAt(who, sso.slug), somebody());
      expect((await comeBackTo(who, sso.slug, back)).success).toBe(true);
      expect(await comeBackTo(visit(), sso.slug, back)).toMatchObject(STATE);
      await who.call("GET", "/api/user/logout");
      expect(await comeBackTo(who, sso.slug, back)).toMatchObject(STATE);

      const mine = sso.forger.agree(await beginAt(visit(), sso.slug), somebody());
      const other = visit();
      await beginAt(other, sso.slug);
      expect(await comeBackTo(other, sso.slug, mine)).toMatchObject(STATE);

      const late = visit();
      const old = sso.forger.agree(await beginAt(late, sso.slug), somebody());
      clock.advance(601_000);
      expect(await comeBackTo(late, sso.slug, old)).toMatchObject(STATE);

      const second = await addProvider(sso.app, { issuer: sso.forger.url });
      const mixed = visit();
      const played = sso.forger.agree(await beginAt(mixed, sso.slug), somebody());
      expect(await comeBackTo(mixed, second.slug, played)).toMatchObject(STATE);

      const guest = visit();
      const forLogin = sso.forger.agree(await beginAt(guest, sso.slug), somebody());
      await seedUser(sso.app.ctx, "purposes-sso");
      await guest.call("POST", "/api/user/login", { username: "purposes-sso", password: seedPassword });
      expect(await comeBackTo(guest, sso.slug, forLogin)).toMatchObject(STATE);
      const forBinding = sso.forger.agree(await beginAt(guest, sso.slug), somebody());
      await guest.call("GET", "/api/user/logout");
      expect(await comeBackTo(guest, sso.slug, forBinding)).toMatchObject(STATE);

      const github = await who.call("GET", "/api/oauth/state");
      expect(await comeBackTo(who, sso.slug, { code: "x", state: github.data })).toMatchObject(STATE);
    });
  });

  describe("what is forged", () => {
    const hour = 3_600;
    const now = () => Math.floor(Date.now() / 1000);
    test.each<[string, () => Lies]>([
      ["another nonce", () => ({ claims: { nonce: "another" } })],
      ["no nonce", () => ({ claims: { nonce: undefined } })],
      ["another issuer", () => ({ claims: { iss: "https://evil.example" } })],
      ["another audience", () => ({ claims: { aud: "somebody-else" } })],
      ["two audiences without azp", () => ({ claims: { aud: ["client-1", "other"], azp: "other" } })],
      ["an old token", () => ({ claims: { iat: now() - 2 * hour, exp: now() - hour } })],
      ["no subject", () => ({ claims: { sub: undefined } })],
      ["a subject that is a number", () => ({ claims: { sub: 7 } })],
      ["the signature of a stranger", () => ({ signedBy: "stranger" })],
      ["alg none", () => ({ signedBy: "nobody" })],
      ["HS256 with the public key", () => ({ signedBy: "hs256" })],
      ["a profile of another person", () => ({ profile: { sub: "victim" } })],
      ["no ID token", () => ({ tokenAnswer: { json: { access_token: "x", token_type: "Bearer" } } })],
      ["HTML", () => ({ tokenAnswer: { status: 200, json: "<html>" } })],
      ["a fault", () => ({ tokenAnswer: { status: 500, json: {} } })],
    ])("%s opens no session, and is told by one sentence", async (_name, lies) => {
      const who = visit();
      const before = await sso.app.ctx.db.selectFrom("users").select("id").execute();
      expect(await login(who, somebody(), lies())).toMatchObject(failed);
      expect(who.cookies.has("session")).toBe(false);
      expect(await sso.app.ctx.db.selectFrom("users").select("id").execute()).toHaveLength(before.length);
    });

    test.each<[string, (back: Record<string, string>) => Record<string, string>]>([
      ["another iss", (back) => ({ ...back, iss: "https://evil.example" })],
      ["no iss from a provider that promises one", ({ code = "", state = "" }) => ({ code, state })],
      ["a code that the provider did not give", (back) => ({ ...back, code: "made-up" })],
      ["a refusal", ({ state = "", iss = "" }) => ({ state, iss, error: "access_denied" })],
    ])("an answer with %s opens no session", async (_name, change) => {
      const who = visit();
      const back = sso.forger.agree(await beginAt(who, sso.slug), somebody());
      expect(await comeBackTo(who, sso.slug, change({ ...back }))).toMatchObject(failed);
      expect(who.cookies.has("session")).toBe(false);
    });
  });

  describe("a provider in trouble", () => {
    test("is refused when it is set up inside, and asked no further when it answers too much or elsewhere", async () => {
      for (const issuer of [
        "http://169.254.169.254/",
        "http://10.0.0.1",
        "ftp://x.example",
        "https://u:p@x.example",
      ])
        await expect(addProvider(sso.app, { issuer })).rejects.toThrow();
      const endless = await addProvider(sso.app, { issuer: sso.forger.url });
      const answers = [
        { json: { filler: "x".repeat(300_000) } },
        { status: 302, json: {} },
        { status: 500, json: {} },
        { json: "<html>" },
        { json: { issuer: "https://evil.example" } },
      ];
      for (const answer of answers) {
        sso.forger.discovery = () => answer;
        const begun = await visit().call("POST", `/api/oauth/${endless.slug}/begin`, {});
        expect(begun).toMatchObject(failed);
        const tested = await sso.app.call(asRoot, "POST", `/api/login_provider/${endless.id}/test`, {});
        expect(tested).toMatchObject({ success: true, data: { is_ok: false } });
      }
      sso.forger.discovery = undefined;
      expect(await sso.app.call(asRoot, "POST", `/api/login_provider/${endless.id}/test`, {})).toMatchObject({
        data: { is_ok: true, detail: "" },
      });
      expect((await login(visit(), somebody(), {}, endless.slug)).success).toBe(true);
    });

    test("inner addresses that discovery names are not asked", async () => {
      const sly = await addProvider(sso.app, { issuer: sso.forger.url });
      sso.forger.discovery = (issuer) => ({
        json: {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: "http://169.254.169.254/token",
          jwks_uri: `${issuer}/jwks`,
        },
      });
      expect(await login(visit(), somebody(), {}, sly.slug)).toMatchObject(failed);
      sso.forger.discovery = undefined;
    });

    test("harms nobody else when it is gone", async () => {
      const gone = await addProvider(sso.app, { issuer: "http://127.0.0.1:9/" });
      expect(await visit().call("POST", `/api/oauth/${gone.slug}/begin`, {})).toMatchObject(failed);
      expect((await login(visit(), somebody())).success).toBe(true);
      const { data } = await visit().call("GET", "/api/status");
      expect(data.oauth_providers).toContainEqual({ slug: sso.slug, name: sso.row.name, kind: "oidc" });
    });
  });

  test("the secret is in no answer, no log and no table", async () => {
    const listed = await sso.app.call(asRoot, "GET", "/api/login_provider");
    expect(listed.data.find(({ id }: { id: number }) => id === sso.row.id)).toMatchObject({
      has_secret: true,
    });
    const audit = await sso.app.ctx.db.selectFrom("audit").selectAll().execute();
    const stored = await sso.app.ctx.db.selectFrom("login_providers").selectAll().execute();
    expect(JSON.stringify([listed, audit, stored])).not.toContain("secret-canary");
  });
});
