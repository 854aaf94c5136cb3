import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { banner } from "#server/main/banner.ts";
import { startTurnstile, type TurnstileEmulator } from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { createAppOn, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const MISSING = "请先完成人机验证";
const SITE = "http://localhost:3000";
const FAILED = "人机验证未通过，请重试";

describe.each(databases)("the human check on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let turnstile: TurnstileEmulator;
  let smtp: SmtpEmulator;
  let count = 0;

  beforeAll(async () => {
    [turnstile, smtp] = await Promise.all([startTurnstile(), startSmtp()]);
    app = await createAppOn(database, {
      clock,
      env: { TRUSTED_PROXIES: "127.0.0.1", TURNSTILE_URL: turnstile.url },
    });
    await app.ctx.options.set("ServerAddress", SITE);
    await app.ctx.options.set("TurnstileSiteKey", "site-key");
    await app.ctx.options.set("TurnstileSecretKey", turnstile.secret);
    await app.ctx.options.set("TurnstileCheckEnabled", "true");
    await app.ctx.options.set("SMTPServer", "127.0.0.1");
    await app.ctx.options.set("SMTPPort", String(smtp.port));
    await app.ctx.options.set("SMTPFrom", "noreply@gate.example");
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([turnstile.close(), smtp.close()]);
  });
  afterEach(async () => {
    turnstile.hang = false;
    await app.ctx.options.set("ServerAddress", SITE);
    await app.ctx.options.set("EmailVerificationEnabled", "false");
    clock.advance(3_600_000);
  });

  const register = (who: Visitor, proof: string, body: object = {}) =>
    who.call("POST", `/api/user/register?turnstile=${proof}`, {
      username: `human${++count}`,
      password: "harbour-lamp-9",
      ...body,
    });

  test("is asked of Turnstile with secret, proof and address, and lets the call pass once", async () => {
    const who = visit(app);
    const proof = turnstile.solve();
    expect((await register(who, proof)).success).toBe(true);
    const form = new URLSearchParams(turnstile.heard.at(-1)?.body);
    expect(Object.fromEntries(form)).toEqual({
      secret: turnstile.secret,
      response: proof,
      remoteip: who.address,
    });
    // The proof is used up, and a second registration of the same browser has none.
    expect((await register(who, proof)).message).toBe(FAILED);
    expect((await register(who, "")).message).toBe(MISSING);
  });

  test.each([
    "/api/user/register",
    "/api/verification?email=a@example.com",
    "/api/reset_password?email=a@example.com",
  ])("protects %s", async (path) => {
    const method = path.includes("register") ? "POST" : "GET";
    const body = method === "POST" ? { username: "x", password: "harbour-lamp-9" } : undefined;
    expect((await visit(app).call(method, path, body)).message).toBe(MISSING);
    const forged = `${path}${path.includes("?") ? "&" : "?"}turnstile=forged`;
    expect((await visit(app).call(method, forged, body)).message).toBe(FAILED);
  });

  test("is not asked for where the contract does not say so, nor while it is off", async () => {
    const login = await visit(app).call("POST", "/api/user/login", { username: "x", password: "y" });
    expect(login.message).toBe("账号或密码不正确，或账户已停用");
    await app.ctx.options.set("TurnstileCheckEnabled", "false");
    expect((await register(visit(app), "")).success).toBe(true);
    await app.ctx.options.set("TurnstileCheckEnabled", "true");
  });

  test("a proof solved for another host or another action is refused", async () => {
    expect((await register(visit(app), turnstile.solve({ hostname: "evil.example" }))).message).toBe(FAILED);
    expect((await register(visit(app), turnstile.solve({ action: "login" }))).message).toBe(FAILED);
    expect((await register(visit(app), turnstile.solve({ action: "register" }))).success).toBe(true);
    // Nor is one without a host valid, and the Host that the visitor sends does not count.
    expect((await register(visit(app), turnstile.solve({ hostname: "" }))).message).toBe(FAILED);
    const path = `/api/user/register?turnstile=${turnstile.solve({ hostname: "evil.example" })}`;
    const draft = { username: `human${++count}`, password: "harbour-lamp-9" };
    const forged = await visit(app).call("POST", path, draft, { host: "evil.example" });
    expect(forged.message).toBe(FAILED);
    await app.ctx.options.set("ServerAddress", "https://gate.example");
    expect((await register(visit(app), turnstile.solve())).message).toBe(FAILED);
    expect((await register(visit(app), turnstile.solve({ hostname: "gate.example" }))).success).toBe(true);
  });

  test("while the site has no host name no call passes, and the error says why", async () => {
    await app.ctx.options.set("ServerAddress", "");
    const asked = turnstile.heard.length;
    expect((await register(visit(app), turnstile.solve())).message).toBe(
      "人机验证暂不可用：请管理员先填写“服务器地址”",
    );
    expect(turnstile.heard.length).toBe(asked);
    // The operator reads it in the log too, and can log in: that needs no proof.
    expect(banner(app.ctx, null)).toContain("ServerAddress is empty");
    expect((await visit(app).call("POST", "/api/user/login", { username: "x", password: "y" })).message).toBe(
      "账号或密码不正确，或账户已停用",
    );
    await app.ctx.options.set("ServerAddress", SITE);
    expect(banner(app.ctx, null)).not.toContain("ServerAddress");
  });

  test("the registration after an e-mail code uses the proof of the code, once, for ten minutes", async () => {
    await app.ctx.options.set("EmailVerificationEnabled", "true");
    async function ask(who: Visitor, email: string) {
      const proof = turnstile.solve();
      const answer = await who.call("GET", `/api/verification?email=${email}&turnstile=${proof}`);
      expect(answer.success).toBe(true);
      const code = /<strong>(\d{6})/.exec((await smtp.take(email)).html)?.[1] ?? "";
      return { proof, draft: { email, verification_code: code } };
    }
    const who = visit(app);
    const { proof, draft } = await ask(who, "flow@example.com");
    // Family consoles send the same proof again; Turnstile would refuse it.
    const asked = turnstile.heard.length;
    expect((await register(who, proof, draft)).success).toBe(true);
    expect(turnstile.heard.length).toBe(asked);
    expect((await register(who, proof, draft)).message).toBe(FAILED);
    expect((await register(who, "", draft)).message).toBe(MISSING);

    const slow = visit(app);
    const second = await ask(slow, "slow@example.com");
    // Another browser cannot use it.
    expect((await register(visit(app), "", second.draft)).message).toBe(MISSING);
    clock.advance(600_000);
    expect((await register(slow, "", second.draft)).message).toBe(MISSING);

    const clumsy = visit(app);
    const third = await ask(clumsy, "clumsy@example.com");
    const wrong = { ...third.draft, verification_code: "nothex" };
    for (let index = 0; index < 4; index += 1)
      expect((await register(clumsy, "", wrong)).message).toBe("验证码不正确或已失效");
    expect((await register(clumsy, "", third.draft)).success).toBe(true);
  });

  test("of 8 registrations at once on the proof of one code, one makes an account", async () => {
    const who = visit(app);
    const path = `/api/verification?email=eight@example.com&turnstile=${turnstile.solve()}`;
    expect((await who.call("GET", path)).success).toBe(true);
    const answers = await Promise.all(Array.from({ length: 8 }, () => register(who, "")));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(new Set(answers.filter(({ success }) => !success).map(({ message }) => message))).toEqual(
      new Set([MISSING]),
    );
  });

  test("a registration that is refused costs a try of the credit, not the credit", async () => {
    const who = visit(app);
    const path = `/api/verification?email=again@example.com&turnstile=${turnstile.solve()}`;
    expect((await who.call("GET", path)).success).toBe(true);
    expect((await register(who, "", { username: "root" })).message).toBe("用户名已被使用");
    expect((await register(who, "")).success).toBe(true);
    expect((await register(who, "")).message).toBe(MISSING);
  });

  test("a code is never sent by the proof of another", async () => {
    const who = visit(app);
    const proof = turnstile.solve();
    const ask = (email: string) => who.call("GET", `/api/verification?email=${email}&turnstile=${proof}`);
    expect((await ask("first@example.com")).success).toBe(true);
    expect((await ask("second@example.com")).message).toBe(FAILED);
  });

  test("a verifier that does not answer is a refusal, within five seconds and a moment", {
    timeout: 30_000,
  }, async () => {
    turnstile.hang = true;
    const startMs = performance.now();
    expect((await register(visit(app), turnstile.solve())).message).toBe(FAILED);
    expect(performance.now() - startMs).toBeLessThan(9_000);
  });

  test("so is one that redirects, errs, says much, or is not there", async () => {
    const { startHttpEmulator } = await import("#test/emulators/http-emulator.ts");
    const replies = [
      { status: 302, json: {}, headers: { location: `${turnstile.url}/turnstile/v0/siteverify` } },
      { status: 500, json: { success: true } },
      { json: { success: "true" } },
      { json: [] },
      { json: { success: true, padding: "x".repeat(70_000) } },
    ];
    const other = await startHttpEmulator(() => replies.shift());
    const second = await createTestApp({ env: { TURNSTILE_URL: other.url } });
    await second.ctx.options.set("ServerAddress", SITE);
    await second.ctx.options.set("TurnstileCheckEnabled", "true");
    for (let left = replies.length; left > 0; left -= 1)
      expect((await register(visit(second), "proof")).message).toBe(FAILED);
    await other.close();
    expect((await register(visit(second), "proof")).message).toBe(FAILED);
    await second.close();
  });
});
