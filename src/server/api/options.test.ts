import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultModelRatio } from "#contract/prices.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("options on $name", (database) => {
  let app: TestApp;
  let admin: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database);
    admin = await seedUser(app.ctx, "admin", { role: 10 });
  });
  afterAll(() => app.close());

  const put = (key: string, value: unknown, who = asRoot) =>
    app.call(who, "PUT", "/api/option/", { key, value });
  async function read(key: string): Promise<string | undefined> {
    const { data } = await app.call(asRoot, "GET", "/api/option/");
    return data.find((row: { key: string }) => row.key === key)?.value;
  }

  test("a written option is read back, holds in the public status, and is logged with its actor", async () => {
    expect(await put("SystemName", "  River  ")).toMatchObject({ status: 200, success: true, data: null });
    expect(await read("SystemName")).toBe("River");
    expect((await app.call({}, "GET", "/api/status")).data.system_name).toBe("River");
    const { data } = await app.call(asRoot, "GET", "/api/log/?type=3&size=1");
    expect(data).toMatchObject([
      { type: 3, username: "root", content: expect.stringContaining("SystemName") },
    ]);
  });

  test("booleans and numbers are accepted as such", async () => {
    await put("RegisterEnabled", false);
    expect(await read("RegisterEnabled")).toBe("false");
    await put("RetryTimes", 3);
    expect(app.ctx.options.get("RetryTimes")).toBe(3);
  });

  test("secrets are written and never read back; blank keeps them", async () => {
    expect(await read("SMTPToken")).toBeUndefined();
    expect(await read("SMTPTokenConfigured")).toBe("false");
    await put("SMTPToken", "mail-secret-canary");
    expect(await read("SMTPTokenConfigured")).toBe("true");
    await put("SMTPToken", "");
    expect(app.ctx.options.get("SMTPToken")).toBe("mail-secret-canary");
    const dump = [
      await app.ctx.db.selectFrom("options").selectAll().execute(),
      await app.ctx.db.selectFrom("logs").selectAll().execute(),
      (await app.call(asRoot, "GET", "/api/option/")).data,
    ];
    expect(JSON.stringify(dump)).not.toContain("mail-secret-canary");
  });

  test("a secret is not sent to another host", async () => {
    await put("MessagePusherAddress", "https://push.example/");
    await put("MessagePusherToken", "push-secret");
    await put("MessagePusherAddress", "https://push.example");
    expect(app.ctx.options.get("MessagePusherToken")).toBe("push-secret");
    await put("MessagePusherAddress", "https://evil.example");
    expect(app.ctx.options.get("MessagePusherToken")).toBe("");
  });

  test.each(["SystemName", "SMTPFrom", "SMTPAccount", "GitHubClientId"])("%s is one line", async (key) => {
    for (const value of ["a\r\nBcc: all@gate.example", "a\nb", "a\rb", "a\u2028b", "a\u001bb"])
      expect(await put(key, value)).toMatchObject({ success: false, message: "不能含有换行或控制字符" });
  });

  test.each([
    ["NoSuchOption", "1", "没有这个选项"],
    ["MasterKeyCheck", "1", "没有这个选项"],
    ["ModelRatio", "{broken", "模型倍率不是合法的 JSON 字符串"],
    ["ModelRatio", '{"gpt-4o":NaN}', "模型倍率不是合法的 JSON 字符串"],
    ["ModelRatio", '{"gpt-4o":-1}', "模型倍率里“gpt-4o”的值须为不小于 0 的数字"],
    ["ModelRatio", '{"gpt-4o":1,"o3":1e999}', "模型倍率里“o3”的值须为不小于 0 的数字"],
    ["GroupRatio", '{"default":"1"}', "分组倍率里“default”的值须为不小于 0 的数字"],
    ["CompletionRatio", "[]", "补全倍率不是合法的 JSON 字符串"],
    ["ModelRatio", '{"gpt-4o":1,"o3":1,"\\u0067pt-4o":2}', "模型倍率里“gpt-4o”出现了不止一次"],
    ["GroupRatio", '{"vip":1}', "分组倍率必须包含 default 分组"],
    ["RetryTimes", "-1", "须为不小于 0 的整数"],
    ["RetryTimes", "9007199254740992", "不能大于 9,007,199,254,740,991"],
    ["QuotaForNewUser", "1e300", "不能大于 9,007,199,254,740,991"],
    ["SystemName", "名".repeat(2_001), "最多 2,000 个字符"],
    ["ServerAddress", `https://${"a".repeat(2_000)}.example`, "最多 2,000 个字符"],
    ["Notice", "字".repeat(200_001), "内容过长，最多 200,000 个字符"],
    ["QuotaPerUnit", "0", "须为大于 0 的数字"],
    ["SMTPPort", "70000", "须为 1 到 65535 的端口号"],
    ["ServerAddress", "javascript:alert(1)", "地址须以 http:// 或 https:// 开头"],
    ["ServerAddress", "https://gate .example", "地址里不能有空格或 @"],
    ["ServerAddress", "https://root@gate.example", "地址里不能有空格或 @"],
    ["ServerAddress", "https://", "地址须以 http:// 或 https:// 开头"],
    ["ChatLink", "https://chat.example/a b", "链接里不能有空格"],
    ["QuotaPerUnit", "1e30", "不能大于 9,007,199,254,740,991"],
    ["Logo", "//evil.example/x.png", "链接须以 http(s):// 或 / 开头"],
    ["Theme", "neon", "无效的主题"],
    ["EmailDomainWhitelist", "a.com,,b.com", "邮箱域名白名单不能有空项或重复项"],
    ["EmailDomainWhitelist", "a.com,A.com ", "邮箱域名白名单不能有空项或重复项"],
    ["EmailDomainWhitelist", "a.com,a.com", "邮箱域名白名单不能有空项或重复项"],
    ["GitHubOAuthEnabled", "true", "请先填写“GitHub Client ID”"],
    ["WeChatAuthEnabled", "true", "请先填写“WeChat Server 服务器地址”"],
    ["TurnstileCheckEnabled", "true", "请先填写“服务器地址”"],
    ["EmailVerificationEnabled", "true", "请先填写“SMTP 服务器地址”"],
    ["PasswordLoginEnabled", "false", "至少要保留一种登录方式"],
  ])("%s = %s is refused: %s", async (key, value, message) => {
    const before = await read(key);
    expect(await put(key, value)).toMatchObject({ status: 200, success: false, message });
    expect(await read(key)).toBe(before);
  });

  test("a switch needs its options, and these cannot be emptied while it is on", async () => {
    await put("ServerAddress", "https://gate.example");
    expect((await put("TurnstileCheckEnabled", "true")).message).toBe("请先填写“Turnstile Site Key”");
    await put("TurnstileSiteKey", "site");
    expect((await put("TurnstileCheckEnabled", "true")).message).toBe("请先填写“Turnstile Secret Key”");
    await put("TurnstileSecretKey", "secret");
    expect((await put("TurnstileCheckEnabled", "true")).success).toBe(true);
    for (const key of ["TurnstileSiteKey", "ServerAddress"])
      expect((await put(key, "")).message).toBe("请先关闭“启用 Turnstile 用户校验”");
    await put("TurnstileCheckEnabled", "false");
    expect((await put("TurnstileSiteKey", "")).success).toBe(true);
  });

  test("codes by mail are required only once there is a mail server and a sender", async () => {
    await put("SMTPServer", "127.0.0.1");
    const NO_SENDER = "请先填写“SMTP 发送者邮箱”或“SMTP 账户”";
    expect((await put("EmailVerificationEnabled", "true")).message).toBe(NO_SENDER);
    await put("SMTPAccount", "account@gate.example");
    expect((await put("EmailVerificationEnabled", "true")).success).toBe(true);
    const TURN_OFF = "请先关闭“通过密码注册时需要进行邮箱验证”";
    expect((await put("SMTPServer", "")).message).toBe(TURN_OFF);
    expect((await put("SMTPAccount", " ")).message).toBe(TURN_OFF);
    // Either of the two is a sender.
    await put("SMTPFrom", "noreply@gate.example");
    expect((await put("SMTPAccount", "")).success).toBe(true);
    expect((await put("SMTPFrom", "")).message).toBe(TURN_OFF);
    await put("EmailVerificationEnabled", "false");
    for (const key of ["SMTPFrom", "SMTPServer"]) expect((await put(key, "")).success).toBe(true);
  });

  test("a switch that is on without its options stays on, and may be turned off", async () => {
    await app.ctx.options.set("EmailVerificationEnabled", "true");
    expect(await read("EmailVerificationEnabled")).toBe("true");
    expect((await put("SMTPServer", "127.0.0.1")).success).toBe(true);
    expect((await put("EmailVerificationEnabled", "false")).success).toBe(true);
    await put("SMTPServer", "");
  });

  test("an administrator edits options, except those that could give a super administrator's session", async () => {
    expect((await put("Notice", "hello", admin.who)).success).toBe(true);
    for (const key of [
      "ServerAddress",
      "SMTPServer",
      "WeChatServerAddress",
      "GitHubClientId",
      "GitHubClientSecret",
      "TurnstileSecretKey",
    ]) {
      expect((await put(key, "https://x.example", admin.who)).message).toBe("只有超级管理员可以修改这个选项");
    }
    expect((await app.call(admin.who, "GET", "/api/option/")).success).toBe(true);
  });

  test("a body that is not JSON is the one case of 400", async () => {
    expect(await app.call(asRoot, "PUT", "/api/option/", "{")).toMatchObject({ status: 400, success: false });
    expect(await app.call(asRoot, "POST", "/api/token/", "{")).toMatchObject({ status: 200, success: false });
  });

  test("price tables show every built-in price and store only what differs", async () => {
    const shown = JSON.parse((await read("ModelRatio")) ?? "");
    expect(shown).toEqual({ ...defaultModelRatio });
    await put("ModelRatio", JSON.stringify({ ...shown, "gpt-4o": 99, "house-model": 2 }));
    const after = JSON.parse((await read("ModelRatio")) ?? "");
    expect(after).toMatchObject({ "gpt-4o": 99, "house-model": 2 });
    const stored = await app.ctx.db
      .selectFrom("options")
      .select("value")
      .where("key", "=", "ModelRatio")
      .executeTakeFirst();
    expect(JSON.parse(stored?.value ?? "")).toEqual({ "gpt-4o": 99, "house-model": 2 });
    expect(app.ctx.prices().find("house-model", "house-model", "default")).toBeDefined();
    expect(app.ctx.prices().find("unheard-of", "unheard-of", "default")).toBeUndefined();
    await put("FallbackModelRatio", "1.5");
    expect(app.ctx.prices().find("unheard-of", "unheard-of", "default")).toBeDefined();
  });

  test("groups come from the ratios, default first, then by name", async () => {
    await put("GroupRatio", '{"vip":1,"default":1,"alpha":2}');
    expect((await app.call(admin.who, "GET", "/api/group/")).data).toEqual(["default", "alpha", "vip"]);
  });

  test("another process applies a change within a second", async () => {
    if (database.name === "SQLite") return;
    const url = app.ctx.config.databaseUrl;
    const second = await createTestApp({
      databaseUrl: url,
      env: { MASTER_KEY: Buffer.from(app.ctx.masterKey.bytes).toString() },
    });
    try {
      await put("Notice", "for everybody");
      await expect.poll(() => second.ctx.options.get("Notice"), { timeout: 1000 }).toBe("for everybody");
    } finally {
      await second.close();
    }
  });
});
