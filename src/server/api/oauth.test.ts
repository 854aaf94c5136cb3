import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { setUserStatus, updateUserProfile } from "#server/store/users.ts";
import { type GithubEmulator, type GithubUser, startGithub } from "#test/emulators/github-emulator.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { signInNew } from "#test/worlds/mail-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const STATE = { status: 403, success: false, message: "登录状态校验失败，请重新发起" };

describe.each(databases)("logins through GitHub on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let github: GithubEmulator;
  let nextId = 1_000;

  beforeAll(async () => {
    github = await startGithub();
    app = await createAppOn(database, {
      clock,
      env: { TRUSTED_PROXIES: "127.0.0.1", GITHUB_URL: github.url, GITHUB_API_URL: github.url },
    });
    await set("GitHubClientId", github.clientId);
    await set("GitHubClientSecret", github.clientSecret);
  });
  afterAll(async () => {
    await app.close();
    await github.close();
  });
  afterEach(async () => {
    await set("GitHubOAuthEnabled", "true");
    await set("RegisterEnabled", "true");
    clock.advance(3_600_000);
  });

  const set = (key: string, value: string) => app.ctx.options.set(key as never, value);
  const octocat = (fields: Partial<GithubUser> = {}): GithubUser => ({
    id: ++nextId,
    login: "octocat",
    ...fields,
  });

  const self = async (who: Visitor) => (await who.call("GET", "/api/user/self")).data;

  /** The user goes to GitHub and agrees. */
  async function goToGithub(who: Visitor, user: GithubUser) {
    const begun = await who.call("GET", "/api/oauth/state");
    expect(begun).toMatchObject({ success: true, message: "", data: expect.stringMatching(/^[\w-]{43}$/) });
    const back = github.agree(begun["url"], user);
    expect(back.state).toBe(begun.data);
    return back;
  }
  const comeBack = (who: Visitor, back: { code: string; state: string }, more = "") =>
    who.call("GET", `/api/oauth/github?code=${back.code}&state=${back.state}${more}`);
  const loginAs = async (who: Visitor, user: GithubUser, more = "") =>
    comeBack(who, await goToGithub(who, user), more);

  describe("GitHub", () => {
    test("makes an account at the first login and finds it at the next", async () => {
      await set("GitHubOAuthEnabled", "true");
      const user = octocat({ name: "  Mona Lisa the Octocat of GitHub ", email: "Mona@Example.com" });
      const who = visit(app);
      const answer = await loginAs(who, user);
      expect(answer).toMatchObject({
        success: true,
        message: "",
        data: {
          username: expect.stringMatching(/^github_[2-9a-z]{5}$/),
          role: 1,
          status: 1,
          quota: 0,
          email: "",
        },
      });
      const first = await self(who);
      expect(first).toMatchObject({
        id: answer.data.id,
        display_name: "Mona Lisa the Octoca",
        email: "mona@example.com",
        github_id: String(user.id),
      });
      const again = visit(app);
      expect((await loginAs(again, { ...user, login: "renamed", name: "Other" })).data.id).toBe(first.id);
      expect((await self(again)).display_name).toBe("Mona Lisa the Octoca");
      // It has no password login.
      for (const password of ["", "x", first.username])
        expect(
          (await who.call("POST", "/api/user/login", { username: first.username, password })).success,
        ).toBe(false);
    });

    test("leaks no secrets: the token request carries the verifier and goes to GitHub alone", async () => {
      const who = visit(app);
      const begun = await who.call("GET", "/api/oauth/state");
      const url = new URL(begun["url"]);
      expect(`${url.origin}${url.pathname}`).toBe(`${github.url}/login/oauth/authorize`);
      expect(url.searchParams.get("scope")).toBe("user:email");
      expect(begun["url"]).not.toContain(github.clientSecret);
      await comeBack(who, github.agree(begun["url"], octocat()));
      const exchange = github.heard.findLast(({ path }) => path === "/login/oauth/access_token");
      expect(exchange?.headers.accept).toBe("application/json");
      expect(JSON.parse(exchange?.body ?? "{}")).toEqual({
        client_id: github.clientId,
        client_secret: github.clientSecret,
        code: expect.any(String),
        code_verifier: expect.stringMatching(/^[\w-]{43}$/),
      });
      const stored = JSON.stringify(await app.ctx.db.selectFrom("codes").selectAll().execute());
      expect(stored).not.toContain(begun.data);
    });

    test("a login name that passed to another GitHub user opens no account", async () => {
      const first = await loginAs(visit(app), octocat({ login: "sold" }));
      const second = await loginAs(visit(app), octocat({ login: "sold" }));
      expect(second.success).toBe(true);
      expect(second.data.id).not.toBe(first.data.id);
    });

    /** An account as an import leaves it: the source knew the name that GitHub had for it then. */
    async function imported(name: string, kind: { role?: number; status?: number } = {}) {
      const user = await seedUser(app.ctx, name, kind);
      await updateUserProfile(app.ctx.db, user.id, { github_id: `login:${name}` });
      return user;
    }

    test("an imported account that is known by name only is found by its proven address, and from then on by the id", async () => {
      const old = await imported("octo-old");
      const owner = octocat({ login: "Octo-Old", email: "Octo-Old@example.com" });
      const windows = [visit(app), visit(app)];
      const answers = await Promise.all(windows.map((who) => loginAs(who, owner)));
      expect(answers.map(({ data }) => data.id)).toEqual([old.id, old.id]);
      expect(await self(windows[0] ?? visit(app))).toMatchObject({ github_id: String(owner.id) });
      expect((await loginAs(visit(app), { ...owner, login: "new", email: null })).data.id).toBe(old.id);
    });

    test("the name alone does not open it, nor make a second account beside it", async () => {
      const old = await imported("octo-sold");
      for (const email of [null, "buyer@example.com"]) {
        const answer = await loginAs(visit(app), octocat({ login: "octo-sold", email }));
        expect(answer).toMatchObject({ success: false, message: expect.stringContaining("从旧系统导入") });
      }
      // Its owner logs in with the password and binds; the name is free again.
      const who = visit(app);
      await who.call("POST", "/api/user/login", { username: old.username, password: seedPassword });
      const owner = octocat({ login: "octo-sold" });
      expect((await loginAs(who, owner)).message).toBe("bind");
      expect((await loginAs(visit(app), owner)).data.id).toBe(old.id);
      expect((await loginAs(visit(app), octocat({ login: "octo-sold" }))).success).toBe(true);
    });

    test("the operator may accept names for ordinary users, never for administrators", async () => {
      await set("GitHubImportedNameEnabled", "true");
      const [old, admin, root] = [
        await imported("octo-user"),
        await imported("octo-admin", { role: 10 }),
        await imported("octo-root", { role: 100 }),
      ];
      const enter = async (login: string, email: string | null = null) =>
        (await loginAs(visit(app), octocat({ login, email }))).data?.id;
      expect(await enter("octo-user")).toBe(old.id);
      expect(await enter("octo-admin")).toBeUndefined();
      expect(await enter("octo-admin", "octo-admin@example.com")).toBe(admin.id);
      expect(await enter("octo-root", "octo-root@example.com")).toBeUndefined();
      await imported("octo-ban", { status: 2 });
      expect(await enter("octo-ban", "octo-ban@example.com")).toBeUndefined();
      await app.ctx.db.deleteFrom("sessions").where("user_id", "=", root.id).execute();
      await setUserStatus(app.ctx.db, root.id, 1, 2);
      await set("GitHubImportedNameEnabled", "false");
    });

    test("an address in a profile never takes over an account that has it", async () => {
      const owner = await seedUser(app.ctx, "mailowner");
      const answer = await loginAs(visit(app), octocat({ email: "mailowner@example.com" }));
      expect(answer.data.id).not.toBe(owner.id);
      const row = await app.ctx.db
        .selectFrom("users")
        .select("email")
        .where("id", "=", answer.data.id)
        .executeTakeFirst();
      expect(row?.email).toBe("");
    });

    test("a state works once, in its browser, for ten minutes, and for the user who was signed in", async () => {
      const user = octocat();
      const who = visit(app);
      for (const query of ["", "?code=x", "?state=y", "?code=x&state=", "?code=x&state=unknown"])
        expect(await who.call("GET", `/api/oauth/github${query}`)).toMatchObject(STATE);

      const used = await goToGithub(who, user);
      expect((await comeBack(who, used)).success).toBe(true);
      expect(await comeBack(who, used)).toMatchObject(STATE);

      const mine = await goToGithub(visit(app), user);
      expect(await comeBack(visit(app), mine)).toMatchObject(STATE);
      const knowing = visit(app);
      await knowing.call("GET", "/api/oauth/state");
      expect(await comeBack(knowing, mine)).toMatchObject(STATE);

      const lateVisitor = visit(app);
      const late = await goToGithub(lateVisitor, user);
      clock.advance(600_000);
      expect(await comeBack(lateVisitor, late)).toMatchObject(STATE);

      const both = visit(app);
      const twice = await goToGithub(both, user);
      const answers = await Promise.all([comeBack(both, twice), comeBack(both, twice)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    });

    test("a state for a login does not bind, and one for a binding does not log in", async () => {
      const who = await signInNew(app, "purposes");
      const guestState = visit(app);
      const forLogin = await goToGithub(guestState, octocat());
      await guestState.call("POST", "/api/user/login", { username: "purposes", password: seedPassword });
      expect(await comeBack(guestState, forLogin)).toMatchObject(STATE);

      const forBinding = await goToGithub(who, octocat());
      await who.call("GET", "/api/user/logout");
      expect(await comeBack(who, forBinding)).toMatchObject(STATE);

      const other = await seedUser(app.ctx, "somebody2");
      const swapped = await signInNew(app, "third3");
      const forThree = await goToGithub(swapped, octocat());
      await swapped.call("POST", "/api/user/login", { username: "somebody2", password: seedPassword });
      expect((await self(swapped)).id).toBe(other.id);
      expect(await comeBack(swapped, forThree)).toMatchObject(STATE);
      expect((await self(swapped)).github_id).toBe("");
    });

    test("binds for the signed-in user, and says so by the word bind", async () => {
      const user = octocat();
      const who = await signInNew(app, "binds");
      expect(await loginAs(who, user)).toMatchObject({ success: true, message: "bind", data: null });
      expect((await self(who)).github_id).toBe(String(user.id));
      const later = visit(app);
      expect((await loginAs(later, user)).data.username).toBe("binds");
      const rival = await signInNew(app, "rival");
      expect(await loginAs(rival, user)).toMatchObject({
        success: false,
        message: "该第三方账号已绑定其他用户",
      });
    });

    test("one identity goes to one of 50 users that bind it at once", async () => {
      const user = octocat();
      const people = await Promise.all(
        Array.from({ length: 50 }, (_, index) => signInNew(app, `gh${index}`)),
      );
      const backs = await Promise.all(people.map((who) => goToGithub(who, user)));
      const answers = await Promise.all(
        people.map((who, index) => comeBack(who, backs[index] ?? { code: "", state: "" })),
      );
      expect(answers.filter(({ success }) => success)).toHaveLength(1);
      expect(new Set(answers.filter(({ success }) => !success).map(({ message }) => message))).toEqual(
        new Set(["该第三方账号已绑定其他用户"]),
      );
    });

    test("20 first logins of one identity at once make one account", async () => {
      const user = octocat();
      const people = Array.from({ length: 20 }, () => visit(app));
      const backs = await Promise.all(people.map((who) => goToGithub(who, user)));
      const answers = await Promise.all(
        people.map((who, index) => comeBack(who, backs[index] ?? { code: "", state: "" })),
      );
      expect(new Set(answers.map(({ data }) => data?.id)).size).toBe(1);
    });

    test("no other site's page binds, whatever it makes the browser do", async () => {
      const who = await signInNew(app, "crossed");
      const back = await goToGithub(who, octocat());
      const path = `/api/oauth/github?code=${back.code}&state=${back.state}`;
      const crossings: Record<string, string>[] = [
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
        { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" },
      ];
      for (const headers of crossings)
        expect(await who.call("GET", path, undefined, headers)).toMatchObject({
          status: 403,
          message: "拒绝跨站请求",
        });
      expect((await self(who)).github_id).toBe("");
      // The state was not even checked.
      expect((await comeBack(who, back)).message).toBe("bind");
    });

    test("counts an invitation, and obeys the switches", async () => {
      const inviter = await seedUser(app.ctx, "ghinviter");
      const code = (await app.call(inviter.who, "GET", "/api/user/self")).data.aff_code;
      const invited = visit(app);
      await loginAs(invited, octocat(), `&aff_code=${code}`);
      expect((await self(invited)).inviter_id).toBe(inviter.id);

      await set("RegisterEnabled", "false");
      expect((await loginAs(visit(app), octocat())).message).toBe("当前未开放注册");
      await set("GitHubOAuthEnabled", "false");
      expect((await loginAs(visit(app), octocat())).message).toBe("管理员未启用该登录方式");
    });

    test("a banned account is refused", async () => {
      const user = octocat();
      const { data } = await loginAs(visit(app), user);
      await setUserStatus(app.ctx.db, data.id, 1, 2);
      const who = visit(app);
      expect(await loginAs(who, user)).toMatchObject({
        success: false,
        message: "该账户已停用，请联系管理员",
      });
      expect(who.cookies.has("session")).toBe(false);
    });

    test("what GitHub refuses or garbles is one short refusal", async () => {
      const FAILED = { success: false, message: "GitHub 登录失败，请重新发起" };
      const who = visit(app);
      const back = await goToGithub(who, octocat());
      expect(await comeBack(who, { ...back, code: "forged" })).toMatchObject(FAILED);
      for (const garbled of [{ id: 0 }, { id: 1.5 }, { id: "77" as never }, { login: "" }])
        expect(await loginAs(visit(app), octocat(garbled))).toMatchObject(FAILED);
      await set("GitHubClientSecret", "wrong");
      expect(await loginAs(visit(app), octocat())).toMatchObject(FAILED);
      await set("GitHubClientSecret", github.clientSecret);
    });

    test("when GitHub cannot be reached, the same page may try again, until it succeeds", async () => {
      const who = visit(app);
      const back = await goToGithub(who, octocat());
      github.failOnce();
      expect(await comeBack(who, back)).toMatchObject({ status: 200, success: false });
      expect((await comeBack(who, back)).success).toBe(true);
      expect(await comeBack(who, back)).toMatchObject(STATE);
    });

    test("an intercepted code is useless without the verifier", async () => {
      const victim = visit(app);
      const { code } = await goToGithub(victim, octocat());
      const thief = visit(app);
      const { state } = await goToGithub(thief, octocat());
      expect((await comeBack(thief, { code, state })).message).toBe("GitHub 登录失败，请重新发起");
    });
  });

  describe("a super administrator", () => {
    test("logs in through GitHub only after binding it in a session just begun with the password", async () => {
      const user = octocat();
      const stale = await signInNew(app, "super1", { role: 100 });
      clock.advance(601_000);
      expect((await loginAs(stale, user)).message).toContain("请先用密码重新登录");
      await stale.call("POST", "/api/user/login", { username: "super1", password: seedPassword });
      expect((await loginAs(stale, user)).message).toBe("bind");
      expect((await loginAs(visit(app), user)).data.username).toBe("super1");
    });

    test("and not by an identity that was bound before the account became one", async () => {
      const user = octocat();
      const who = await signInNew(app, "promoted");
      expect((await loginAs(who, user)).message).toBe("bind");
      await updateUserProfile(app.ctx.db, (await self(who)).id, { role: 100 });
      expect((await loginAs(visit(app), user)).message).toBe("超级管理员未开启第三方登录，请使用密码登录");
    });
  });
});
