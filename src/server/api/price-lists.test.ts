// Versions of the prices: published whole from an approved draft, taken back (requirements X03, X04).
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { publishList } from "#test/seeds/price-recipes.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const GPT_4O = { "gpt-4o": { input: 3, output: 15, cache_read: 0.3 } };

describe.each(databases)("versions of prices on $name", (database) => {
  let app: TestApp;
  beforeEach(async () => {
    app = await createAppOn(database);
  });
  afterEach(() => app.close());

  const undo = (id: number, reason = "看错了") =>
    app.call(asRoot, "POST", `/api/price/version/${id}/undo`, { reason });
  const tables = () => {
    const { options } = app.ctx;
    return [
      options.get("ModelRatio"),
      options.get("CompletionRatio"),
      options.get("CacheRatio"),
      options.get("ModelLastDays"),
    ];
  };

  test("a version is published whole, and taken back", async () => {
    const before = tables();
    expect(await publishList(app, GPT_4O)).toMatchObject({
      success: true,
      data: { id: 1, models: 1, can_undo: true, undoes: 0, source: "models.dev", reason: "厂商调价" },
    });
    expect(tables()).toMatchObject([{ "gpt-4o": 1.5 }, { "gpt-4o": 5 }, { "gpt-4o": 0.1 }, {}]);
    expect(await undo(1)).toMatchObject({ data: { id: 2, undoes: 1 } });
    expect(tables()).toEqual(before);
    expect(await undo(1)).toMatchObject({ success: false });
    expect(await undo(2)).toMatchObject({ success: false });
    const { data } = await app.call(asRoot, "GET", "/api/price/version");
    expect(data).toMatchObject([
      { id: 2, reason: "看错了", can_undo: false },
      { id: 1, reason: "厂商调价", can_undo: false },
    ]);
  });

  test("what was edited since stays when the version is taken back", async () => {
    await publishList(app, GPT_4O);
    await app.ctx.options.set("ModelRatio", '{"gpt-4o":7}');
    expect(await undo(1)).toMatchObject({ success: false });
    expect(app.ctx.options.get("ModelRatio")).toEqual({ "gpt-4o": 7 });
  });

  test("a last day that was edited since stays, and the price beside it is taken back", async () => {
    const before = tables();
    const text = JSON.stringify({
      "gpt-4o": {
        litellm_provider: "openai",
        input_cost_per_token: 3e-6,
        output_cost_per_token: 1e-5,
        deprecation_date: "2999-03-01",
      },
    });
    const { data: draft } = await app.call(asRoot, "POST", "/api/price/draft", { text });
    const { id, revision } = draft;
    const choices = { "gpt-4o": "confirmed" };
    const body = { revision, choices, reason: "停用", is_checked: true };
    await app.call(asRoot, "POST", `/api/price/draft/${id}/approve`, body);
    await app.call(asRoot, "POST", `/api/price/draft/${id}/publish`, { revision: revision + 1 });
    expect(app.ctx.options.get("ModelLastDays")).toEqual({ "gpt-4o": "2999-03-01" });
    await app.ctx.options.set("ModelLastDays", '{"gpt-4o":"2999-04-01"}');
    expect(await undo(1)).toMatchObject({ success: true });
    expect(tables()).toEqual([...before.slice(0, 3), { "gpt-4o": "2999-04-01" }]);
  });

  test("administrators may read versions, and take none back", async () => {
    const admin = await seedUser(app.ctx, "admin", { role: 10 });
    expect(await app.call(admin.who, "GET", "/api/price/version")).toMatchObject({ success: true, data: [] });
    await publishList(app, GPT_4O);
    const path = "/api/price/version/1/undo";
    expect(await app.call(admin.who, "POST", path, { reason: "x" })).toMatchObject({ success: false });
  });
});
