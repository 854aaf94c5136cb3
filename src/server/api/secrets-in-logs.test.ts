// What identifies a user or gives access stays out of the diagnostic log, also at its most verbose level (requirements P03, A14, K08).
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GithubEmulator, startGithub } from "#test/emulators/github-emulator.ts";
import {
  startTurnstile,
  startWeChat,
  type TurnstileEmulator,
  type WeChatEmulator,
} from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { keptLog } from "#test/worlds/kept-log.ts";
import { visit } from "#test/worlds/visitor.ts";

let app: TestApp;
let github: GithubEmulator;
let wechat: WeChatEmulator;
let turnstile: TurnstileEmulator;
let smtp: SmtpEmulator;
const log = keptLog();

beforeAll(async () => {
  [github, wechat, turnstile, smtp] = await Promise.all([
    startGithub(),
    startWeChat(Date.now),
    startTurnstile(),
    startSmtp(),
  ]);
  app = await createTestApp({
    logger: log.logger,
    env: { TURNSTILE_URL: turnstile.url, GITHUB_URL: github.url, GITHUB_API_URL: github.url },
  });
  const options: Record<string, string> = {
    GitHubClientId: github.clientId,
    GitHubClientSecret: github.clientSecret,
    GitHubOAuthEnabled: "true",
    WeChatServerAddress: wechat.url,
    WeChatServerToken: wechat.token,
    WeChatAuthEnabled: "true",
    TurnstileSecretKey: turnstile.secret,
    TurnstileCheckEnabled: "true",
    SMTPServer: "127.0.0.1",
    SMTPPort: String(smtp.port),
    SMTPFrom: "noreply@gate.example",
    ServerAddress: "http://localhost",
  };
  for (const [key, value] of Object.entries(options)) await app.ctx.options.set(key as never, value);
});
afterAll(async () => {
  await app.close();
  await Promise.all([github.close(), wechat.close(), turnstile.close(), smtp.close()]);
});

test("codes, states, tokens, proofs, addresses and new passwords are not logged", async () => {
  await seedUser(app.ctx, "canary");
  const who = visit(app);
  const canaries: string[] = [
    seedPassword,
    github.clientSecret,
    wechat.token,
    turnstile.secret,
    "canary@example.com",
  ];

  const proof = turnstile.solve();
  await who.call("GET", `/api/verification?email=mail-canary@example.com&turnstile=${proof}`);
  const code = /<strong>(\d{6})/.exec((await smtp.take("mail-canary@example.com")).html)?.[1] ?? "";
  await who.call("GET", "/api/verification?email=x@example.com&turnstile=forged-proof-canary");
  canaries.push(proof, "mail-canary", `${code}"`, "forged-proof-canary");

  const second = turnstile.solve();
  await who.call("GET", `/api/reset_password?email=canary@example.com&turnstile=${second}`);
  await app.ctx.resets.idle();
  const token = /token=([\w-]+)/.exec((await smtp.take("canary@example.com")).html)?.[1] ?? "";
  await who.call("POST", "/api/user/reset", { email: "canary@example.com", token: "wrong-token-canary" });
  const { data: password } = await who.call("POST", "/api/user/reset", {
    email: "canary@example.com",
    token,
  });
  expect(password).toHaveLength(20);
  canaries.push(second, token, "wrong-token-canary", password);

  const begun = await who.call("GET", "/api/oauth/state");
  const back = github.agree(begun["url"], { id: 5, login: "login-canary" });
  await who.call("GET", `/api/oauth/github?code=${back.code}&state=state-canary`);
  expect((await who.call("GET", `/api/oauth/github?code=${back.code}&state=${back.state}`)).success).toBe(
    true,
  );
  canaries.push(
    back.code,
    back.state,
    "state-canary",
    who.cookies.get("session") ?? "",
    who.cookies.get("browser") ?? "",
  );

  const wechatCode = wechat.tell("wechat-id-canary");
  await visit(app).call("GET", `/api/oauth/wechat?code=${wechatCode}`);
  canaries.push(wechatCode, "wechat-id-canary");

  expect(log.text()).toContain("account created");
  expect(canaries.every((canary) => canary.length > 3)).toBe(true);
  expect(canaries.filter((canary) => log.text().includes(canary))).toEqual([]);
});
