// Passkeys by an authenticator in software: what is right lets in, and nothing that is wrong does (requirements I22–I26). The ceremony
// in a real browser is in test/e2e/console-passkeys.test.ts.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { listPasskeys } from "#server/store/passkeys.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { halfwayIn, newcomer, signedIn } from "#test/worlds/people.ts";
import { createSoftPasskey, type SoftPasskey, type Twist } from "#test/worlds/soft-passkey.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const SITE = "https://gate.example:8443";

describe.each(databases)("passkeys on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
    await app.ctx.options.set("ServerAddress", SITE);
    await app.ctx.options.set("MfaRequiredFor", "none");
  });
  afterAll(() => app.close());
  beforeEach(() => clock.advance(86_400_000));

  async function enrol(home: Visitor, passkey: SoftPasskey, twist?: Twist) {
    const begun = await home.call("POST", "/api/user/factor/passkey/begin");
    const credential = passkey.create(begun.data, twist);
    return home.call("POST", "/api/user/factor/passkey", { name: "笔记本", credential });
  }
  async function owner(isSynced = false) {
    const user = await newcomer(app);
    const home = await signedIn(app, user.id);
    const passkey = createSoftPasskey(SITE, isSynced);
    const made = await enrol(home, passkey);
    expect(made.data?.recovery_codes, made.message).toHaveLength(10);
    return { user, home, passkey };
  }
  async function enter(browser: Visitor, passkey: SoftPasskey, twist?: Twist) {
    const begun = await browser.call("POST", "/api/user/login/passkey/begin");
    return browser.call("POST", "/api/user/login/passkey/finish", passkey.get(begun.data, twist));
  }

  test("a passkey lets in without a name, and as the second half of a login", async () => {
    const { user, passkey } = await owner();
    const browser = visit(app);
    expect((await enter(browser, passkey)).data).toMatchObject({ id: user.id, username: user.username });
    // Two factors at once: it counts as having been there.
    expect((await browser.call("GET", "/api/user/token")).success).toBe(true);
    const half = await halfwayIn(app, user.id);
    expect((await enter(half, passkey)).data).toMatchObject({ id: user.id });
  });

  test("what it is asked for names this site, the pinned algorithms and a new handle", async () => {
    const { home, passkey } = await owner();
    const begun = await home.call("POST", "/api/user/factor/passkey/begin", undefined, {
      host: "evil.example",
      origin: "http://evil.example",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
    });
    expect(begun.data.rp.id).toBe("gate.example");
    expect(begun.data.pubKeyCredParams.map(({ alg }: { alg: number }) => alg)).toEqual([-8, -7, -257]);
    expect(begun.data.excludeCredentials).toEqual([expect.objectContaining({ id: passkey.id })]);
    expect(Buffer.from(begun.data.user.id, "base64url")).toHaveLength(32);
    const again = await enrol(home, passkey);
    expect(again).toMatchObject({ success: false, message: "这个通行密钥已经添加过" });
  });

  test.each<[string, Twist]>([
    ["another site", { origin: "https://evil.example" }],
    ["another port", { origin: "https://gate.example" }],
    ["a slash at the end", { origin: `${SITE}/` }],
    ["plain http", { origin: "http://gate.example:8443" }],
    ["another RP ID", { rpId: "evil.example" }],
    ["another challenge", { challenge: "AAAA" }],
    ["no verification of the user", { flags: 1 }],
    ["the other ceremony", { type: "webauthn.create" }],
    ["a signature of another key", { isForged: true }],
    ["the handle of another user", { userHandle: "A".repeat(43) }],
    ["no handle", { userHandle: "" }],
  ])("an answer with %s does not let in", async (_, twist) => {
    const { user, passkey } = await owner();
    const answer = await enter(visit(app), passkey, twist);
    expect(answer).toMatchObject({ success: false, data: null, message: "通行密钥验证失败，请重试" });
    expect(await app.ctx.sessions.list(user.id)).toHaveLength(1);
  });

  test("no new passkey comes of an answer that is wrong", async () => {
    const user = await newcomer(app);
    const home = await signedIn(app, user.id);
    for (const twist of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { challenge: "AAAA" },
      { flags: 1 },
      { type: "webauthn.get" },
    ])
      expect(await enrol(home, createSoftPasskey(SITE), twist)).toMatchObject({ success: false });
    expect(await listPasskeys(app.ctx.db, user.id)).toEqual([]);
  });

  test("a challenge works once, for its purpose, in its browser, for five minutes", async () => {
    const { home, passkey } = await owner();
    const browser = visit(app);
    const begun = await browser.call("POST", "/api/user/login/passkey/begin");
    const finish = (who: Visitor) =>
      who.call("POST", "/api/user/login/passkey/finish", passkey.get(begun.data));
    expect((await finish(visit(app))).message).toContain("超时");
    // One that was made for a new passkey.
    const forNew = await home.call("POST", "/api/user/factor/passkey/begin");
    const other = visit(app);
    await other.call("POST", "/api/user/login/passkey/begin");
    const wrong = passkey.get(forNew.data);
    expect((await other.call("POST", "/api/user/login/passkey/finish", wrong)).success).toBe(false);
    expect((await finish(browser)).success).toBe(true);
    expect((await finish(browser)).message).toContain("超时");
    const late = visit(app);
    const old = await late.call("POST", "/api/user/login/passkey/begin");
    clock.advance(301_000);
    const answer = await late.call("POST", "/api/user/login/passkey/finish", passkey.get(old.data));
    expect(answer.message).toContain("超时");
  });

  test("a counter that falls back is refused and remembered; synced passkeys count nothing", async () => {
    const { user, passkey } = await owner();
    expect((await enter(visit(app), passkey, { counter: 100 })).success).toBe(true);
    for (const counter of [100, 99, 0]) {
      const answer = await enter(visit(app), passkey, { counter });
      expect(answer).toMatchObject({ success: false });
      expect(answer.message).toContain("计数器异常");
    }
    expect((await listPasskeys(app.ctx.db, user.id))[0]).toMatchObject({ is_suspicious: 1, counter: 100 });
    // The account is not locked by that.
    expect((await enter(visit(app), passkey, { counter: 101 })).success).toBe(true);
    const synced = await owner(true);
    for (let use = 0; use < 3; use += 1) expect((await enter(visit(app), synced.passkey)).success).toBe(true);
  });

  test("of equal counters at the same time one counts", async () => {
    const { passkey } = await owner();
    const browsers = Array.from({ length: 8 }, () => visit(app));
    const begun = await Promise.all(
      browsers.map((browser) => browser.call("POST", "/api/user/login/passkey/begin")),
    );
    const answers = await Promise.all(
      browsers.map((browser, index) =>
        browser.call(
          "POST",
          "/api/user/login/passkey/finish",
          passkey.get(begun[index]?.data, { counter: 50 }),
        ),
      ),
    );
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
  });

  test("another origin of the same site counts when the operator names it", async () => {
    const { passkey } = await owner();
    const twist = { origin: "https://console.gate.example" };
    expect((await enter(visit(app), passkey, twist)).success).toBe(false);
    await app.ctx.options.set("PasskeyOrigins", "https://console.gate.example,https://evil.example");
    expect((await enter(visit(app), passkey, twist)).success).toBe(true);
    expect((await enter(visit(app), passkey, { origin: "https://evil.example" })).success).toBe(false);
    await app.ctx.options.set("PasskeyOrigins", "");
  });

  test("a passkey confirms its own account only, and can be renamed and removed by its owner only", async () => {
    const { user, home, passkey } = await owner();
    const other = await owner();
    clock.advance(301_000);
    expect((await home.call("GET", "/api/user/token")).status).toBe(403);
    const confirm = async (key: SoftPasskey) => {
      const begun = await home.call("POST", "/api/verify/passkey/begin");
      return home.call("POST", "/api/verify/passkey/finish", key.get(begun.data));
    };
    expect((await confirm(other.passkey)).success).toBe(false);
    const [row] = await listPasskeys(app.ctx.db, user.id);
    const path = `/api/user/factor/passkey/${row?.id}`;
    expect((await home.call("DELETE", path)).status).toBe(403);
    expect((await confirm(passkey)).success).toBe(true);
    expect((await home.call("GET", "/api/user/token")).success).toBe(true);
    const rename = { id: row?.id, name: "手机" };
    expect((await other.home.call("PUT", "/api/user/factor/passkey", rename)).success).toBe(false);
    expect((await home.call("PUT", "/api/user/factor/passkey", rename)).success).toBe(true);
    expect((await other.home.call("DELETE", path)).success).toBe(false);
    expect((await home.call("DELETE", path)).success).toBe(true);
    const state = await home.call("GET", "/api/user/factor");
    expect(state.data).toMatchObject({ passkeys: [], recovery_left: 0 });
  });

  test("another address of the server says how many passkeys it orphans, and is refused while staff has no other way", async () => {
    await owner();
    const move = (value: string) =>
      app.call({ authorization: "0123456789abcdef0123456789abcdef" }, "PUT", "/api/option/", {
        key: "ServerAddress",
        value,
      });
    expect((await move(`${SITE}/`)).success).toBe(true);
    expect((await move("https://gate.example")).success).toBe(true);
    const staff = await newcomer(app, 10);
    await app.ctx.options.set("ServerAddress", SITE);
    const home = await signedIn(app, staff.id);
    await enrol(home, createSoftPasskey(SITE));
    await app.ctx.db.updateTable("users").set({ password: "" }).where("id", "=", staff.id).execute();
    const refused = await move("https://other.example");
    expect(refused).toMatchObject({ success: false });
    expect(refused.message).toMatch(/\d+ 个通行密钥/);
    await app.ctx.db.deleteFrom("passkeys").where("user_id", "=", staff.id).execute();
    expect((await move("https://other.example")).success).toBe(true);
    expect((await move(SITE)).success).toBe(true);
  });

  test("a server that is known by an address makes none", async () => {
    const user = await newcomer(app);
    const home = await signedIn(app, user.id);
    await app.ctx.options.set("ServerAddress", "http://192.0.2.7:3000");
    expect((await home.call("POST", "/api/user/factor/passkey/begin")).message).toContain("域名");
    await app.ctx.options.set("ServerAddress", SITE);
  });
});
