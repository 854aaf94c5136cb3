// Prices from published lists: compared, published as versions, taken back (requirements X03, X04).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

const LIST = JSON.stringify({
  openai: {
    models: {
      "gpt-4o": { cost: { input: 3, output: 15, cache_read: 0.3 } },
      "o-none": { cost: { input: 1 } },
    },
  },
});

describe.each(databases)("price lists on $name", (database) => {
  let app: TestApp;
  let drop: () => Promise<void>;
  beforeEach(async () => {
    const made = await database.create();
    drop = made.drop;
    app = await createTestApp({ databaseUrl: made.url });
  });
  afterEach(async () => {
    await app.close();
    await drop();
  });

  const post = (path: string, body: unknown) => app.call(asRoot, "POST", `/api/price/${path}`, body);
  const draft = async () => (await post("draft", { text: LIST })).data;
  const tables = () => {
    const { options } = app.ctx;
    return [options.get("ModelRatio"), options.get("CompletionRatio"), options.get("CacheRatio")];
  };

  async function publish(fresh: Record<string, string> = {}, base?: number) {
    const drafted = await draft();
    const [row] = drafted.rows;
    const rows = [{ model: row.model, ...row.fresh, ...fresh }];
    return post("publish", { base: base ?? drafted.base, listed: 2, source: "test", reason: "涨价", rows });
  }

  test("a draft names models of ours alone, and changes nothing", async () => {
    const before = tables();
    const { rows, format, listed, base } = await draft();
    expect({ format, listed, base }).toEqual({ format: "models.dev", listed: 2, base: 0 });
    expect(rows).toMatchObject([
      {
        model: "gpt-4o",
        old: { model_ratio: "1.25" },
        fresh: { model_ratio: "1.5", completion_ratio: "5", cache_ratio: "0.1" },
        change: 20,
        verdict: "fine",
      },
    ]);
    expect(tables()).toEqual(before);
  });

  test("a version is published whole, and taken back", async () => {
    const before = tables();
    const published = await publish();
    expect(published).toMatchObject({ success: true, data: { id: 1, models: 1, can_undo: true, undoes: 0 } });
    expect(tables()).toMatchObject([{ "gpt-4o": 1.5 }, { "gpt-4o": 5 }, { "gpt-4o": 0.1 }]);
    expect((await draft()).rows).toMatchObject([{ verdict: "same" }]);
    expect(await post("version/1/undo", { reason: "看错了" })).toMatchObject({ data: { id: 2, undoes: 1 } });
    expect(tables()).toEqual(before);
    expect(await post("version/1/undo", { reason: "again" })).toMatchObject({ success: false });
    expect(await post("version/2/undo", { reason: "again" })).toMatchObject({ success: false });
    const { data } = await app.call(asRoot, "GET", "/api/price/version");
    expect(data).toMatchObject([
      { id: 2, reason: "看错了", can_undo: false },
      { id: 1, reason: "涨价", can_undo: false },
    ]);
  });

  test("of two who publish over the same version one is refused, and its prices are not there", async () => {
    const answers = await Promise.all([publish({ model_ratio: "2" }, 0), publish({ model_ratio: "3" }, 0)]);
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    const refused = answers.find(({ success }) => !success);
    expect(refused?.message).toContain("请重新比较");
    const ratio = answers[0]?.success ? 2 : 3;
    expect(app.ctx.options.get("ModelRatio")).toMatchObject({ "gpt-4o": ratio });
  });

  test("a version that leaves output and cache to the built-in rows is taken back as well", async () => {
    const before = tables();
    await publish({ model_ratio: "9", completion_ratio: "", cache_ratio: "" });
    expect(await post("version/1/undo", { reason: "退回" })).toMatchObject({ data: { id: 2, undoes: 1 } });
    expect(tables()).toEqual(before);
  });

  test("what was edited since stays when the version is taken back", async () => {
    await publish();
    await app.ctx.options.set("ModelRatio", '{"gpt-4o":7}');
    expect(await post("version/1/undo", { reason: "退回" })).toMatchObject({ success: false });
    expect(app.ctx.options.get("ModelRatio")).toEqual({ "gpt-4o": 7 });
  });

  test("administrators may read versions, and no more", async () => {
    const admin = await seedUser(app.ctx, "admin", { role: 10 });
    expect(await app.call(admin.who, "GET", "/api/price/version")).toMatchObject({ success: true, data: [] });
    expect(await app.call(admin.who, "POST", "/api/price/draft", { text: LIST })).toMatchObject({
      success: false,
    });
  });
});

describe("the address of a list", () => {
  test("is fetched, and one that the server may not call is refused", async () => {
    const server = createServer((_req, res) => res.end(LIST));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    // A server that listens has one.
    const { port } = server.address() as AddressInfo;
    const app = await createTestApp({ env: { EGRESS_ALLOW: `127.0.0.1:${port}` } });
    onTestFinished(() => app.close());
    const ask = (address: string) => app.call(asRoot, "POST", "/api/price/draft", { address });
    expect(await ask(`http://127.0.0.1:${port}/api.json`)).toMatchObject({ data: { format: "models.dev" } });
    expect(await ask("http://127.0.0.1:1/")).toMatchObject({ success: false });
    expect(await ask("http://169.254.169.254/")).toMatchObject({ success: false });
    expect(await ask("file:///etc/passwd")).toMatchObject({ success: false });
  });
});
