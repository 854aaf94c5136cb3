// Invitations on the way through other services (requirements I38): the browser keeps the one that was looked at, and an account that
// GitHub, WeChat or a login provider makes is made by it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type GithubEmulator, startGithub } from "#test/emulators/github-emulator.ts";
import { type Forger, startForger } from "#test/emulators/oidc-forger.ts";
import { startWeChat, type WeChatEmulator } from "#test/emulators/service-emulators.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  beginAt,
  comeBackTo,
  loginThrough,
  SERVER,
  somebody,
} from "#test/worlds/sign-on-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const UNINVITED = "当前仅限受邀注册：请打开收到的邀请链接注册，之后可绑定第三方账号";
const BOUND = "这个邀请只能由受邀的邮箱使用：请用该邮箱注册，之后可绑定第三方账号";

describe.each(databases)("invitations through other services on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let github: GithubEmulator;
  let wechat: WeChatEmulator;
  let forger: Forger;
  let slug: string;
  let people = 5_000;

  beforeAll(async () => {
    [github, wechat, forger] = await Promise.all([startGithub(), startWeChat(clock.now), startForger()]);
    app = await createAppOn(database, {
      clock,
      env: { TRUSTED_PROXIES: "127.0.0.1", GITHUB_URL: github.url, GITHUB_API_URL: github.url },
    });
    for (const [key, value] of Object.entries({
      ServerAddress: SERVER,
      GitHubOAuthEnabled: "true",
      GitHubClientId: github.clientId,
      GitHubClientSecret: github.clientSecret,
      WeChatAuthEnabled: "true",
      WeChatServerAddress: wechat.url,
      WeChatServerToken: wechat.token,
      InvitationRequiredEnabled: "true",
    }))
      await set(key, value);
    ({ slug } = await addProvider(app, { issuer: forger.url, mail_domains: ["corp.example"] }));
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([github.close(), wechat.close(), forger.close()]);
  });
  afterEach(() => clock.advance(3_600_000));

  const set = (key: string, value: string) => app.ctx.options.set(key as never, value);
  const self = async (who: Visitor) => (await who.call("GET", "/api/user/self")).data;
  const invite = async (draft: object = {}) =>
    (await app.call(asRoot, "POST", "/api/invitation/", { group: "vip", quota: 7_000, ...draft })).data as {
      id: number;
      code: string;
    };
  const usesOf = async (id: number) =>
    (await app.call(asRoot, "GET", "/api/invitation/")).data.find((row: { id: number }) => row.id === id)
      .used;
  /** A browser that has opened the link. */
  async function open(code: string): Promise<Visitor> {
    const who = visit(app);
    expect((await who.call("POST", "/api/invitation/look", { code })).success).toBe(true);
    return who;
  }

  async function throughGithub(who: Visitor, email = "") {
    people += 1;
    const { url } = await who.call("GET", "/api/oauth/state");
    const back = github.agree(url, { id: people, login: `octo${people}`, ...(email && { email }) });
    return who.call("GET", `/api/oauth/github?code=${back.code}&state=${back.state}`);
  }
  async function throughWeChat(who: Visitor) {
    people += 1;
    return who.call("GET", `/api/oauth/wechat?code=${wechat.tell(`wx-${people}`)}`);
  }
  const throughProvider = (who: Visitor, email = "") =>
    loginThrough(who, slug, {
      forger,
      sub: somebody(),
      lies: email === "" ? {} : { claims: { email, email_verified: true } },
    });

  const ways = { GitHub: throughGithub, WeChat: throughWeChat, provider: throughProvider };

  test.each(Object.entries(ways))(
    "%s makes an account by one, with its group and quota, and none without",
    async (_, enter) => {
      expect((await enter(visit(app))).message).toBe(UNINVITED);
      const { id, code } = await invite();
      const who = await open(code);
      const answer = await enter(who);
      expect(answer).toMatchObject({ success: true });
      const user = await self(who);
      expect(user).toMatchObject({ group: "vip", quota: 7_000 });
      expect(await usesOf(id)).toBe(1);
      expect(who.cookies.has("invitation")).toBe(false);
      const act = await app.ctx.db
        .selectFrom("audit")
        .select("detail")
        .where("action", "=", "auth.register")
        .where("target", "=", String(user.id))
        .executeTakeFirstOrThrow();
      expect(JSON.parse(act.detail)).toMatchObject({ invitation: id });
      // Used up: another browser that had opened the link comes too late.
      expect((await visit(app).call("POST", "/api/invitation/look", { code })).success).toBe(false);
    },
  );

  test("of twenty at once on one use one gets an account", async () => {
    const { id, code } = await invite();
    const visitors = await Promise.all(Array.from({ length: 20 }, () => open(code)));
    const answers = await Promise.all(visitors.map((who) => throughProvider(who)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(await usesOf(id)).toBe(1);
  });

  test("one person in ten windows at once uses it once", async () => {
    const { id, code } = await invite({ max_uses: 5 });
    const sub = somebody();
    const visitors = await Promise.all(Array.from({ length: 10 }, () => open(code)));
    const backs = await Promise.all(visitors.map(async (who) => forger.agree(await beginAt(who, slug), sub)));
    const answers = await Promise.all(visitors.map((who, at) => comeBackTo(who, slug, backs[at] ?? {})));
    expect(answers.filter(({ success }) => success)).toHaveLength(10);
    expect(await usesOf(id)).toBe(1);
  });

  test("one for an address wants it proved by the service", async () => {
    const { id, code } = await invite({ email: "mei@corp.example" });
    expect((await throughWeChat(await open(code))).message).toBe(BOUND);
    expect((await throughGithub(await open(code), "other@corp.example")).message).toBe(BOUND);
    expect((await throughProvider(await open(code), "other@corp.example")).message).toBe(BOUND);
    expect((await throughProvider(await open(code))).message).toBe(BOUND);
    expect(await usesOf(id)).toBe(0);
    const who = await open(code);
    expect((await throughProvider(who, "Mei@Corp.example")).success).toBe(true);
    expect((await self(who)).email).toBe("mei@corp.example");
  });

  test("one that was taken back counts no longer, and is forgotten where visitors need none", async () => {
    const { id, code } = await invite();
    const who = await open(code);
    await app.call(asRoot, "DELETE", `/api/invitation/${id}`);
    expect((await throughWeChat(who)).message).toBe(UNINVITED);
    await set("InvitationRequiredEnabled", "false");
    expect((await throughWeChat(who)).success).toBe(true);
    expect((await self(who)).group).toBe("default");
    await set("InvitationRequiredEnabled", "true");
  });

  test("a known account comes in without one, and uses none up", async () => {
    const { code } = await invite();
    const sub = somebody();
    expect((await loginThrough(await open(code), slug, { forger, sub })).success).toBe(true);
    const other = await invite();
    expect((await loginThrough(await open(other.code), slug, { forger, sub })).success).toBe(true);
    expect(await usesOf(other.id)).toBe(0);
  });
});
