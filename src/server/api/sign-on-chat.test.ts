// Logins through 飞书, 钉钉 and 企业微信: who comes in, who does not, and what is asked how often (requirements I60–I62).
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { APP, type ChatLogins, type ChatPerson, startChatLogins } from "#test/emulators/chat-logins.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  beginAt,
  changeProvider,
  comeBackTo,
  SERVER,
  somebody,
} from "#test/worlds/sign-on-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const KINDS = ["feishu", "dingtalk", "wecom"] as const;
const FAILED = { success: false, message: expect.stringMatching(/登录失败，请重新发起$/) };

describe.each(databases)("logins through chats on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let vendors: ChatLogins;
  const rows: Record<string, { id: number; slug: string }> = {};

  beforeAll(async () => {
    vendors = await startChatLogins();
    app = await createAppOn(database, {
      clock,
      env: { CHAT_VENDOR_URL: vendors.url, TRUSTED_PROXIES: "127.0.0.1" },
    });
    await app.ctx.options.set("ServerAddress", SERVER);
    await app.ctx.options.set("MfaRequiredFor", "none");
    for (const kind of KINDS)
      rows[kind] = await addProvider(app, { kind, client_id: APP.id, secret: APP.secret, ...placeOf(kind) });
  });
  afterAll(async () => {
    await app.close();
    await vendors.close();
  });
  beforeEach(() => void clock.advance(3_600_000));
  afterEach(async () => {
    for (const { path } of vendors.heard) vendors.fail(path, undefined);
    await app.ctx.options.set("RegisterEnabled", "true");
  });

  const placeOf = (kind: string) => (kind === "wecom" ? { agent_id: APP.agent } : { tenants: ["corp-1"] });
  const slugOf = (kind: string) => rows[kind]?.slug ?? "";
  const person = (fields: Partial<ChatPerson> = {}): ChatPerson => ({
    id: somebody(),
    tenant: "corp-1",
    ...fields,
  });
  async function login(kind: string, who: Visitor, one: ChatPerson) {
    const back = vendors.agree(await beginAt(who, slugOf(kind)), one);
    const { authCode, code = authCode ?? "", state = "" } = back;
    return comeBackTo(who, slugOf(kind), { code, state });
  }
  const idOf = async (who: Visitor) => (await who.call("GET", "/api/user/self")).data?.id;

  describe.each(KINDS)("%s", (kind) => {
    test("a colleague has an account, the same each time", async () => {
      const one = person({ name: "李华" });
      const [first, second] = [visit(app), visit(app)];
      expect(await login(kind, first, one)).toMatchObject({ success: true });
      expect(await login(kind, second, one)).toMatchObject({ success: true });
      expect(await idOf(second)).toBe(await idOf(first));
    });

    test("a person of another company, or of none, does not come in", async () => {
      const stranger = kind === "feishu" ? { tenant: "corp-2" } : { isStranger: true as const };
      expect(await login(kind, visit(app), person(stranger))).toMatchObject(FAILED);
      if (kind === "dingtalk")
        expect(await login(kind, visit(app), person({ tenant: "corp-2" }))).toMatchObject(FAILED);
    });

    test("a code counts once, and not with another state", async () => {
      const who = visit(app);
      const back = vendors.agree(await beginAt(who, slugOf(kind)), person());
      const { authCode, code = authCode ?? "", state = "" } = back;
      expect(await comeBackTo(who, slugOf(kind), { code, state: "other" })).toMatchObject({ status: 403 });
      expect(await comeBackTo(who, slugOf(kind), { code, state })).toMatchObject({ success: true });
      const again = visit(app);
      const next = new URL(await beginAt(again, slugOf(kind))).searchParams.get("state") ?? "";
      expect(await comeBackTo(again, slugOf(kind), { code, state: next })).toMatchObject(FAILED);
    });

    test("an answer of another of them is refused", async () => {
      const other = KINDS.find((one) => one !== kind) ?? "";
      const who = visit(app);
      const back = vendors.agree(await beginAt(who, slugOf(kind)), person());
      const { authCode, code = authCode ?? "", state = "" } = back;
      expect(await comeBackTo(who, slugOf(other), { code, state })).toMatchObject({ status: 403 });
    });

    test("errors with status 200, half answers and pages are refusals", async () => {
      const paths = {
        feishu: ["/open-apis/authen/v2/oauth/token", "/open-apis/authen/v1/user_info"],
        dingtalk: ["/v1.0/oauth2/userAccessToken", "/v1.0/contact/users/me", "/topapi/user/getbyunionid"],
        wecom: ["/cgi-bin/auth/getuserinfo"],
      }[kind];
      for (const path of paths)
        for (const reply of [
          { json: { code: 20003, errcode: 40029 } },
          { json: { code: 0, errcode: 0 } },
          { json: { code: "0", errcode: "0", access_token: "t", accessToken: 7, userid: 7 } },
          { body: Buffer.from("<html>") },
          { status: 500, json: {} },
        ]) {
          vendors.fail(path, reply);
          expect(await login(kind, visit(app), person()), `${path} ${JSON.stringify(reply)}`).toMatchObject(
            FAILED,
          );
          vendors.fail(path, undefined);
        }
    });

    test("an address in the profile opens no user's account", async () => {
      await changeProvider(app, await row(kind), { mail_domains: ["corp.example"], links_by_mail: true });
      const victim = `victim-${kind}`;
      const { id } = await seedUser(app.ctx, victim);
      await app.ctx.db
        .updateTable("users")
        .set({ email: `${victim}@corp.example` })
        .where("id", "=", id)
        .execute();
      const who = visit(app);
      expect(await login(kind, who, person({ email: `${victim}@corp.example` }))).toMatchObject({
        success: true,
      });
      expect(await idOf(who)).not.toBe(id);
    });

    test("while registration is closed colleagues may still come, where the operator says so", async () => {
      await app.ctx.options.set("RegisterEnabled", "false");
      expect(await login(kind, visit(app), person())).toMatchObject({
        success: false,
        message: "当前未开放注册",
      });
      await changeProvider(app, await row(kind), { sign_up: "domain" });
      expect(await login(kind, visit(app), person())).toMatchObject({ success: true });
      await changeProvider(app, await row(kind), { sign_up: "open" });
    });

    test("the test tells whether id and secret are right", async () => {
      const test = async () =>
        (await app.call(asRoot, "POST", `/api/login_provider/${rows[kind]?.id}/test`, {})).data.is_ok;
      expect(await test()).toBe(true);
      await changeProvider(app, await row(kind), { secret: "wrong-secret" });
      expect(await test()).toBe(false);
      await changeProvider(app, await row(kind), { secret: APP.secret });
    });
  });

  async function row(kind: string) {
    const { data } = await app.call(asRoot, "GET", "/api/login_provider");
    return data.find(({ slug }: { slug: string }) => slug === slugOf(kind));
  }

  test("飞书 gets PKCE, and each page the address of ServerAddress", async () => {
    for (const kind of KINDS) {
      const page = new URL(await beginAt(visit(app), slugOf(kind)));
      expect(page.searchParams.get("redirect_uri")).toBe(`${SERVER}/oauth/${slugOf(kind)}`);
      expect(page.searchParams.has("code_challenge")).toBe(kind === "feishu");
    }
  });

  test("inside the app of 企业微信 its own page is used", async () => {
    const pages = [];
    for (const agent of ["Mozilla/5.0 wxwork/4.1.0 MicroMessenger/7.0.1", "Mozilla/5.0 Chrome/150"]) {
      const answer = await app.call(
        { "user-agent": agent },
        "POST",
        `/api/oauth/${slugOf("wecom")}/begin`,
        {},
      );
      pages.push(new URL(answer.data));
    }
    expect(pages.map(({ pathname, hash }) => pathname + hash)).toEqual([
      "/connect/oauth2/authorize#wechat_redirect",
      "/wwlogin/sso/login",
    ]);
    expect(pages[0]?.searchParams.get("scope")).toBe("snsapi_base");
    expect(pages[1]?.searchParams.get("agentid")).toBe(APP.agent);
  });

  test("names of 企业微信 are the same in any case", async () => {
    const [one, two] = [visit(app), visit(app)];
    const id = somebody();
    await login("wecom", one, person({ id: id.toUpperCase() }));
    await login("wecom", two, person({ id: id.toLowerCase() }));
    expect(await idOf(one)).toBe(await idOf(two));
  });

  test("an app's token serves all logins, is renewed once when it is stale, and then the login is refused", async () => {
    const [tokens, people] = ["/cgi-bin/gettoken", "/cgi-bin/auth/getuserinfo"];
    clock.advance(3 * 3_600_000);
    const before = vendors.count(tokens);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => login("wecom", visit(app), person())),
    );
    expect(answers.filter(({ success }) => success)).toHaveLength(100);
    expect(vendors.count(tokens)).toBe(before + 1);
    vendors.expireAppToken();
    expect(await login("wecom", visit(app), person())).toMatchObject({ success: true });
    expect(vendors.count(tokens)).toBe(before + 2);
    vendors.fail(people, { json: { errcode: 40014 } });
    const asked = vendors.count(people);
    expect(await login("wecom", visit(app), person())).toMatchObject(FAILED);
    expect(vendors.count(people)).toBe(asked + 2);
  });

  test("what each needs is asked for when it is saved", async () => {
    const post = async (fields: object) => {
      const plain = {
        slug: `x-${Math.floor(clock.now() % 1e6)}`,
        name: "x",
        is_enabled: true,
        client_id: "a",
      };
      return (await app.call(asRoot, "POST", "/api/login_provider", { ...plain, ...fields })).message;
    };
    expect(await post({ kind: "feishu", secret: "s" })).toBe("请填写允许的企业");
    expect(await post({ kind: "dingtalk", secret: "s" })).toBe("请填写允许的企业");
    expect(await post({ kind: "wecom", secret: "s" })).toBe("请填写应用 ID");
    expect(await post({ kind: "wecom", agent_id: "1" })).toBe("请填写应用密钥");
  });
});
