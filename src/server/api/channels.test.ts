import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const plain = {
  type: 1,
  name: "main",
  key: "sk-upstream-1234567890",
  models: "gpt-4o-mini,gpt-4o",
  group: "default",
};

describe.each(databases)("channels on $name", (database) => {
  let app: TestApp;
  let admin: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database);
    admin = await seedUser(app.ctx, "admin", { role: 10 });
  });
  afterAll(() => app.close());

  const create = (body: object) => app.call(admin.who, "POST", "/api/channel/", body);
  const update = (body: object) => app.call(admin.who, "PUT", "/api/channel/", body);
  const newest = async () => (await app.call(admin.who, "GET", "/api/channel/?size=1")).data[0];

  test("a channel is stored with the server's defaults and without showing its key", async () => {
    expect(await create({ ...plain, base_url: "https://api.example.com///" })).toMatchObject({
      success: true,
      data: 1,
    });
    const row = await newest();
    expect(row).toMatchObject({
      type: 1,
      key: "",
      status: 1,
      name: "main",
      models: "gpt-4o-mini,gpt-4o",
      group: "default",
      base_url: "https://api.example.com",
      weight: 0,
      priority: 0,
      response_time: 0,
      balance: 0,
    });
    expect((await app.call(admin.who, "GET", `/api/channel/${row.id}`)).data).toEqual(row);
    const stored = await app.ctx.db.selectFrom("channels").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(plain.key);
  });

  test("an edit that names nothing leaves the channel as it is", async () => {
    await create(plain);
    const row = await newest();
    expect((await update({ id: row.id })).data).toEqual(row);
  });

  test("one key per line makes one channel per line, and says how many", async () => {
    const before = (await app.call(admin.who, "GET", "/api/channel/")).total;
    const answer = await create({ ...plain, name: "batch", key: "sk-a1\n  sk-b2  \r\n\n sk-c3 \n" });
    expect(answer).toMatchObject({ success: true, data: 3 });
    expect((await app.call(admin.who, "GET", "/api/channel/")).total).toBe(before + 3);
    expect((await app.call(admin.who, "GET", "/api/channel/search?keyword=sk-b2")).data).toMatchObject([
      { name: "batch" },
    ]);
  });

  test("one bad line refuses the whole batch", async () => {
    const before = (await app.call(admin.who, "GET", "/api/channel/")).total;
    const answer = await create({ ...plain, type: 18, key: "id|secret|key\nonly|two" });
    expect(answer.message).toBe("第 2 个密钥有误：密钥格式应为 APPID|APISecret|APIKey");
    expect((await app.call(admin.who, "GET", "/api/channel/")).total).toBe(before);
  });

  test.each([
    [{ type: 15, key: "id|secret|more" }, "密钥格式应为 APIKey|SecretKey"],
    [{ type: 23, key: "id|key" }, "密钥格式应为 AppId|SecretId|SecretKey"],
    [{ key: "sk-中文" }, "密钥含有不能用于请求头的字符，请检查是否粘贴完整"],
  ])(
    "refuses the wrong form of a key (%j) when it is saved and when it is changed",
    async (change, message) => {
      expect(await create({ ...plain, ...change })).toMatchObject({ success: false, message });
      await create({ ...plain, name: "to be edited" });
      const { id } = await newest();
      expect(await update({ id, ...change })).toMatchObject({ success: false, message });
    },
  );

  test.each([
    [{ name: "" }, "请填写渠道名称和渠道密钥"],
    [{ key: "" }, "请填写渠道名称和渠道密钥"],
    [{ key: " \n " }, "请填写渠道名称和渠道密钥"],
    [{ models: "" }, "请至少选择一个模型"],
    [{ models: " , " }, "请至少选择一个模型"],
    [{ group: "" }, "请至少选择一个分组"],
    [{ model_mapping: "{not json" }, "模型映射必须是合法的 JSON 格式"],
    [{ model_mapping: '{"a":1}' }, "模型映射必须是合法的 JSON 格式"],
    [{ model_mapping: '{"a":"b","c":"a","\\u0061" : "d"}' }, "模型映射里“a”出现了不止一次"],
    [{ config: "{not json" }, "配置必须是合法的 JSON 格式"],
    [{ type: 999 }, "不支持渠道类型“未知类型 999”，请选择其他类型"],
    [{ type: 3 }, "请填写 Base URL"],
    [{ base_url: "ftp://example.com" }, "Base URL 须以 http:// 或 https:// 开头"],
    [{ base_url: "http://169.254.169.254/latest" }, "不允许访问该地址"],
    [
      { base_url: "http://192.168.1.10:8000" },
      "不允许访问内网地址，如有需要请在环境变量 EGRESS_ALLOW 中放行",
    ],
    [{ weight: -1 }, "请求参数有误"],
  ])("refuses %j with %s", async (change, message) => {
    expect(await create({ ...plain, ...change })).toMatchObject({ status: 200, success: false, message });
  });

  test("a service account's file of many lines is one key, and its private key must be one", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    const account = {
      type: "service_account",
      project_id: "p",
      client_email: "robot@p.example",
      private_key: pem,
    };
    const vertex = { ...plain, type: 42, name: "vertex", models: "gemini-2.5-flash" };
    const key = JSON.stringify(account, null, 2);
    expect(await create({ ...vertex, key })).toMatchObject({ data: 1 });
    const { id } = await newest();
    expect((await update({ id, key: `${key}\n` })).success).toBe(true);
    const wrong = JSON.stringify({ ...account, private_key: "-----BEGIN" }, null, 2);
    expect((await create({ ...vertex, key: wrong })).message).toContain("服务账号的 JSON 密钥文件");
    expect((await update({ id, key: wrong })).message).toContain("服务账号的 JSON 密钥文件");
  });

  test("a local model server needs neither key nor address", async () => {
    expect(await create({ ...plain, type: 30, name: "local", key: "", models: "llama3.3" })).toMatchObject({
      data: 1,
    });
  });

  test("an edit applies every field that is present, also empty ones, and keeps the key when it is blank", async () => {
    await create({ ...plain, name: "editable", base_url: "https://a.example", other: "x", priority: 5 });
    const { id } = await newest();
    const { data } = await update({
      id,
      key: "",
      base_url: "",
      other: "",
      priority: 0,
      weight: 3,
      models: "gpt-4o",
    });
    expect(data).toMatchObject({
      key: "",
      base_url: "",
      other: "",
      priority: 0,
      weight: 3,
      models: "gpt-4o",
      name: "editable",
    });
    expect(
      (await app.call(admin.who, "GET", `/api/channel/search?keyword=${plain.key}`)).data.map(
        (row: { id: number }) => row.id,
      ),
    ).toContain(id);
    await update({ id, key: "sk-new-key-0987654321" });
    expect(
      (await app.call(admin.who, "GET", "/api/channel/search?keyword=sk-new-key-0987654321")).data,
    ).toMatchObject([{ id }]);
    expect(
      (await app.call(admin.who, "GET", `/api/channel/search?keyword=${plain.key.slice(0, 10)}`)).data,
    ).toEqual([]);
  });

  test("disabling and enabling works by status alone and takes effect at once", async () => {
    await create({ ...plain, name: "switch", models: "only-here" });
    const { id } = await newest();
    expect(app.ctx.candidates.find("default", "only-here")).toHaveLength(1);
    expect((await update({ id, status: 2 })).data.status).toBe(2);
    expect(app.ctx.candidates.find("default", "only-here")).toHaveLength(0);
    expect((await update({ id, status: 1 })).data.status).toBe(1);
    expect(app.ctx.candidates.find("default", "only-here")).toHaveLength(1);
    expect((await app.call(admin.who, "DELETE", `/api/channel/${id}/`)).success).toBe(true);
    expect(app.ctx.candidates.find("default", "only-here")).toHaveLength(0);
    expect((await app.call(admin.who, "GET", `/api/channel/${id}`)).message).toBe("找不到该渠道");
    expect((await update({ id, status: 1 })).message).toBe("找不到该渠道");
  });

  test("fields that only the server sets are ignored", async () => {
    await create({ ...plain, name: "mass", used_quota: 5, balance: 9, created_time: 1, response_time: 1 });
    expect(await newest()).toMatchObject({ used_quota: 0, balance: 0, response_time: 0 });
  });

  test("search goes by id and by the begin of the name", async () => {
    await create({ ...plain, name: "Zebra 100%" });
    const { id } = await newest();
    const search = async (keyword: string) =>
      (
        await app.call(admin.who, "GET", `/api/channel/search?keyword=${encodeURIComponent(keyword)}`)
      ).data.map((row: { id: number }) => row.id);
    expect(await search(String(id))).toContain(id);
    expect(await search("zebra 1")).toEqual([id]);
    expect(await search("ebra")).toEqual([]);
    expect(await search("%")).toEqual([]);
  });

  test("the built-in models come in OpenAI's shape with the envelope around them", async () => {
    const answer = await app.call(admin.who, "GET", "/api/channel/models");
    expect(answer).toMatchObject({ success: true, message: "", object: "list" });
    expect(answer.data.length).toBeGreaterThan(100);
    expect(answer.data[0]).toMatchObject({ object: "model", created: 1626777600, parent: null });
    const ids = answer.data.map((model: { id: string }) => model.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("a test of a channel that does not answer says so in a sentence, and is logged", async () => {
    await create({ ...plain, name: "dead", base_url: "http://127.0.0.1:9" });
    const { id } = await newest();
    const answer = await app.call(admin.who, "GET", `/api/channel/test/${id}/`);
    expect(answer).toMatchObject({ status: 200, success: false });
    expect(answer.message).not.toBe("");
    const logs = await app.call(asRoot, "GET", `/api/log/?type=5&channel=${id}`);
    expect(logs.data).toMatchObject([{ channel: id, channel_name: "dead", username: "admin" }]);
  });
});
