// Logging in with a second factor: half sessions, codes that work once, recovery codes, lock-out, trusted browsers (requirements I27–I30,
// I33–I35). On both databases.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { issueCode } from "#server/accounts/codes.ts";
import { keepHalf } from "#server/accounts/half-sessions.ts";
import { fakeClock } from "#server/clock.ts";
import { countFactors } from "#server/store/factors.ts";
import { type SeededUser, seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { enrolTotp } from "#test/worlds/authenticator.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const DAY_MS = 86_400_000;

describe.each(databases)("second factors on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let serial = 0;

  beforeAll(async () => {
    const env = { TRUSTED_PROXIES: "127.0.0.1" };
    app = await createAppOn(database, { clock, env });
    // What this file is about is asked of users who have a factor; enforcement.test.ts is about the rest.
    await app.ctx.options.set("MfaRequiredFor", "none");
  });
  afterAll(() => app.close());
  // Every test begins in steps and budgets of its own.
  beforeEach(() => clock.advance(DAY_MS * 2));

  const person = (role?: number) => {
    serial += 1;
    return seedUser(app.ctx, `owner${serial}`, role === undefined ? {} : { role });
  };
  /** Where the password was right: without hashing it again and again. */
  const halfway = async ({ id }: SeededUser) => {
    const browser = visit(app);
    const login = { userId: id, via: "password", proven: { status: 1 }, outside: undefined };
    browser.cookies.set("half", await keepHalf(app.ctx, login));
    return browser;
  };
  const password = (browser: Visitor, { username }: SeededUser) =>
    browser.call("POST", "/api/user/login", { username, password: seedPassword });
  const second = (browser: Visitor, code: string, remember = false) =>
    browser.call("POST", "/api/user/login/2fa", { code, remember });

  /** An account with an authenticator app, the browser it was set up in, and the app. */
  async function protectedPerson(role?: number) {
    const user = await person(role);
    const home = visit(app);
    const traits = { stepup_at: clock.seconds() };
    home.cookies.set("session", (await app.ctx.sessions.start(user.id, {}, { traits })) ?? "");
    const phone = await enrolTotp(app, home);
    clock.advance(60_000);
    return { user, home, phone };
  }

  test("an account without a factor gets the answer it always got", async () => {
    const answer = await password(visit(app), await person());
    expect(answer.success).toBe(true);
    expect(answer.data).not.toHaveProperty("require_2fa");
    expect(answer.data).not.toHaveProperty("factors");
    expect(answer.data.id).toBeGreaterThan(0);
  });

  test("the password is half a login, which opens nothing; the code is the other half", async () => {
    const { user, phone } = await protectedPerson();
    const browser = visit(app);
    const half = await password(browser, user);
    expect(half.data).toMatchObject({
      require_2fa: true,
      factors: ["totp", "recovery"],
      id: 0,
      username: "",
    });
    expect(browser.cookies.has("session")).toBe(false);
    expect((await browser.call("GET", "/api/user/self")).status).toBe(401);
    const whole = await second(browser, ` ${phone.code().slice(0, 3)} ${phone.code().slice(3)} `);
    expect(whole.data).toMatchObject({ id: user.id, username: user.username });
    expect((await browser.call("GET", "/api/user/self")).data.id).toBe(user.id);
    expect(browser.cookies.has("half")).toBe(false);
    // Half a login is used up with the whole one.
    expect((await second(browser, phone.code(1))).success).toBe(false);
  });

  test("nothing else counts in its place, and it ends after ten minutes", async () => {
    const { user, phone } = await protectedPerson();
    const late = await halfway(user);
    const stranger = visit(app);
    for (const cookie of [user.who["authorization"] ?? "", "x".repeat(43)]) {
      stranger.cookies.set("half", cookie);
      expect((await second(stranger, phone.code())).message).toBe("登录已超时，请重新登录");
    }
    // Half a login in the place of a session.
    stranger.cookies.clear();
    stranger.cookies.set("session", late.cookies.get("half") ?? "");
    expect((await stranger.call("GET", "/api/user/self")).status).toBe(401);
    clock.advance(601_000);
    expect((await second(late, phone.code())).message).toBe("登录已超时，请重新登录");
  });

  test("a code works once, however many come with it", async () => {
    const { user, phone } = await protectedPerson();
    const browsers = await Promise.all(Array.from({ length: 50 }, () => halfway(user)));
    const code = phone.code();
    const answers = await Promise.all(browsers.map((browser) => second(browser, code)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
  });

  test("codes of two steps ago, of five digits, of full-width digits and of others are refused", async () => {
    const { user, phone } = await protectedPerson();
    const other = await protectedPerson();
    for (const code of [phone.code(-2), phone.code().slice(1), other.phone.code()]) {
      const browser = await halfway(user);
      expect((await second(browser, code)).success, code).toBe(false);
      clock.advance(DAY_MS);
    }
    const wide = Array.from(phone.code(), (digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0)).join(
      "",
    );
    const browser = await halfway(user);
    expect((await second(browser, wide)).success).toBe(false);
    expect((await second(browser, phone.code(1))).success).toBe(true);
  });

  test("the code that set the app up is used", async () => {
    const user = await person();
    const home = visit(app);
    await password(home, user);
    const phone = await enrolTotp(app, home);
    const browser = await halfway(user);
    expect((await second(browser, phone.code(-1))).success).toBe(false);
    expect((await second(browser, phone.code())).success).toBe(true);
  });

  test("wrong codes: five in fifteen minutes for an account, from wherever they come", async () => {
    const { user, phone } = await protectedPerson();
    let wrong = 0;
    for (let minute = 0; minute < 15; minute += 1) {
      for (let guess = 0; guess < 3; guess += 1) {
        const browser = await halfway(user);
        const answer = await second(browser, "000000");
        if (answer.status !== 429) wrong += 1;
        else expect(answer.message).toContain("验证码错误次数过多");
      }
      clock.advance(60_000);
    }
    expect(wrong).toBeGreaterThanOrEqual(3);
    expect(wrong).toBeLessThanOrEqual(5);
    // A stranger without the password cannot do that to a user.
    const others = await protectedPerson();
    for (let guess = 0; guess < 10; guess += 1) await second(visit(app), "000000");
    const browser = await halfway(others.user);
    expect((await second(browser, others.phone.code())).success).toBe(true);
    expect(phone.code()).toMatch(/^\d{6}$/);
  });

  test("a recovery code lets in once, however it is typed, and to its owner's account alone", async () => {
    const { user, phone } = await protectedPerson();
    const other = await protectedPerson();
    const [first = "", second2 = "", third = ""] = phone.recoveryCodes;
    expect(phone.recoveryCodes).toHaveLength(10);
    const browsers = await Promise.all(Array.from({ length: 50 }, () => halfway(user)));
    const answers = await Promise.all(browsers.map((browser) => second(browser, first)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect((await countFactors(app.ctx.db, user.id)).recovery).toBe(9);
    clock.advance(DAY_MS);
    const again = await halfway(user);
    expect((await second(again, ` ${second2.toLowerCase().replace("-", " ")} `)).success).toBe(true);
    const wrong = await halfway(other.user);
    expect((await second(wrong, third)).success).toBe(false);
  });

  test("new recovery codes void the old ones", async () => {
    const { user, home, phone } = await protectedPerson();
    await home.call("POST", "/api/verify", { code: phone.code() });
    const renewed = await home.call("POST", "/api/user/factor/recovery");
    expect(renewed.data.recovery_codes).toHaveLength(10);
    const browser = await halfway(user);
    expect((await second(browser, phone.recoveryCodes[0] ?? "")).success).toBe(false);
    expect((await second(browser, renewed.data.recovery_codes[0])).success).toBe(true);
  });

  test("a recovery code allows a new app, which proves no more than a login for a day", async () => {
    const { user, phone } = await protectedPerson();
    const browser = await halfway(user);
    await second(browser, phone.recoveryCodes[0] ?? "");
    expect((await browser.call("GET", "/api/user/token")).status).toBe(403);
    const renewed = await enrolTotp(app, browser);
    clock.advance(60_000);
    const early = await browser.call("POST", "/api/verify", { code: renewed.code() });
    expect(early).toMatchObject({ status: 403, code: "VERIFICATION_INVALID" });
    expect(early.message).toContain("24 小时");
    expect((await browser.call("GET", "/api/user/token")).status).toBe(403);
    clock.advance(DAY_MS);
    expect((await browser.call("POST", "/api/verify", { code: renewed.code() })).success).toBe(true);
    expect((await browser.call("GET", "/api/user/token")).success).toBe(true);
  });

  test("a trusted browser skips the code for thirty days, and only for its account", async () => {
    const { user, phone } = await protectedPerson();
    const other = await protectedPerson();
    const browser = visit(app);
    await password(browser, user);
    await second(browser, phone.code(), true);
    const later = await password(browser, user);
    expect(later.data).toMatchObject({ id: user.id });
    // It is no proof of being there.
    expect(await browser.call("GET", "/api/user/token")).toMatchObject({ status: 403 });
    const thief = visit(app);
    thief.cookies.set("device", browser.cookies.get("device") ?? "");
    expect((await password(thief, other.user)).data).toMatchObject({ require_2fa: true });
    clock.advance(30 * DAY_MS);
    expect((await password(browser, user)).data).toMatchObject({ require_2fa: true });
  });

  test.each([
    [
      "another password",
      async (home: Visitor) => {
        const change = { password: "another-stone-43", original_password: seedPassword };
        return home.call("PUT", "/api/user/self", change);
      },
      "another-stone-43",
    ],
    [
      "another factor",
      async (home: Visitor, code: string) => {
        await home.call("POST", "/api/verify", { code });
        await enrolTotp(app, home);
        return { success: true };
      },
      seedPassword,
    ],
    [
      "the end of all other sessions",
      (home: Visitor) => home.call("POST", "/api/user/session/end", {}),
      seedPassword,
    ],
    [
      "another role",
      (_home: Visitor, _code: string, username: string) =>
        app.call(asRoot, "POST", "/api/user/manage", { username, action: "promote" }),
      seedPassword,
    ],
  ] as const)("trust ends with %s", async (_, change, newPassword) => {
    const { user, home, phone } = await protectedPerson();
    const browser = await halfway(user);
    await second(browser, phone.code(), true);
    clock.advance(60_000);
    expect(await change(home, phone.code(), user.username)).toMatchObject({ success: true });
    const answer = await browser.call("POST", "/api/user/login", {
      username: user.username,
      password: newPassword,
    });
    expect(answer.data).toMatchObject({ require_2fa: true });
  });

  test("a change of the password between the halves ends the login", async () => {
    const { user, home, phone } = await protectedPerson();
    const browser = visit(app);
    await password(browser, user);
    await home.call("PUT", "/api/user/self", {
      password: "another-stone-43",
      original_password: seedPassword,
    });
    expect(await second(browser, phone.code())).toMatchObject({ success: false });
    expect(browser.cookies.has("session")).toBe(false);
  });

  test("a reset by an administrator needs rank, a proof and a reason, and ends everything", async () => {
    const { user, home } = await protectedPerson();
    const staff = await protectedPerson(Role.admin);
    const reset = (body: object) => staff.home.call("POST", "/api/user/factor/reset", body);
    const asked = { id: user.id, reason: "丢了手机" };
    clock.advance(301_000);
    expect(await reset(asked)).toMatchObject({ status: 403, code: "VERIFICATION_EXPIRED" });
    await staff.home.call("POST", "/api/verify", { code: staff.phone.code() });
    const peer = await protectedPerson(Role.admin);
    for (const id of [peer.user.id, staff.user.id, 1])
      expect(await reset({ ...asked, id }), String(id)).toMatchObject({ success: false });
    expect((await reset({ ...asked, reason: " " })).message).toBe("请填写原因");
    expect((await reset(asked)).success).toBe(true);
    expect((await home.call("GET", "/api/user/self")).status).toBe(401);
    expect((await app.call(user.who, "GET", "/api/user/self")).success).toBe(false);
    expect(await countFactors(app.ctx.db, user.id)).toEqual({ totp: 0, passkeys: 0, recovery: 0 });
    expect((await password(visit(app), user)).data.id).toBe(user.id);
    const { data } = await app.call(staff.user.who, "GET", "/api/audit/?action=user.factor_reset");
    expect(data[0]).toMatchObject({ actor_id: staff.user.id, target: String(user.id) });
    expect(data[0].detail).toContain("丢了手机");
  });

  test("a password that is reset by mail leaves the factors, and none of them is skipped", async () => {
    const { user, phone } = await protectedPerson();
    const token = "t".repeat(43);
    await issueCode(
      app.ctx,
      { purpose: "reset", subject: String(user.id) },
      { text: token, userId: user.id },
    );
    const email = `${user.username}@example.com`;
    const reset = await visit(app).call("POST", "/api/user/reset", { email, token });
    expect(reset.success, reset.message).toBe(true);
    const browser = visit(app);
    const login = { username: user.username, password: reset.data };
    expect((await browser.call("POST", "/api/user/login", login)).data).toMatchObject({ require_2fa: true });
    expect((await second(browser, phone.code())).data).toMatchObject({ id: user.id });
  });

  test("nothing that is shown again has the secret", async () => {
    const { home, phone } = await protectedPerson();
    const state = await home.call("GET", "/api/user/factor");
    expect(state.data).toMatchObject({ recovery_left: 10, has_password: true });
    expect(state.data.totp_created_at).toBeGreaterThan(0);
    const text = JSON.stringify(state);
    for (const code of phone.recoveryCodes) expect(text).not.toContain(code);
    expect(text).not.toMatch(/secret|v1:/);
  });
});
