// Accounts that are made, bound, logged out or given a new password: each with its row in the audit log, or not at all (requirements Z13).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueCode } from "#server/accounts/codes.ts";
import { codeRef } from "#server/accounts/verification.ts";
import { importedGithubId, updateUserProfile } from "#server/store/users.ts";
import { type GithubEmulator, type GithubUser, startGithub } from "#test/emulators/github-emulator.ts";
import { startWeChat, type WeChatEmulator } from "#test/emulators/service-emulators.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { signInNew } from "#test/worlds/mail-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

describe.each(databases)("the audit log of identities on $name", (database) => {
  let app: TestApp;
  let github: GithubEmulator;
  let wechat: WeChatEmulator;

  beforeAll(async () => {
    github = await startGithub();
    wechat = await startWeChat(Date.now);
    app = await createAppOn(database, {
      env: { TRUSTED_PROXIES: "127.0.0.1", GITHUB_URL: github.url, GITHUB_API_URL: github.url },
    });
    const { options } = app.ctx;
    await options.set("GitHubClientId", github.clientId);
    await options.set("GitHubClientSecret", github.clientSecret);
    await options.set("GitHubOAuthEnabled", "true");
    await options.set("GitHubImportedNameEnabled", "true");
    await options.set("WeChatServerAddress", wechat.url);
    await options.set("WeChatServerToken", wechat.token);
    await options.set("WeChatAuthEnabled", "true");
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([github.close(), wechat.close()]);
  });

  /** The accounts and their logins. */
  async function world() {
    const { db } = app.ctx;
    const columns = ["id", "password", "email", "github_id", "wechat_id", "access_token_hash"] as const;
    return {
      users: await db.selectFrom("users").select(columns).orderBy("id").execute(),
      sessions: await db.selectFrom("sessions").select("id_hash").orderBy("id_hash").execute(),
    };
  }

  /** Tries while the audit log cannot be written, when nothing may happen, and again; returns the newest row of the action. */
  async function tryTwice(action: string, act: () => Promise<{ success: boolean; status: number }>) {
    const { db } = app.ctx;
    const before = await world();
    const head = await db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await db.deleteFrom("audit_head").execute();
    const refused = await act();
    await db.insertInto("audit_head").values(head).execute();
    expect(refused.status).toBe(500);
    expect(await world()).toEqual(before);
    expect(await act()).toMatchObject({ success: true });
    expect(await world()).not.toEqual(before);
    return (await app.call(asRoot, "GET", `/api/audit/?size=1&action=${action}`)).data[0];
  }

  const byGithub = async (who: Visitor, user: GithubUser) => {
    const { url } = await who.call("GET", "/api/oauth/state");
    const { code, state } = github.agree(String(url), user);
    return who.call("GET", `/api/oauth/github?code=${code}&state=${state}`);
  };
  const byWeChat = (who: Visitor, id: string, path = "") =>
    who.call("GET", `/api/oauth/wechat${path}?code=${encodeURIComponent(wechat.tell(id))}`);

  test("a registration, by a password or an outside service", async () => {
    const draft = { username: "newcomer", password: seedPassword };
    expect(
      await tryTwice("auth.register", () => visit(app).call("POST", "/api/user/register", draft)),
    ).toMatchObject({ actor_name: "newcomer", detail: '{"via":"password"}' });
    expect(
      await tryTwice("auth.register", () => byGithub(visit(app), { id: 1, login: "mona" })),
    ).toMatchObject({ actor_name: expect.stringMatching(/^github_/), detail: '{"via":"github"}' });
    expect(await tryTwice("auth.register", () => byWeChat(visit(app), "wx-new"))).toMatchObject({
      actor_name: expect.stringMatching(/^wechat_/),
      detail: '{"via":"wechat"}',
    });
  });

  test("a binding, also of an imported account that is known by its name", async () => {
    const who = await signInNew(app, "binder");
    expect(await tryTwice("user.bind", () => byGithub(who, { id: 2, login: "lisa" }))).toMatchObject({
      actor_name: "binder",
      detail: '{"identity":"github"}',
    });
    expect(await tryTwice("user.bind", () => byWeChat(who, "wx-bound", "/bind"))).toMatchObject({
      actor_name: "binder",
      detail: '{"identity":"wechat"}',
    });
    const { data: self } = await who.call("GET", "/api/user/self");
    const email = "bound@example.com";
    await issueCode(app.ctx, codeRef(email, self.id), { text: "123456" });
    const bindEmail = () => who.call("GET", `/api/oauth/email/bind?email=${email}&code=123456`);
    expect(await tryTwice("user.bind", bindEmail)).toMatchObject({
      actor_name: "binder",
      detail: '{"identity":"email"}',
    });
    const old = await seedUser(app.ctx, "octo-old");
    await updateUserProfile(app.ctx.db, old.id, { github_id: importedGithubId("octo") });
    expect(await tryTwice("user.bind", () => byGithub(visit(app), { id: 3, login: "octo" }))).toMatchObject({
      actor_name: "octo-old",
      target: String(old.id),
      detail: '{"identity":"github"}',
    });
  });

  test("a reset of the password, and a logout", async () => {
    const who = await signInNew(app, "forgetful");
    expect(await tryTwice("auth.logout", () => who.call("GET", "/api/user/logout"))).toMatchObject({
      actor_name: "forgetful",
    });
    const { id } = await app.ctx.db
      .selectFrom("users")
      .select("id")
      .where("username", "=", "forgetful")
      .executeTakeFirstOrThrow();
    const email = "forgetful@example.com";
    await updateUserProfile(app.ctx.db, id, { email });
    await issueCode(app.ctx, { purpose: "reset", subject: String(id) }, { text: "proof", userId: id });
    const reset = () => visit(app).call("POST", "/api/user/reset", { email, token: "proof" });
    expect(await tryTwice("auth.reset_password", reset)).toMatchObject({ actor_name: "forgetful" });
  });
});
