// Price lists at addresses: not sent again while they did not change, which of them counts for a model, and prices that are published without a
// person (requirements X01, X26, X27).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { priceListOf } from "#test/seeds/price-recipes.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { ListCache } from "./list-cache.ts";
import { rankOf } from "./list-sources.ts";

/** $2.5, $10 and $1.25 are built in. */
const FINE = { input: 2.75, output: 11, cache_read: 1.25 };
const DEAR = { input: 5, output: 20, cache_read: 1.25 };
const MINI = { input: 0.16, output: 0.64, cache_read: 0.075 };

interface Asked {
  readonly path: string;
  readonly known: string | undefined;
}

/** Lists by path, each with a tag of its text. */
const lists = new Map<string, { text: string; etag: string }>();
const asked: Asked[] = [];
const server = createServer((req, res) => {
  const known = req.headers["if-none-match"];
  asked.push({ path: req.url ?? "", known });
  const list = lists.get(req.url ?? "");
  if (list === undefined) {
    res.writeHead(404).end();
    return;
  }
  const isKnown = known === list.etag && known !== "";
  res.writeHead(isKnown ? 304 : 200, list.etag === "" ? {} : { etag: list.etag });
  res.end(isKnown ? "" : list.text);
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

describe.each(databases)("lists at addresses on $name", (database) => {
  let app: TestApp;
  let at: (path: string) => string;
  beforeEach(async () => {
    // A server that listens has one.
    const { port } = server.address() as AddressInfo;
    at = (path) => `http://127.0.0.1:${port}${path}`;
    app = await createAppOn(database, { env: { EGRESS_ALLOW: `127.0.0.1:${port}` } });
    lists.clear();
    asked.length = 0;
  });
  afterEach(() => app.close());

  const serve = (path: string, models: Readonly<Record<string, object>>, etag = "") =>
    lists.set(path, { text: priceListOf(models), etag });
  const draft = async (path: string, who = asRoot) =>
    (await app.call(who, "POST", "/api/price/draft", { address: at(path) })).data;
  const ratio = (model = "gpt-4o") => app.ctx.options.get("ModelRatio")[model];

  test("a list that did not change is not sent again, and is compared anew", async () => {
    serve("/a", { "gpt-4o": FINE }, '"one"');
    const first = await draft("/a");
    const second = await draft("/a");
    expect(asked.map(({ known }) => known)).toEqual([undefined, '"one"']);
    expect([second.rows, second.hash]).toEqual([first.rows, first.hash]);
    serve("/a", { "gpt-4o": DEAR }, '"two"');
    expect((await draft("/a")).rows).toMatchObject([{ flags: ["rise"] }]);
    await draft("/a");
    expect(asked.slice(2).map(({ known }) => known)).toEqual(['"one"', '"two"']);
    // Without a tag the whole list comes each time.
    serve("/b", { "gpt-4o": FINE });
    await draft("/b");
    await draft("/b");
    expect(asked.slice(4).map(({ known }) => known)).toEqual([undefined, undefined]);
  });

  test("where an earlier list has a price, that of a later one needs a person", async () => {
    const order = JSON.stringify({ "gpt-4o": `${at("/own")}, ${at("/other")}`, "*": at("/other") });
    await app.ctx.options.set("PriceSources", order);
    const models = { "gpt-4o": FINE, "gpt-4o-mini": MINI };
    for (const path of ["/own", "/other", "/third"]) serve(path, models);
    const verdicts = async (path: string) =>
      (await draft(path)).rows.map(({ verdict, flags }: { verdict: string; flags: string[] }) => [
        verdict,
        ...flags,
      ]);
    // No other list is known yet.
    expect(await verdicts("/other")).toEqual([["fine"], ["fine"]]);
    expect(await verdicts("/own")).toEqual([["fine"], ["doubtful", "outranked"]]);
    expect(await verdicts("/other")).toEqual([["doubtful", "outranked"], ["fine"]]);
    expect(await verdicts("/third")).toEqual([
      ["doubtful", "outranked"],
      ["doubtful", "outranked"],
    ]);
    await app.ctx.options.set("PriceSources", "{}");
    expect(await verdicts("/third")).toEqual([["fine"], ["fine"]]);
  });

  describe("without a person", () => {
    const unattended = async (path: string) => {
      await app.ctx.options.set("PriceAutoPublishEnabled", "true");
      await app.ctx.options.set("PriceSources", JSON.stringify({ "*": at(path) }));
    };
    // Of three models in the list one may change.
    const few = (models: object) => ({
      ...models,
      "gpt-4.1": { input: 2, output: 8, cache_read: 0.5 },
      "gpt-4.1-mini": { input: 0.4, output: 1.6, cache_read: 0.1 },
      "gpt-4.1-nano": { input: 0.1, output: 0.4, cache_read: 0.025 },
    });

    test("a price that nothing speaks against is published at once, as a version that can be undone", async () => {
      serve("/a", few({ "gpt-4o": FINE }));
      expect(await draft("/a")).toMatchObject({ state: "open", warning: "" });
      expect(ratio()).toBeUndefined();
      await unattended("/a");
      const admin = await seedUser(app.ctx, "admin", { role: 10 });
      expect(await draft("/a", admin.who)).toMatchObject({
        state: "published",
        version: 1,
        decided_by: "admin",
        reason: "自动发布",
      });
      expect(ratio()).toBe(1.375);
      const undone = await app.call(asRoot, "POST", "/api/price/version/1/undo", { reason: "x" });
      expect(undone.success).toBe(true);
      expect(ratio() ?? 1.25).toBe(1.25);
      const { data: acts } = await app.call(asRoot, "GET", "/api/audit/?size=10");
      expect(acts.map(({ action }: { action: string }) => action)).toContain("price.publish");
    });

    test("a row in doubt waits, and the others go", async () => {
      await app.ctx.options.set("PriceChangedPercent", "100");
      await unattended("/a");
      serve("/a", few({ "gpt-4o": DEAR, "gpt-4o-mini": MINI }));
      expect(await draft("/a")).toMatchObject({ state: "published" });
      expect([ratio(), ratio("gpt-4o-mini")]).toEqual([undefined, 0.08]);
      // What is left is a draft that waits.
      expect(await draft("/a")).toMatchObject({ state: "open", choices: {} });
    });

    test("a source with a query is the one that was named, and its query is kept nowhere", async () => {
      const path = "/priced?key=hidden";
      await unattended(path);
      serve(path, few({ "gpt-4o": FINE }));
      const made = await draft(path);
      expect([made.state, ratio()]).toEqual(["published", 1.375]);
      expect(made.source).not.toContain("hidden");
    });

    test("a draft that is held as a whole waits", async () => {
      await unattended("/a");
      serve("/a", { "gpt-4o": FINE, "gpt-4o-mini": MINI });
      expect(await draft("/a")).toMatchObject({ state: "open", warning: "changed" });
      serve("/a", few({ "gpt-4o": FINE, "gpt-4o-mini": MINI, other: FINE, another: FINE }));
      await app.ctx.options.set("PriceChangedPercent", "100");
      await app.ctx.options.set("PriceAutoPublishEnabled", "false");
      await draft("/a");
      await app.ctx.options.set("PriceAutoPublishEnabled", "true");
      serve("/a", few({ "gpt-4o": FINE }));
      expect(await draft("/a")).toMatchObject({ state: "open", warning: "shrunk" });
      expect(ratio()).toBeUndefined();
    });

    test("a list from elsewhere, and one that was pasted, wait", async () => {
      await unattended("/a");
      serve("/b", few({ "gpt-4o": FINE }));
      expect(await draft("/b")).toMatchObject({ state: "open", warning: "" });
      const pasted = { text: priceListOf(few({ "gpt-4o": FINE })), file: at("/a") };
      const { data } = await app.call(asRoot, "POST", "/api/price/draft", pasted);
      expect(data).toMatchObject({ state: "open", source: at("/a") });
      expect(ratio()).toBeUndefined();
    });
  });
});

test("lists are kept up to a bound, the newest of them", () => {
  const cache = new ListCache();
  const answer = (status: number, etag: string, text = "") =>
    ({ kind: "answer", status, headers: { etag }, text }) as const;
  const large = "x".repeat(9 * 1024 * 1024);
  for (const name of ["a", "b", "c"]) expect(cache.textOf(name, answer(200, name, large))).toBe(large);
  expect(["a", "b", "c"].map((name) => cache.headersFor(name))).toEqual([
    [],
    ["if-none-match", "b"],
    ["if-none-match", "c"],
  ]);
  expect(cache.textOf("b", answer(304, ""))).toBe(large);
  expect(cache.textOf("a", answer(304, ""))).toBeUndefined();
  expect(cache.textOf("b", answer(500, ""))).toBeUndefined();
  expect(cache.headersFor("b")).toEqual([]);
});

test("the first pattern that fits a model decides the order of lists", () => {
  const table = { "gpt-4o": "https://a, https://b", "gpt-*": "https://b" };
  const ranks = (model: string) =>
    ["https://a", "https://b", "https://c"].map((one) => rankOf(table, model, one));
  const none = Number.POSITIVE_INFINITY;
  expect([ranks("gpt-4o"), ranks("gpt-5"), ranks("o3")]).toEqual([
    [0, 1, none],
    [none, 0, none],
    [none, none, none],
  ]);
});
