import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { startWeChat, type WeChatEmulator } from "#test/emulators/service-emulators.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { signInNew } from "#test/worlds/mail-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

describe.each(databases)("logins through WeChat on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let wechat: WeChatEmulator;
  let elsewhere: HttpEmulator;

  beforeAll(async () => {
    wechat = await startWeChat(clock.now);
    elsewhere = await startHttpEmulator(() => ({ status: 500, json: { message: "internal-canary" } }));
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
    await set("WeChatServerAddress", wechat.url);
    await set("WeChatServerToken", wechat.token);
    await set("WeChatAuthEnabled", "true");
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([wechat.close(), elsewhere.close()]);
  });
  afterEach(async () => {
    await set("WeChatAuthEnabled", "true");
    await set("RegisterEnabled", "true");
    clock.advance(3_600_000);
  });

  const set = (key: string, value: string) => app.ctx.options.set(key as never, value);
  const self = async (who: Visitor) => (await who.call("GET", "/api/user/self")).data;

  const login = (who: Visitor, code: string) =>
    who.call("GET", `/api/oauth/wechat?code=${encodeURIComponent(code)}`);
  const bind = (who: Visitor, code: string) =>
    who.call("GET", `/api/oauth/wechat/bind?code=${encodeURIComponent(code)}`);
  const WRONG = { status: 200, success: false, message: "验证码无效或已过期" };

  test("makes an account, finds it again, and binds", async () => {
    const who = visit(app);
    const answer = await login(who, wechat.tell("wx-one"));
    expect(answer).toMatchObject({ success: true, data: { display_name: "WeChat User", role: 1 } });
    expect(answer.data.username).toMatch(/^wechat_[2-9a-z]{5}$/);
    expect((await self(who)).wechat_id).toBe("wx-one");
    expect((await login(visit(app), wechat.tell("wx-one"))).data.id).toBe(answer.data.id);

    const binder = await signInNew(app, "wxbinder");
    expect(await bind(binder, wechat.tell("wx-two"))).toMatchObject({
      success: true,
      message: "",
      data: null,
    });
    expect((await login(visit(app), wechat.tell("wx-two"))).data.username).toBe("wxbinder");
    expect((await bind(binder, wechat.tell("wx-one"))).message).toBe("该第三方账号已绑定其他用户");
    expect((await bind(visit(app), wechat.tell("wx-three"))).status).toBe(401);
  });

  test("a code works once and for three minutes, and is one parameter whatever its characters", async () => {
    const code = wechat.tell("wx-once");
    expect((await login(visit(app), code)).success).toBe(true);
    expect(await login(visit(app), code)).toMatchObject(WRONG);
    const old = wechat.tell("wx-old");
    clock.advance(181_000);
    expect(await login(visit(app), old)).toMatchObject(WRONG);
    expect(await login(visit(app), "1&x=2")).toMatchObject(WRONG);
    expect(wechat.heard.at(-1)?.search).toBe("?code=1%26x%3D2");
    expect(wechat.heard.at(-1)?.headers.authorization).toBe(wechat.token);
    expect((await login(visit(app), "")).message).toBe("请输入验证码");
  });

  test("the same code at once binds one of 50", async () => {
    const people = await Promise.all(Array.from({ length: 50 }, (_, index) => signInNew(app, `wx${index}`)));
    const codes = people.map(() => wechat.tell("wx-many"));
    const answers = await Promise.all(people.map((who, index) => bind(who, codes[index] ?? "")));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    // A database that is too busy for some of them says so.
    const refused = answers.filter(({ success, status }) => !success && status !== 503);
    expect(new Set(refused.map(({ message }) => message))).toEqual(new Set(["该第三方账号已绑定其他用户"]));
  });

  test("the 31st wrong code of a minute is refused, each from another address, and a later one is accepted", async () => {
    const answers = [];
    for (let index = 0; index < 31; index += 1) answers.push(await login(visit(app), `9${index}`));
    expect(answers.slice(0, 30).every(({ status }) => status === 200)).toBe(true);
    expect(answers[30]?.status).toBe(429);
    const heard = wechat.heard.length;
    expect((await login(visit(app), "912")).status).toBe(429);
    expect(wechat.heard.length).toBe(heard);
    clock.advance(60_000);
    expect((await login(visit(app), wechat.tell("wx-later"))).success).toBe(true);
  });

  test("300 wrong codes at once: 30 reach the WeChat server; 60 right ones all succeed", async () => {
    const before = wechat.heard.length;
    const guesses = Array.from({ length: 300 }, (_, index) => login(visit(app), `8${index}`));
    const answers = await Promise.all(guesses);
    expect(wechat.heard.length - before).toBe(30);
    expect(answers.filter(({ message }) => message === WRONG.message)).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(270);
    clock.advance(60_000);
    const codes = Array.from({ length: 60 }, () => wechat.tell("wx-crowd"));
    const crowd = await Promise.all(codes.map((code) => login(visit(app), code)));
    expect(crowd.every(({ success }) => success)).toBe(true);
  });

  test("obeys its switches", async () => {
    await set("RegisterEnabled", "false");
    expect((await login(visit(app), wechat.tell("wx-new"))).message).toBe("当前未开放注册");
    await set("WeChatAuthEnabled", "false");
    expect((await login(visit(app), wechat.tell("wx-new"))).message).toBe("管理员未启用该登录方式");
  });

  test("never repeats what the WeChat server says", async () => {
    await set("WeChatServerToken", "wrong");
    expect(await login(visit(app), wechat.tell("wx-any"))).toMatchObject(WRONG);
    await set("WeChatServerToken", wechat.token);
    await set("WeChatServerAddress", elsewhere.url);
    const answer = await login(visit(app), "123");
    expect(answer).toMatchObject({ success: false, message: "微信服务暂时不可用，请稍后再试", data: null });
    await set("WeChatServerAddress", wechat.url);
  });
});
