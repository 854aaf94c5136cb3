import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { issueCode } from "#server/accounts/codes.ts";
import { codeRef } from "#server/accounts/verification.ts";
import { fakeClock } from "#server/clock.ts";
import type { SmtpEmulator } from "#test/emulators/smtp-emulator.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type TestApp } from "#test/worlds/app.ts";
import { type MailApp, otherCode, startMailApp } from "#test/worlds/mail-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

const MINUTE_MS = 60_000;
const password = "harbour-lamp-9";

describe.each(databases)("registration on $name", (database) => {
  const clock = fakeClock();
  let mail: MailApp;
  let app: TestApp;
  let smtp: SmtpEmulator;

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
    ({ app, smtp } = mail);
  });
  afterAll(() => mail.close());
  afterEach(async () => {
    await setOptions({
      RegisterEnabled: "true",
      PasswordRegisterEnabled: "true",
      EmailVerificationEnabled: "false",
      EmailDomainRestrictionEnabled: "false",
    });
    smtp.refusal = undefined;
    // The server's budget of letters fills again.
    clock.advance(3 * 60 * MINUTE_MS);
  });

  const setOptions: MailApp["set"] = (values) => mail.set(values);
  const codeFor: MailApp["codeFor"] = (who, email) => mail.codeFor(who, email);
  const register = (who: Visitor, body: object) => who.call("POST", "/api/user/register", body);

  test("with a name and a password makes an ordinary user who can log in", async () => {
    const answer = await register(visit(app), {
      username: " newcomer ",
      password,
      password2: password,
      aff_code: null,
    });
    expect(answer).toEqual({ status: 200, success: true, message: "", data: null });
    const session = await app.login("newcomer", password);
    expect((await app.call(session, "GET", "/api/user/self")).data).toMatchObject({
      username: "newcomer",
      display_name: "newcomer",
      role: 1,
      status: 1,
      email: "",
      group: "default",
      quota: 0,
      inviter_id: 0,
      aff_code: expect.stringMatching(/^[A-Z0-9]{5,8}$/),
    });
  });

  test.each([
    [{ password }, "请求参数有误"],
    [{ username: "   ", password }, "请输入用户名"],
    [{ username: "thirteen-long", password }, "用户名最多 12 个字符"],
    [{ username: "somebody", password: "short" }, "密码长度不得小于 8 位"],
    [{ username: "somebody", password: "p".repeat(129) }, "密码长度不得大于 128 位"],
    [{ username: "somebody", password: "12345678" }, "这个密码太容易被猜到，请换一个"],
    [{ username: "somebody", password: "password1" }, "这个密码太容易被猜到，请换一个"],
    [{ username: "somebody", password: "somebody1" }, "这个密码太容易被猜到，请换一个"],
    [{ username: "root", password }, "用户名已被使用"],
  ])("%j is refused: %s", async (body, message) => {
    expect(await register(visit(app), body)).toMatchObject({ status: 200, success: false, message });
  });

  test("a closed registration says so before it checks anything", async () => {
    const nonsense = { username: "", password: "x" };
    await setOptions({ PasswordRegisterEnabled: "false" });
    expect((await register(visit(app), nonsense)).message).toBe("当前仅支持第三方账号注册");
    await setOptions({ RegisterEnabled: "false" });
    expect((await register(visit(app), nonsense)).message).toBe("当前未开放注册");
    expect((await visit(app).call("POST", "/api/user/register")).message).toBe("当前未开放注册");
  });

  test("gifts go to the new user and to the inviter, each with an entry of type 4", async () => {
    await setOptions({ QuotaForNewUser: "100", QuotaForInvitee: "20", QuotaForInviter: "3" });
    const inviter = await seedUser(app.ctx, "inviter");
    const { aff_code } = (await app.call(inviter.who, "GET", "/api/user/self")).data;
    await register(visit(app), { username: "invited", password, aff_code: aff_code.toLowerCase() });
    await register(visit(app), { username: "uninvited", password, aff_code: "NOBODY-HAS-THIS" });
    await setOptions({ QuotaForNewUser: "0", QuotaForInvitee: "0", QuotaForInviter: "0" });
    const selfOf = async (name: string) =>
      (await app.call(await app.login(name, password), "GET", "/api/user/self")).data;
    expect(await selfOf("invited")).toMatchObject({ quota: 120, inviter_id: inviter.id });
    expect(await selfOf("uninvited")).toMatchObject({ quota: 100, inviter_id: 0 });
    expect((await app.call(inviter.who, "GET", "/api/user/self")).data.quota).toBe(500_003);
    const entries = async (name: string) =>
      (await app.call(asRoot, "GET", `/api/log/?type=4&username=${name}`)).data.length;
    expect([await entries("invited"), await entries("uninvited"), await entries("inviter")]).toEqual([
      2, 1, 1,
    ]);
  });

  test("50 at once for one name make one account", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => register(visit(app), { username: "onename", password })),
    );
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(new Set(answers.filter(({ success }) => !success).map(({ message }) => message))).toEqual(
      new Set(["用户名已被使用"]),
    );
  });

  describe("with a code by e-mail", () => {
    const draft = (email: string, code: string, username: string) => ({
      username,
      password,
      email,
      verification_code: code,
    });

    test("needs address and code, and stores the address in lower case", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const who = visit(app);
      expect((await register(who, { username: "mailed", password })).message).toBe("请填写邮箱和验证码");
      expect((await register(who, draft("mailed@example.com", "", "mailed"))).message).toBe(
        "请填写邮箱和验证码",
      );
      expect((await register(who, draft("no address", "123456", "mailed"))).message).toBe(
        "邮箱地址格式不正确",
      );
      const code = await codeFor(who, "Mailed@Example.com");
      expect((await register(who, draft(" MAILED@example.com", code, "mailed"))).success).toBe(true);
      const session = await app.login("MAILED@EXAMPLE.COM", password);
      expect((await app.call(session, "GET", "/api/user/self")).data.email).toBe("mailed@example.com");
    });

    test("100 at once with tags and cases of one address make one account, which keeps its address", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const addresses = Array.from({ length: 100 }, (_, index) => (index === 0 ? "farm" : `farm+${index}`));
      for (const name of addresses)
        await issueCode(app.ctx, codeRef(`${name}@example.com`, 0), { text: "123456" });
      const answers = await Promise.all(
        addresses.map((name, index) =>
          register(visit(app), draft(`${name}@Example.com`, "123456", `farmer${index}`)),
        ),
      );
      expect(answers.filter(({ success }) => success)).toHaveLength(1);
      const kept = await app.ctx.db
        .selectFrom("users")
        .select(["username", "email"])
        .where("username", "like", "farmer%")
        .execute();
      expect(kept).toHaveLength(1);
      const winner = answers.findIndex(({ success }) => success);
      expect(kept[0]?.email).toBe(`${addresses[winner]}@example.com`);
      const others = answers.filter(({ success }) => !success).map(({ message }) => message);
      expect(new Set(others)).toEqual(new Set(["该邮箱已被其他账户绑定"]));
      expect((await visit(app).call("GET", "/api/verification?email=FARM%2Bmore@example.com")).message).toBe(
        "该邮箱已被其他账户绑定",
      );
    });

    test("an account that is deleted and made anew with the same mailbox brings no second gift", async () => {
      await setOptions({
        EmailVerificationEnabled: "true",
        QuotaForNewUser: "100",
        QuotaForInvitee: "20",
        QuotaForInviter: "3",
      });
      const inviter = await seedUser(app.ctx, "inviter2");
      const join = async (name: string, email: string) => {
        const code = await codeFor(visit(app), email);
        const body = { ...draft(email, code, name), aff_code: "INVITER2" };
        expect(await register(visit(app), body)).toMatchObject({ success: true });
        const session = await app.login(name, password);
        return { session, quota: (await app.call(session, "GET", "/api/user/self")).data.quota };
      };
      const first = await join("comes1", "comes@example.com");
      expect(first.quota).toBe(120);
      expect((await app.call(first.session, "DELETE", "/api/user/self?username=comes1")).success).toBe(true);
      clock.advance(31_000);
      expect((await join("comes2", "comes+again@example.com")).quota).toBe(0);
      expect((await join("comes3", "other.comes@example.com")).quota).toBe(120);
      await setOptions({ QuotaForNewUser: "0", QuotaForInvitee: "0", QuotaForInviter: "0" });
      expect((await app.call(inviter.who, "GET", "/api/user/self")).data.quota).toBe(500_006);
    });

    test("the letter names the system, the code and how long it is good", async () => {
      await codeFor(visit(app), "reader@example.com").catch(() => "");
      const letter = smtp.letters.find(({ to }) => to.includes("reader@example.com"));
      expect(letter).toMatchObject({ from: "noreply@gate.example", subject: "River 邮箱验证码" });
      expect(letter?.html).toContain("10 分钟");
      expect(letter?.headers["message-id"]).toMatch(/^<[\w-]{24}@gate\.example>$/);
    });

    test("a code works once, for its address, and only the newest", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const who = visit(app);
      const first = await codeFor(who, "codes@example.com");
      clock.advance(31_000);
      const second = await codeFor(who, "codes@example.com");
      if (first !== second)
        expect((await register(who, draft("codes@example.com", first, "codes1"))).message).toBe(
          "验证码不正确或已失效",
        );
      expect((await register(who, draft("other@example.com", second, "codes1"))).message).toBe(
        "验证码不正确或已失效",
      );
      // A refused name does not cost the code.
      expect((await register(who, draft("codes@example.com", second, "root"))).message).toBe(
        "用户名已被使用",
      );
      const both = await Promise.all(
        ["codes1", "codes2"].map((name) => register(visit(app), draft("codes@example.com", second, name))),
      );
      expect(both.map(({ success }) => success).sort()).toEqual([false, true]);
      expect((await register(who, draft("codes@example.com", second, "codes3"))).success).toBe(false);
    });

    test("of 50 codes at once five wrong ones are evaluated: the right one last is invalid", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const who = visit(app);
      const code = await codeFor(who, "burst@example.com");
      const guesses = [...Array.from({ length: 49 }, (_, index) => String(index).padStart(6, "x")), code];
      const answers = await Promise.all(
        guesses.map((guess) => register(visit(app), draft("burst@example.com", guess, "burst"))),
      );
      expect(answers.some(({ success }) => success)).toBe(false);
      const kept = await app.ctx.db.selectFrom("codes").select("tries").execute();
      expect(Math.max(...kept.map(({ tries }) => tries))).toBe(5);
    });

    test("the right code after five wrong ones is invalid", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const who = visit(app);
      const code = await codeFor(who, "tries@example.com");
      for (let index = 0; index < 5; index += 1)
        expect((await register(who, draft("tries@example.com", otherCode(code), "tries"))).success).toBe(
          false,
        );
      expect((await register(who, draft("tries@example.com", code, "tries"))).message).toBe(
        "验证码不正确或已失效",
      );
    });

    test("after four wrong ones it is still valid, after ten minutes it is not", async () => {
      await setOptions({ EmailVerificationEnabled: "true" });
      const who = visit(app);
      const late = await codeFor(who, "late@example.com");
      clock.advance(10 * MINUTE_MS);
      expect((await register(who, draft("late@example.com", late, "late"))).success).toBe(false);
      const code = await codeFor(who, "late@example.com");
      for (let index = 0; index < 4; index += 1)
        await register(who, draft("late@example.com", otherCode(code), "late"));
      clock.advance(10 * MINUTE_MS - 1_000);
      expect((await register(who, draft("late@example.com", code, "late"))).success).toBe(true);
    });

    test("is not stored in the clear", async () => {
      const code = await codeFor(visit(app), "secret@example.com");
      const stored = JSON.stringify(await app.ctx.db.selectFrom("codes").selectAll().execute());
      expect(stored).not.toContain(code);
      expect(stored).not.toContain("secret@example.com");
    });

    test("only allowed domains get one, whole domains", async () => {
      await setOptions({ EmailDomainRestrictionEnabled: "true", EmailDomainWhitelist: "good.com,qq.com" });
      const ask = (email: string) => visit(app).call("GET", `/api/verification?email=${email}`);
      for (const email of ["a@bad.com", "a@notgood.com", "a@good.com.bad.com", "a@sub.good.com"])
        expect((await ask(email)).message).toBe("该邮箱域名不在允许范围内");
      expect((await ask("a@good.com")).success).toBe(true);
    });

    test("no address, a bad one and a taken one get no letter", async () => {
      await seedUser(app.ctx, "owner");
      const ask = (query: string) => visit(app).call("GET", `/api/verification${query}`);
      expect((await ask("")).success).toBe(false);
      for (const email of [
        "plain",
        "a@b",
        "a b@example.com",
        "a@example.com;b@example.com",
        "a%0D%0ABcc:x@example.com",
      ])
        expect((await ask(`?email=${email}`)).message).toBe("邮箱地址格式不正确");
      expect((await ask("?email=Owner@example.com")).message).toBe("该邮箱已被其他账户绑定");
    });

    test("a letter that the mail server refuses is reported, one that it delays is tried again", async () => {
      smtp.refusal = "550 no";
      expect((await visit(app).call("GET", "/api/verification?email=gone@example.com")).message).toBe(
        "邮件发送失败，请检查邮箱地址或稍后再试",
      );
      smtp.refusal = "451 later";
      expect((await visit(app).call("GET", "/api/verification?email=slow@example.com")).success).toBe(true);
    });

    test("without a mail server no visitor is told that a letter is on its way", async () => {
      await setOptions({ SMTPServer: "" });
      const message = "管理员尚未配置邮件服务，无法发送邮件";
      expect((await visit(app).call("GET", "/api/verification?email=x@example.com")).message).toBe(message);
      expect((await visit(app).call("GET", "/api/reset_password?email=x@example.com")).message).toBe(message);
      await setOptions({ SMTPServer: "127.0.0.1" });
    });
  });
});
