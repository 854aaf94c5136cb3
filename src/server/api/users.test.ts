import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asGuest, asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("the own account on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  test("shows everything but secrets", async () => {
    const alice = await seedUser(app.ctx, "alice");
    const { data } = await app.call(alice.who, "GET", "/api/user/self");
    expect(data).toMatchObject({
      id: alice.id,
      username: "alice",
      password: "",
      access_token: "",
      email: "alice@example.com",
      quota: 500_000,
      used_quota: 0,
      request_count: 0,
      group: "default",
      inviter_id: 0,
    });
    expect(data).not.toHaveProperty("access_token_hash");
  });

  test("is as it was after an edit that names nothing, by its owner or by an administrator", async () => {
    const { id, who } = await seedUser(app.ctx, "still");
    const read = async () => (await app.call(who, "GET", "/api/user/self")).data;
    const before = await read();
    expect((await app.call(who, "PUT", "/api/user/self", {})).success).toBe(true);
    expect((await app.call(asRoot, "PUT", "/api/user/", { id })).success).toBe(true);
    expect(await read()).toEqual(before);
  });

  test("changes names; empty ones are skipped, taken ones refused", async () => {
    const bob = await seedUser(app.ctx, "bob");
    expect((await app.call(bob.who, "PUT", "/api/user/self", { display_name: "鲍勃" })).success).toBe(true);
    await app.call(bob.who, "PUT", "/api/user/self", { username: "robert", display_name: "" });
    expect((await app.call(bob.who, "GET", "/api/user/self")).data).toMatchObject({
      username: "robert",
      display_name: "鲍勃",
    });
    for (const blank of ["", "  "]) {
      const body = { username: blank, display_name: blank, password: "" };
      expect(await app.call(bob.who, "PUT", "/api/user/self", body)).toMatchObject({ success: true });
    }
    expect((await app.call(bob.who, "GET", "/api/user/self")).data).toMatchObject({
      username: "robert",
      display_name: "鲍勃",
    });
    expect((await app.call(bob.who, "PUT", "/api/user/self", { username: "root" })).message).toBe(
      "用户名已被使用",
    );
    expect((await app.call(bob.who, "PUT", "/api/user/self", { username: "x".repeat(13) })).message).toBe(
      "用户名最多 12 个字符",
    );
  });

  test("fields that only the server sets are ignored", async () => {
    const mallory = await seedUser(app.ctx, "mallory");
    const stolen = {
      display_name: "m",
      id: 1,
      role: 100,
      status: 1,
      quota: 9e9,
      used_quota: 5,
      request_count: 5,
      group: "vip",
      inviter_id: 1,
      aff_code: "ROOT",
      github_id: "1",
      wechat_id: "1",
      access_token: "f".repeat(32),
    };
    expect((await app.call(mallory.who, "PUT", "/api/user/self", stolen)).success).toBe(true);
    expect((await app.call(mallory.who, "GET", "/api/user/self")).data).toMatchObject({
      id: mallory.id,
      role: 1,
      quota: 500_000,
      used_quota: 0,
      group: "default",
      inviter_id: 0,
      github_id: "",
    });
  });

  test("a new password needs the current one, a length, and must not be common", async () => {
    const carol = await seedUser(app.ctx, "carol");
    const change = (body: object) => app.call(carol.who, "PUT", "/api/user/self", body);
    expect((await change({ password: "harbour-lamp-9" })).message).toBe("修改密码需要填写当前密码");
    expect((await change({ password: "harbour-lamp-9", original_password: "wrong" })).message).toBe(
      "当前密码不正确",
    );
    const original_password = seedPassword;
    expect((await change({ password: "short", original_password })).message).toBe("密码长度不得小于 8 位");
    expect((await change({ password: "12345678", original_password })).message).toBe(
      "这个密码太容易被猜到，请换一个",
    );
    expect((await change({ password: "", display_name: "c" })).success).toBe(true);
  });

  test("60 guesses at the current password at once: five are evaluated, and a right one after them is not", async () => {
    const oscar = await seedUser(app.ctx, "oscar");
    const tries = Array.from({ length: 60 }, (_, index) =>
      app.call(oscar.who, "PUT", "/api/user/self", {
        password: "harbour-lamp-9",
        original_password: `guess ${index}`,
      }),
    );
    const answers = await Promise.all(tries);
    expect(answers.filter(({ message }) => message === "当前密码不正确")).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(55);
    const right = { password: "harbour-lamp-9", original_password: seedPassword };
    expect((await app.call(oscar.who, "PUT", "/api/user/self", right)).status).toBe(429);
    // A login is a guess at the same password.
    await expect(app.login("oscar", seedPassword)).rejects.toThrow("login of oscar: ");
    expect((await app.call(oscar.who, "GET", "/api/user/self")).success).toBe(true);
  });

  test("a new password ends the other sessions and the access token, and keeps this session", async () => {
    const dave = await seedUser(app.ctx, "dave");
    const [mine, other] = [await app.login("dave", seedPassword), await app.login("dave", seedPassword)];
    const body = { password: "harbour-lamp-9", original_password: seedPassword };
    expect((await app.call(mine, "PUT", "/api/user/self", body)).success).toBe(true);
    expect((await app.call(mine, "GET", "/api/user/self")).status).toBe(200);
    expect((await app.call(other, "GET", "/api/user/self")).status).toBe(401);
    expect((await app.call(dave.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
    await app.login("dave", "harbour-lamp-9");
    await expect(app.login("dave", seedPassword)).rejects.toThrow("账号或密码不正确");
  });

  test("root's own password change ends the default-password warning", async () => {
    await app.ctx.defaultPassword.check();
    const root = await app.login("root", "123456");
    const body = { password: "harbour-lamp-9", original_password: "123456" };
    expect((await app.call(root, "PUT", "/api/user/self", body)).success).toBe(true);
    await expect
      .poll(async () => (await app.call(asGuest, "GET", "/api/status")).data.default_password)
      .toBe(false);
    expect((await app.call(asRoot, "GET", "/api/user/self")).message).toBe("访问凭证无效");
  });
});
