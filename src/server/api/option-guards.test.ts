import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { updateUserProfile } from "#server/store/users.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("guards on options on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const put = (key: string, value: string) => app.call(asRoot, "PUT", "/api/option/", { key, value });

  test("password login stays on while no super administrator could log in otherwise", async () => {
    expect((await put("PasswordLoginEnabled", "false")).message).toBe("至少要保留一种登录方式");
    await put("GitHubClientId", "id");
    await put("GitHubClientSecret", "secret");
    expect((await put("GitHubOAuthEnabled", "true")).success).toBe(true);
    const LOCKED_OUT = "关闭后将没有超级管理员能够登录：请先用密码登录，并为超级管理员账号绑定 GitHub 或微信";
    expect((await put("PasswordLoginEnabled", "false")).message).toBe(LOCKED_OUT);
    // An identity that was bound, but not chosen as a login.
    await updateUserProfile(app.ctx.db, 1, { github_id: "583231" });
    expect((await put("PasswordLoginEnabled", "false")).message).toBe(LOCKED_OUT);
    await updateUserProfile(app.ctx.db, 1, { external_login: 1 });
    expect((await put("PasswordLoginEnabled", "false")).success).toBe(true);
    const login = await app.call({}, "POST", "/api/user/login", { username: "root", password: "123456" });
    expect(login.message).toBe("当前未开放密码登录");
    // Now GitHub is the last login.
    expect((await put("GitHubOAuthEnabled", "false")).message).toBe("至少要保留一种登录方式");
    expect((await put("PasswordLoginEnabled", "true")).success).toBe(true);
    expect((await put("GitHubOAuthEnabled", "false")).success).toBe(true);
  });

  test.each([
    ["WeChatServerAddress", "http://169.254.169.254"],
    ["WeChatServerAddress", "http://10.0.0.1:8080"],
    ["WeChatServerAddress", "http://[::ffff:169.254.169.254]/"],
    ["WeChatServerAddress", "http://metadata.google.internal"],
    ["MessagePusherAddress", "http://192.168.1.1/push"],
    ["MessagePusherAddress", "http://0x7f000001.example@10.0.0.1/"],
    ["SMTPServer", "169.254.169.254"],
    ["SMTPServer", "10.0.0.1"],
    ["SMTPServer", "::ffff:10.0.0.1"],
    ["SMTPServer", "mail.example:25/x"],
    ["SMTPServer", "user@mail.example"],
  ])("%s refuses a private address: %s", async (key, value) => {
    const before = app.ctx.options.get(key as never);
    expect(await put(key, value)).toMatchObject({ status: 200, success: false });
    expect(app.ctx.options.get(key as never)).toBe(before);
  });

  test("but a public address is accepted, and one that the operator allows", async () => {
    expect((await put("SMTPServer", "smtp.example.com")).success).toBe(true);
    expect((await put("SMTPServer", "127.0.0.1")).success).toBe(true);
    expect((await put("WeChatServerAddress", "http://127.0.0.1:9000/")).success).toBe(true);
    expect((await put("MessagePusherAddress", "https://push.example.com/push")).success).toBe(true);
  });

  test("a mail server at another host does not get the password of the former one", async () => {
    await put("SMTPToken", "canary");
    await put("SMTPServer", "127.0.0.1");
    expect(app.ctx.options.get("SMTPToken")).toBe("canary");
    await put("SMTPServer", "smtp.example.org");
    expect(app.ctx.options.get("SMTPToken")).toBe("");
  });
});
