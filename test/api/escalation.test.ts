// What an administrator, a user or many users might try to gain rights or quota: each try fails, concurrent ones too (requirements
// Z03, Z05, Z06, M21).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { startWeChat, type WeChatEmulator } from "#test/emulators/service-emulators.ts";
import { type SeededUser, seedPassword, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { visit } from "#test/worlds/visitor.ts";

const ROOT_MAIL = "root@gate.example";
/** Options through which a lower role could take over a session of role 100. */
const ROOT_OPTIONS = [
  "ServerAddress",
  "SMTPServer",
  "SMTPPort",
  "SMTPAccount",
  "SMTPFrom",
  "SMTPToken",
  "WeChatServerAddress",
  "WeChatServerToken",
  "GitHubClientId",
  "GitHubClientSecret",
  "TurnstileSiteKey",
  "TurnstileSecretKey",
  "TurnstileCheckEnabled",
  "GitHubImportedNameEnabled",
];
const SCRIPT = `<img src=x onerror="fetch('/api/user/token')"><script>alert(1)</script><a href="javascript:alert(2)">x</a>`;

describe.each(databases)("on $name", (database) => {
  const clock = fakeClock();
  let mail: MailApp;
  let wechat: WeChatEmulator;
  let admin: SeededUser;
  let call: MailApp["app"]["call"];

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
    wechat = await startWeChat(clock.now);
    ({ call } = mail.app);
    admin = await seedUser(mail.app.ctx, "admin", { role: 10 });
    await mail.set({
      WeChatServerAddress: wechat.url,
      WeChatServerToken: wechat.token,
      WeChatAuthEnabled: "true",
    });
    const { db } = mail.app.ctx;
    await updateUserProfile(db, 1, { email: ROOT_MAIL, wechat_id: "root-at-wechat", github_id: "583231" });
  });
  afterAll(async () => {
    await mail.close();
    await wechat.close();
  });

  const put = (key: string, value: string) => call(admin.who, "PUT", "/api/option/", { key, value });
  const rootRow = () => getUser(mail.app.ctx.db, 1);

  describe("no sequence of an administrator's calls ends as super", () => {
    test("not through the options that lead to one", async () => {
      for (const key of ROOT_OPTIONS) {
        const { success, message } = await put(
          key,
          key.endsWith("Enabled") ? "true" : "https://evil.example",
        );
        expect([key, success, message]).toEqual([key, false, "只有超级管理员可以修改这个选项"]);
      }
    });

    test("not through a password reset, whatever the mail server is", async () => {
      const before = mail.smtp.letters.length;
      const answer = await visit(mail.app).call("GET", `/api/reset_password?email=${ROOT_MAIL}`);
      expect(answer).toMatchObject({ success: true, data: null });
      await mail.app.ctx.resets.idle();
      expect(mail.smtp.letters.slice(before).filter(({ to }) => to.includes(ROOT_MAIL))).toEqual([]);
      for (const token of ["", "x", "0".repeat(43)]) {
        const done = await visit(mail.app).call("POST", "/api/user/reset", { email: ROOT_MAIL, token });
        expect(done).toMatchObject({ success: false, message: "重置链接无效或已失效" });
      }
    });

    test("not through another identity, although root has one", async () => {
      const who = visit(mail.app);
      const code = wechat.tell("root-at-wechat");
      expect(await who.call("GET", `/api/oauth/wechat?code=${code}`)).toMatchObject({
        success: false,
        message: "超级管理员未开启第三方登录，请使用密码登录",
      });
      expect((await who.call("GET", "/api/user/self")).status).toBe(401);
    });

    test("not by changing, promoting or making users", async () => {
      const before = await rootRow();
      for (const change of [
        { email: "admin@gate.example" },
        { password: "a-good-password-1" },
        { username: "boot" },
        { role: 1 },
        { status: 2 },
        { quota: 0 },
        { wechat_id: "" },
      ])
        expect((await call(admin.who, "PUT", "/api/user/", { id: 1, ...change })).success).toBe(false);
      for (const action of ["disable", "delete", "demote", "promote", "enable"])
        expect(
          (await call(admin.who, "POST", "/api/user/manage", { username: "root", action })).success,
        ).toBe(false);
      for (const role of [10, 99, 100, 1000]) {
        const draft = { username: `made${role}`, password: "a-good-password-1", role };
        expect((await call(admin.who, "POST", "/api/user/", draft)).success).toBe(false);
        expect((await call(admin.who, "PUT", "/api/user/", { id: admin.id, role })).success).toBe(false);
      }
      expect(
        (await call(admin.who, "POST", "/api/user/manage", { username: "admin", action: "promote" })).success,
      ).toBe(false);
      await call(admin.who, "PUT", "/api/user/self", {
        display_name: "me",
        role: 100,
        status: 1,
        quota: 10 ** 9,
      });
      expect(await getUser(mail.app.ctx.db, admin.id)).toMatchObject({ role: 10, quota: 500_000 });
      // Root itself makes no second super administrator through the API (requirements Z06).
      expect((await call(asRoot, "PUT", "/api/user/", { id: admin.id, role: 100 })).success).toBe(false);
      expect(await rootRow()).toEqual(before);
    });

    test("not by text that root will see", async () => {
      for (const [key, path] of [
        ["Notice", "/api/notice"],
        ["About", "/api/about"],
        ["HomePageContent", "/api/home_page_content"],
        ["Footer", "/api/status"],
      ] as const) {
        await put(key, SCRIPT);
        const { data } = await call({}, "GET", path);
        expect(JSON.stringify(data), key).not.toMatch(/onerror|<script|javascript:/i);
      }
      for (const key of ["Logo", "TopUpLink", "ChatLink", "WeChatAccountQRCodeImageURL"])
        expect((await put(key, "javascript:alert(1)")).success).toBe(false);
    });

    test("not by what any list or search shows", async () => {
      for (const path of [
        "/api/user/?size=100",
        "/api/user/search?keyword=root",
        "/api/option/",
        "/api/audit/?size=100",
      ]) {
        const text = JSON.stringify(await call(admin.who, "GET", path));
        expect(text).not.toMatch(/argon2id|access_token_hash|v1:[\w-]{20}/);
        expect(text).not.toContain(asRoot["authorization"]);
      }
      expect((await call(admin.who, "GET", "/api/user/1")).success).toBe(false);
    });
  });

  test("ten thousand ids of others are ten thousand that do not exist", async () => {
    const [owner, other] = [await seedUser(mail.app.ctx, "owner"), await seedUser(mail.app.ctx, "other")];
    const { id, key } = await seedToken(mail.app.ctx, owner.id);
    const missing = await call(other.who, "GET", "/api/token/987654321");
    const ids = Array.from({ length: 200 }, (_, index) => index + 1);
    const wild = Array.from({ length: 200 }, () => 1 + Math.floor(Math.random() * 2 ** 31));
    for (const one of [...ids, ...wild, id]) {
      expect(await call(other.who, "GET", `/api/token/${one}`)).toEqual(missing);
      expect(await call(other.who, "PUT", "/api/token/", { id: one, name: "mine" })).toEqual(missing);
      expect(await call(other.who, "DELETE", `/api/token/${one}`)).toEqual(missing);
    }
    expect((await call(owner.who, "GET", `/api/token/${id}`)).data).toMatchObject({ key, name: "seed" });
  }, 60_000);

  test("two hundred changes of a profile while five hundred calls settle cost and bring no user a unit", async () => {
    const { ctx } = mail.app;
    const user = await seedUser(ctx, "busy");
    const { id: tokenId } = await seedToken(ctx, user.id);
    const settle = async (serial: number) => {
      const party = { requestId: `busy-${serial}`, userId: user.id, tokenId };
      expect(await ctx.ledger.reserve({ ...party, amount: 50n, modelName: "m" })).toBe("reserved");
      const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
      await ctx.ledger.settle({ ...party, channelId: 0, charge: 7n, usage, log: null });
    };
    await Promise.all([
      ...Array.from({ length: 500 }, (_, serial) => settle(serial)),
      ...Array.from({ length: 200 }, (_, turn) =>
        call(user.who, "PUT", "/api/user/self", {
          display_name: `turn ${turn}`,
          quota: 10 ** 9,
          used_quota: 0,
          request_count: 0,
        }),
      ),
    ]);
    expect(await getUser(ctx.db, user.id)).toMatchObject({
      quota: 500_000 - 3_500,
      used_quota: 3_500,
      request_count: 500,
    });
    expect(await checkLedger(ctx.db)).toEqual([]);
    await mail.app.login("busy", seedPassword);
  }, 60_000);
});
