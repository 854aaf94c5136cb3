// The models that a provider lists, queried through the management API (issue: the channel form reads the upstream's list).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

const KEY = "sk-canary-upstream-key-0123456789";

describe("the models of an upstream", () => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let admin: SeededUser;

  beforeAll(async () => {
    app = await createTestApp();
    upstream = await createFakeUpstream();
    admin = await seedUser(app.ctx, "admin", { role: 10 });
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });
  beforeEach(() => {
    upstream.journal.length = 0;
  });

  const ask = (body: unknown) => app.call(admin.who, "POST", "/api/channel/upstream_models", body);
  const typed = () => ({ type: 8, key: KEY, base_url: `${upstream.url}/` });

  test("are queried with what the form holds, before the channel is stored", async () => {
    upstream.script(
      json({ object: "list", data: [{ id: "b" }, { id: "a" }, { id: "b" }, { id: "x,y" }, { id: 7 }, null] }),
    );
    expect((await ask(typed())).data).toEqual(["b", "a"]);
    expect(upstream.journal[0]).toMatchObject({ method: "GET", path: "/v1/models" });
    expect(upstream.journal[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    upstream.script(json({ models: [{ name: "models/gemini-x" }, { name: "llama3:8b" }] }));
    expect((await ask(typed())).data).toEqual(["gemini-x", "llama3:8b"]);
  });

  test("are queried with the rules on headers that the form holds", async () => {
    upstream.script(json({ data: [{ id: "a" }] }));
    const value = "Key {{key}}";
    const rule = { id: "r", do: [{ op: "setHeader", name: "Authorization", value }] };
    expect((await ask({ ...typed(), rewrite: { v: 1, rules: [rule] } })).data).toEqual(["a"]);
    expect(upstream.journal[0]?.headers.authorization).toBe(`Key ${KEY}`);
    const barred = { id: "r", do: [{ op: "setHeader", name: "Host", value: "x" }] };
    expect(await ask({ ...typed(), rewrite: { v: 1, rules: [barred] } })).toMatchObject({ success: false });
    expect(upstream.journal).toHaveLength(1);
  });

  test("of a stored channel are queried with its key, at its own address whatever else is sent", async () => {
    const { ctx } = app;
    const id = await seedChannel(ctx.db, {
      type: 8,
      base_url: upstream.url,
      key_hash: ctx.secrets.hash(KEY),
      key_sealed: ctx.secrets.seal(KEY, "channels.key"),
    });
    await ctx.coord.publish("channels", String(id));
    const thief = await createFakeUpstream();
    thief.script(json({ data: [{ id: "stolen" }] }));
    upstream.script(json({ data: [{ id: "own" }] }));
    expect((await ask({ id, type: 8, base_url: thief.url })).data).toEqual(["own"]);
    expect(upstream.journal[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(thief.journal).toEqual([]);
    await thief.close();
    expect((await ask({ id: 99, type: 8 })).message).toBe("找不到该渠道");
  });

  test("are refused in short sentences that hold no word of the provider", async () => {
    upstream.script(json({ error: { message: `no such key ${KEY}` } }, 401));
    expect(await ask(typed())).toMatchObject({
      success: false,
      message: "获取模型列表失败，上游返回状态码 401",
    });
    upstream.script(json({ data: [] }));
    expect((await ask(typed())).message).toBe("上游没有返回模型列表");
    expect((await ask({ ...typed(), base_url: "http://169.254.169.254/" })).success).toBe(false);
    expect((await ask({ type: 8, base_url: upstream.url })).message).toBe("请填写渠道名称和渠道密钥");
    expect((await ask({ ...typed(), type: 9999 })).message).toBe(
      "不支持渠道类型“未知类型 9999”，请选择其他类型",
    );
    expect(upstream.journal).toHaveLength(2);
  });
});
