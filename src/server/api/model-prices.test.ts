// Models and their prices, a row each: what a page shows, and a row that is saved as a version (requirements X07, X08).
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelPriceRow } from "#contract/model-price.ts";
import { publishList } from "#test/seeds/price-recipes.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const NONE = {
  model_ratio: "",
  completion_ratio: "",
  cache_ratio: "",
  cache_write_ratio: "",
  audio_ratio: "",
  audio_completion_ratio: "",
  image_ratio: "",
  image_completion_ratio: "",
};

describe.each(databases)("models and their prices on $name", (database) => {
  let app: TestApp;
  beforeEach(async () => {
    app = await createAppOn(database);
    const channel = { type: 1, key: "sk-1", group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", {
      ...channel,
      name: "上游",
      models: "gpt-4o,gpt-5.4,house-llm,house-alias,gpt-5-high",
      model_mapping: '{"house-alias":"gpt-4o-mini"}',
    });
    await app.ctx.candidates.reload();
  });
  afterEach(() => app.close());

  const list = (query: string) => app.call(asRoot, "GET", `/api/price/model?size=100&${query}`);
  const find = async (model: string): Promise<ModelPriceRow> =>
    (await app.call(asRoot, "GET", `/api/price/model/one?model=${encodeURIComponent(model)}`)).data;
  const save = (body: object) => app.call(asRoot, "PUT", "/api/price/model", { mark: "", ...body });
  const chargeOf = (model: string, promptTokens: number) => {
    const price = app.ctx.prices().find(model, model, "default");
    const tier = price?.tiers.find(({ above }) => promptTokens > above)?.price ?? price;
    return tier?.modelRatio;
  };

  test("say where a price comes from, who offers the model, and which have none", async () => {
    const { data, total, unpriced } = await list("view=served");
    expect({ total, unpriced }).toEqual({ total: 5, unpriced: 1 });
    const facts = (data as ModelPriceRow[]).map(({ model, source, price_of, channel_names, money }) => [
      model,
      source,
      price_of,
      channel_names.join(),
      money?.input ?? "",
    ]);
    expect(facts).toEqual([
      ["gpt-4o", "built_in", "", "上游", "2.5"],
      ["gpt-5-high", "name", "gpt-5", "上游", "1.25"],
      ["gpt-5.4", "built_in", "", "上游", "2.5"],
      ["house-alias", "name", "gpt-4o-mini", "上游", "0.15"],
      ["house-llm", "none", "", "上游", ""],
    ]);
    expect((await list("view=unpriced")).data).toMatchObject([{ model: "house-llm" }]);
    expect((await list("keyword=GPT-4o%20openai&view=served")).data).toMatchObject([{ model: "gpt-4o" }]);
    const second = await app.call(asRoot, "GET", "/api/price/model?p=1&size=2&view=served");
    expect(second).toMatchObject({
      total: 5,
      data: [
        { model: "gpt-5.4", id: 3 },
        { model: "house-alias", id: 4 },
      ],
    });
  });

  test("a row is saved as a version that calls are charged by, and taken back", async () => {
    const before = await find("gpt-4o");
    const ratios = { ...before.ratios, model_ratio: "1.5", completion_ratio: "3.333333333333" };
    const saved = await save({
      model: "gpt-4o",
      mark: before.mark,
      ratios,
      reason: "涨价",
      last_day: "2027-01-31",
    });
    expect(saved).toMatchObject({
      success: true,
      data: { source: "option", version: 1, is_changed: true, last_day: "2027-01-31" },
    });
    expect(saved.data.money).toMatchObject({ input: "3", output: "10" });
    expect(chargeOf("gpt-4o", 1)).toBe("1.5");
    expect(app.ctx.options.get("ModelRatio")).toEqual({ "gpt-4o": 1.5 });
    const { data: versions } = await app.call(asRoot, "GET", "/api/price/version");
    expect(versions).toMatchObject([{ id: 1, reason: "涨价", models: 1, can_undo: true }]);
    const { data: acts } = await app.call(asRoot, "GET", "/api/audit/?size=10");
    expect(acts.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(["price.publish", "option.update"]),
    );
    await app.call(asRoot, "POST", "/api/price/version/1/undo", { reason: "看错了" });
    expect(await find("gpt-4o")).toMatchObject({
      ratios: before.ratios,
      source: "built_in",
      is_changed: false,
    });
  });

  test("a change over a row that was changed meanwhile is refused", async () => {
    const { mark, ratios } = await find("gpt-4o");
    await save({ model: "gpt-4o", mark, ratios: { ...ratios, model_ratio: "2" } });
    const late = await save({ model: "gpt-4o", mark, ratios: { ...ratios, model_ratio: "3" } });
    expect(late).toMatchObject({ success: false, message: expect.stringContaining("刚被修改过") });
    expect(chargeOf("gpt-4o", 1)).toBe("2");
    // Another model's change is none of this row.
    const { mark: other } = await find("house-llm");
    expect(
      await save({ model: "house-llm", mark: other, ratios: { ...NONE, model_ratio: "1" } }),
    ).toMatchObject({
      data: { source: "option", version: 2 },
    });
  });

  test("a tier follows its model until it has a price of its own, also the one that is built in", async () => {
    const { ratios, tiers } = await find("gpt-5.4");
    expect(tiers).toMatchObject([{ above: 272_000, model_ratio: "2.5", own: false }]);
    const dearer = { ...ratios, model_ratio: "2.5" };
    await save({ model: "gpt-5.4", ratios: dearer });
    expect(chargeOf("gpt-5.4", 300_000)).toBe("5");
    const [tier] = tiers;
    const own = {
      above: 272_000,
      model_ratio: "2.5",
      completion_ratio: "3",
      cache_ratio: "",
      cache_write_ratio: "",
    };
    expect(tier?.model_ratio).toBe(own.model_ratio);
    await save({ model: "gpt-5.4", ratios: dearer, tiers: [own] });
    expect(chargeOf("gpt-5.4", 300_000)).toBe("2.5");
    // A change of another model leaves it.
    await save({ model: "gpt-4o", ratios: { ...NONE, model_ratio: "2" } });
    expect(chargeOf("gpt-5.4", 300_000)).toBe("2.5");
    await save({ model: "gpt-5.4", ratios: dearer });
    expect(chargeOf("gpt-5.4", 300_000)).toBe("5");
    await save({ model: "gpt-5.4", ratios: null });
    expect(await find("gpt-5.4")).toMatchObject({ ratios, tiers, is_changed: false });
  });

  test("what a list published is told apart from what was written by hand", async () => {
    await publishList(app, { "gpt-4o": { input: 3, output: 10, cache_read: 1.25 } });
    expect(await find("gpt-4o")).toMatchObject({ source: "list", version: 1 });
    await app.ctx.options.set("ModelRatio", '{"gpt-4o":7}');
    expect(await find("gpt-4o")).toMatchObject({ source: "option", version: 0, money: { input: "14" } });
  });

  test.each([
    ["no input price", { ratios: NONE }, "输入价格"],
    ["a price beyond reason", { ratios: { ...NONE, model_ratio: "5001" } }, "10,000"],
    ["a ratio that is none", { ratios: { ...NONE, model_ratio: "-1" } }, "十二位小数"],
    ["a day that is none", { ratios: { ...NONE, model_ratio: "1" }, last_day: "2026-02-31" }, "日期"],
    [
      "one tier twice",
      {
        ratios: { ...NONE, model_ratio: "1" },
        tiers: [9, 9].map((above) => ({
          above,
          model_ratio: "1",
          completion_ratio: "",
          cache_ratio: "",
          cache_write_ratio: "",
        })),
      },
      "两次",
    ],
  ])("%s is refused, and nothing is written", async (_name, body, message) => {
    const answer = await save({ model: "gpt-4o", ...body });
    expect(answer).toMatchObject({ success: false, message: expect.stringContaining(message) });
    expect(app.ctx.options.get("ModelRatio")).toEqual({});
    expect((await app.call(asRoot, "GET", "/api/price/version")).data).toEqual([]);
  });

  test("administrators of the sets that may change options save rows; those that may only read do not", async () => {
    const admin = await seedUser(app.ctx, "admin", { role: 10 });
    const body = { model: "gpt-4o", mark: "", ratios: { ...NONE, model_ratio: "2" } };
    expect(await app.call(admin.who, "PUT", "/api/price/model", body)).toMatchObject({ success: true });
    const user = await seedUser(app.ctx, "reader", { role: 1 });
    expect(await app.call(user.who, "GET", "/api/price/model")).toMatchObject({ success: false });
  });
});
