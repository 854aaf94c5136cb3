// Drafts of prices: compared and kept, chosen, approved, published apart from that, or discarded (requirements X02, X03, X14).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { PriceDraft } from "#contract/price-draft.ts";
import { approveDraft, draftList, priceListOf, publishList } from "#test/seeds/price-recipes.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

/** $2.5, $10 and $1.25 are built in. */
const GPT_4O = { input: 2.75, output: 11, cache_read: 1.25 };
const DEAR = { input: 5, output: 20, cache_read: 1.25 };

describe.each(databases)("drafts of prices on $name", (database) => {
  let app: TestApp;
  beforeEach(async () => {
    app = await createAppOn(database);
  });
  afterEach(() => app.close());

  const post = (path: string, body: unknown) => app.call(asRoot, "POST", `/api/price/draft/${path}`, body);
  const approve = (draft: PriceDraft, choices: object, more: object = {}) =>
    post(`${draft.id}/approve`, {
      revision: draft.revision,
      choices,
      reason: "厂商调价",
      is_checked: true,
      ...more,
    });
  /** One of a single price, with the revision that may be published. */
  async function approved(): Promise<{ id: number; revision: number }> {
    const draft = await draftList(app, { "gpt-4o": GPT_4O });
    const { data } = await approve(draft, { "gpt-4o": "chosen" });
    return { id: draft.id, revision: data.revision };
  }
  const publish = (id: number, revision: number) => post(`${id}/publish`, { revision });
  const find = async (id: number): Promise<PriceDraft> =>
    (await app.call(asRoot, "GET", `/api/price/draft/${id}`)).data;
  const ratio = (model = "gpt-4o") => app.ctx.options.get("ModelRatio")[model];

  test("a draft names models of ours alone, is kept, and changes nothing", async () => {
    const draft = await draftList(app, { "gpt-4o": GPT_4O, "o-none": { input: 1 } });
    expect(draft).toMatchObject({
      format: "models.dev",
      source: "models.dev",
      listed: 2,
      changed: 1,
      state: "open",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      choices: { "gpt-4o": "chosen" },
      rows: [
        {
          model: "gpt-4o",
          old: { model_ratio: "1.25" },
          fresh: { model_ratio: "1.375", completion_ratio: "4", cache_ratio: "0.454545" },
          change: 10,
          verdict: "fine",
        },
      ],
    });
    expect(ratio()).toBeUndefined();
    expect(await find(draft.id)).toEqual(draft);
    const { data } = await app.call(asRoot, "GET", "/api/price/draft");
    const { rows: _rows, choices: _choices, ...head } = draft;
    expect(data).toEqual([head]);
  });

  test("approving changes no price; publishing is a step of its own, and none without the other", async () => {
    const draft = await draftList(app, { "gpt-4o": GPT_4O });
    expect(await publish(draft.id, draft.revision)).toMatchObject({
      success: false,
      message: expect.stringContaining("已批准"),
    });
    const { data: approved } = await approve(draft, { "gpt-4o": "chosen" });
    expect(approved).toMatchObject({ state: "approved", decided_by: "root", reason: "厂商调价" });
    expect(ratio()).toBeUndefined();
    expect(await publish(draft.id, approved.revision)).toMatchObject({ data: { id: 1, models: 1 } });
    expect(ratio()).toBe(1.375);
    expect(await find(draft.id)).toMatchObject({ state: "published", version: 1 });
    expect(await publish(draft.id, approved.revision)).toMatchObject({ success: false });
    const { data: acts } = await app.call(asRoot, "GET", "/api/audit/?size=10");
    expect(acts.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(["price.draft", "price.approve", "price.publish"]),
    );
  });

  test("some of it is published, and none of it is a draft that is let go", async () => {
    const lists = { "gpt-4o": GPT_4O, "gpt-4o-mini": { input: 0.16, output: 0.64, cache_read: 0.075 } };
    const some = await draftList(app, lists);
    const { data } = await approve(some, { "gpt-4o-mini": "chosen" });
    await publish(some.id, data.revision);
    expect([ratio(), ratio("gpt-4o-mini")]).toEqual([undefined, 0.08]);
    const none = await draftList(app, lists);
    expect(await approve(none, {})).toMatchObject({ data: { state: "discarded", reason: "厂商调价" } });
    expect(await publish(none.id, none.revision + 1)).toMatchObject({ success: false });
  });

  test("a row in doubt is published only where a person confirmed that very row", async () => {
    const draft = await draftList(app, { "gpt-4o": DEAR, "gpt-4o-mini": { input: 0.16, output: 0.64 } });
    expect(draft.rows).toMatchObject([{ verdict: "doubtful", flags: ["rise"] }, { verdict: "fine" }]);
    expect(draft.choices).toEqual({ "gpt-4o-mini": "chosen" });
    const all = { "gpt-4o": "chosen", "gpt-4o-mini": "chosen" };
    expect(await approve(draft, all)).toMatchObject({
      success: false,
      message: expect.stringContaining("gpt-4o 的价格须单独确认"),
    });
    const { data } = await approve(draft, { ...all, "gpt-4o": "confirmed" });
    expect(await publish(draft.id, data.revision)).toMatchObject({ success: true });
    expect(ratio()).toBe(2.5);
  });

  test("a row that no list may set is neither approved nor published", async () => {
    const draft = await draftList(app, { "gpt-4o": { input: 2500, output: 10_000 } });
    expect(draft.rows).toMatchObject([{ verdict: "refused" }]);
    for (const choice of ["chosen", "confirmed"])
      expect(await approve(draft, { "gpt-4o": choice })).toMatchObject({ success: false });
    // Written beside the interface, as an old draft could stand there.
    await app.ctx.db
      .updateTable("price_drafts")
      .set({ state: "approved", choices: '{"gpt-4o":"confirmed"}' })
      .execute();
    expect(await publish(draft.id, draft.revision)).toMatchObject({
      success: false,
      message: expect.stringContaining("不能发布"),
    });
    expect(ratio()).toBeUndefined();
  });

  test("publishing judges by the bounds of its own time", async () => {
    const { id, revision } = await approved();
    await app.ctx.options.set("PriceRisePercent", "5");
    expect(await publish(id, revision)).toMatchObject({
      success: false,
      message: expect.stringContaining("须单独确认"),
    });
    expect(ratio()).toBeUndefined();
    await app.ctx.options.set("PriceRisePercent", "10");
    expect(await publish(id, revision)).toMatchObject({ success: true });
  });

  test("bounds are options", async () => {
    const verdict = async (cost: object) => (await draftList(app, { "gpt-4o": cost })).rows[0]?.verdict;
    await app.ctx.options.set("PriceRisePercent", "100");
    expect(await verdict(DEAR)).toBe("fine");
    const cheap = { input: 0.5, output: 2, cache_read: 0.25 };
    expect(await verdict(cheap)).toBe("doubtful");
    await app.ctx.options.set("PriceFallPercent", "90");
    expect(await verdict(cheap)).toBe("fine");
  });

  test("a held draft needs a look at the whole of it", async () => {
    const draft = await draftList(app, { "gpt-4o": GPT_4O });
    expect(draft.warning).toBe("changed");
    expect(await approve(draft, { "gpt-4o": "chosen" }, { is_checked: false })).toMatchObject({
      success: false,
      message: expect.stringContaining("整体核对"),
    });
    await app.ctx.options.set("PriceChangedPercent", "100");
    const free = await draftList(app, { "gpt-4o": GPT_4O });
    expect(free.warning).toBe("");
    expect(await approve(free, { "gpt-4o": "chosen" }, { is_checked: false })).toMatchObject({
      success: true,
    });
  });

  test("a list that shrank holds the draft, and takes nothing off the list", async () => {
    const names = Array.from({ length: 9 }, (_, at) => `other-${at}`);
    const whole = Object.fromEntries(["gpt-4o", ...names].map((name) => [name, { input: 2.5, output: 10 }]));
    await draftList(app, whole);
    const { "gpt-4o": _gone, "other-0": _other, ...less } = whole;
    const shrunk = await draftList(app, less);
    expect(shrunk).toMatchObject({ warning: "shrunk", listed: 8, listed_before: 10 });
    expect(shrunk.rows).toMatchObject([{ model: "gpt-4o", verdict: "gone" }]);
    const unlisted = async () =>
      (await app.call(asRoot, "GET", "/api/price/model?view=unlisted&size=10")).data.map(
        ({ model }: { model: string }) => model,
      );
    expect(await unlisted()).toEqual([]);
    await app.ctx.options.set("PriceShrinkPercent", "20");
    expect((await draftList(app, less)).warning).toBe("");
    expect(await unlisted()).toEqual(["gpt-4o"]);
    const { data } = await app.call(asRoot, "GET", "/api/price/model/one?model=gpt-4o");
    expect(data).toMatchObject({ unlisted: ["models.dev"], source: "built_in" });
    await draftList(app, whole);
    expect(await unlisted()).toEqual([]);
  });

  test("of two who approve at once one is heard, and of two who publish at once one", async () => {
    const draft = await draftList(app, { "gpt-4o": GPT_4O });
    const approvals = await Promise.all([
      approve(draft, { "gpt-4o": "chosen" }, { reason: "甲" }),
      approve(draft, {}, { reason: "乙" }),
    ]);
    expect(approvals.filter(({ success }) => success)).toHaveLength(1);
    const heard = approvals[0]?.success ? "甲" : "乙";
    expect(await find(draft.id)).toMatchObject({ reason: heard });
    const { id, revision } = await approved();
    const answers = await Promise.all([1, 2].map(() => publish(id, revision)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    const { data: versions } = await app.call(asRoot, "GET", "/api/price/version");
    expect(versions).toHaveLength(1);
  });

  test("a price that was changed after it was compared is compared again", async () => {
    const { id, revision } = await approved();
    await app.ctx.options.set("ModelRatio", '{"gpt-4o":1.3}');
    expect(await publish(id, revision)).toMatchObject({
      success: false,
      message: expect.stringContaining("请重新比较"),
    });
    expect(ratio()).toBe(1.3);
    // Another model's version does not matter.
    await app.ctx.options.set("ModelRatio", "{}");
    await publishList(app, { "gpt-4o-mini": { input: 0.16, output: 0.64 } });
    expect(await publish(id, revision)).toMatchObject({ success: true, data: { id: 2 } });
  });

  test("tiers are published as rows of their own, and a list that names none leaves them to follow", async () => {
    const tier = (size: number, input: number) => ({
      input,
      output: input * 5,
      cache_read: input / 10,
      tier: { type: "context", size },
    });
    const gpt = { input: 2.75, output: 16.5, cache_read: 0.275 };
    const charged = (promptTokens: number) => {
      const price = app.ctx.prices().find("gpt-5.4", "gpt-5.4", "default");
      return (price?.tiers.findLast(({ above }) => promptTokens > above)?.price ?? price)?.modelRatio;
    };
    await publishList(app, { "gpt-5.4": gpt });
    // Built in: 2.5 and, above 272,000, 5.
    expect([charged(1), charged(300_000)]).toEqual(["1.375", "2.75"]);
    const named = { ...gpt, tiers: [tier(272_000, 6)] };
    await publishList(app, { "gpt-5.4": named });
    expect([charged(1), charged(300_000)]).toEqual(["1.375", "3"]);
    expect((await draftList(app, { "gpt-5.4": named })).rows).toMatchObject([{ verdict: "same" }]);
    await publishList(app, { "gpt-5.4": { ...gpt, tiers: [tier(272_000, 6), tier(500_000, 8)] } });
    expect([charged(300_000), charged(600_000)]).toEqual(["3", "4"]);
    await publishList(app, { "gpt-5.4": named });
    expect([charged(300_000), charged(600_000)]).toEqual(["3", "3"]);
  });

  test("names are the operator's table's where the list has no model of that name", async () => {
    await app.ctx.options.set("PriceNames", '{"gpt-4o":"vendor-9","gpt-4o-mini":"vendor-9"}');
    const cost = { input: 0.16, output: 0.64, cache_read: 0.075 };
    const { rows } = await draftList(app, { "vendor-9": GPT_4O, "gpt-4o-mini": cost });
    expect(rows).toMatchObject([
      { model: "gpt-4o", listed_as: "vendor-9" },
      { model: "gpt-4o-mini", listed_as: "", fresh: { model_ratio: "0.08" } },
    ]);
  });

  test("an administrator prepares a draft and lets it go; only a super administrator approves", async () => {
    const admin = await seedUser(app.ctx, "admin", { role: 10 });
    const ask = (method: string, path: string, body?: unknown) =>
      app.call(admin.who, method, `/api/price/draft${path}`, body);
    const { data } = await ask("POST", "", { text: priceListOf({ "gpt-4o": DEAR }) });
    expect(data).toMatchObject({ username: "admin", state: "open" });
    const choices = { "gpt-4o": "confirmed" };
    expect(await ask("PUT", `/${data.id}`, { revision: 1, choices: { "gpt-4o": "chosen" } })).toMatchObject({
      success: false,
    });
    expect(await ask("PUT", `/${data.id}`, { revision: 1, choices })).toMatchObject({
      data: { revision: 2 },
    });
    expect(await find(data.id)).toMatchObject({ choices });
    const decision = { revision: 2, choices, reason: "x", is_checked: true };
    expect(await ask("POST", `/${data.id}/approve`, decision)).toMatchObject({ success: false });
    const approved = await approveDraft(app, { ...data, revision: 2 });
    expect(approved).toMatchObject({ success: true });
    expect(await ask("POST", `/${data.id}/publish`, { revision: 3 })).toMatchObject({ success: false });
    expect(await ask("POST", `/${data.id}/discard`, { revision: 3 })).toMatchObject({ success: true });
    expect(await find(data.id)).toMatchObject({ state: "discarded" });
    expect(ratio()).toBeUndefined();
  });
});

describe("a list", () => {
  test("at an address is fetched, and one that the server may not call is refused", async () => {
    const server = createServer((_req, res) => res.end(priceListOf({ "gpt-4o": GPT_4O })));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    // A server that listens has one.
    const { port } = server.address() as AddressInfo;
    const app = await createTestApp({ env: { EGRESS_ALLOW: `127.0.0.1:${port}` } });
    onTestFinished(() => app.close());
    const ask = (address: string) => app.call(asRoot, "POST", "/api/price/draft", { address });
    const address = `http://127.0.0.1:${port}/api.json`;
    expect(await ask(address)).toMatchObject({ data: { format: "models.dev", source: address } });
    // What may be secret in it is needed once, and is kept and shown nowhere.
    const keyed = await ask(`${address}?key=secret-0001#part-0001`);
    expect(keyed.data.source).toMatch(new RegExp(`^${address}\\?…[\\w-]{8}$`));
    const other = await ask(`${address}?key=secret-0002`);
    expect(other.data.source).not.toBe(keyed.data.source);
    expect((await ask(`${address}?key=secret-0001`)).data.source).toBe(keyed.data.source);
    const { db } = app.ctx;
    const kept = [
      await db.selectFrom("price_drafts").selectAll().execute(),
      await db.selectFrom("price_listings").selectAll().execute(),
      await db.selectFrom("audit").selectAll().execute(),
    ];
    expect(JSON.stringify(kept)).not.toMatch(/secret-000|part-0001/);
    expect(await ask("http://127.0.0.1:1/")).toMatchObject({ success: false });
    expect(await ask("http://169.254.169.254/")).toMatchObject({ success: false });
    expect(await ask("file:///etc/passwd")).toMatchObject({ success: false });
  });

  test("from a file has its name, and may be larger than other calls; beyond 20 MiB it is refused", async () => {
    const app = await createTestApp();
    onTestFinished(() => app.close());
    const file = (text: string) =>
      app.call(asRoot, "POST", "/api/price/draft", { text, file: "prices.json" });
    const text = priceListOf({ "gpt-4o": GPT_4O }) + " ".repeat(3 * 1024 * 1024);
    expect(await file(text)).toMatchObject({ success: true, data: { source: "prices.json" } });
    expect(await file(" ".repeat(20 * 1024 * 1024 + 1))).toMatchObject({
      success: false,
      message: expect.stringContaining("20 MiB"),
    });
  });
});
