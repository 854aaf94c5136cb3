// The route explainer over HTTP, beside the relay that it explains (requirements C47): what it says is what calls do.
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { RELAY_ENDPOINTS } from "#contract/relay-endpoint.ts";
import type { RouteExplanation } from "#contract/route.ts";
import { choose, type Passed, type Strategy } from "#server/channels/choice.ts";
import { findRoute } from "#server/relay/http/routes.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";

let app: TestApp;
let upstream: FakeUpstream;
let url = "";
let token = { id: 0, key: "" };
let user: Awaited<ReturnType<typeof seedUser>>;

beforeAll(async () => {
  app = await createTestApp();
  upstream = await createFakeUpstream();
  url = await app.listen();
  user = await seedUser(app.ctx, "explained");
  token = await seedToken(app.ctx, user.id);
});
afterEach(async () => {
  await app.ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
  await app.ctx.candidates.reload();
});
afterAll(async () => {
  await app.close();
  await upstream.close();
});

async function channel(name: string, draft: object = {}): Promise<void> {
  const usual = { type: 8, name, key: name, base_url: upstream.url, models: "gpt-4", group: "default" };
  expect(await app.call(asRoot, "POST", "/api/channel/", { ...usual, ...draft })).toMatchObject({
    success: true,
  });
}

async function explain(question: string): Promise<RouteExplanation> {
  const { data, success, message } = await app.call(asRoot, "GET", `/api/route/explain?${question}`);
  expect([success, message]).toEqual([true, ""]);
  return data;
}

const verdicts = ({ channels }: RouteExplanation) =>
  Object.fromEntries(channels.map(({ name, verdict }) => [name, verdict]));

function ask(model = "gpt-4"): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${token.key}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], max_tokens: 5 }),
  });
}

test("every channel has its verdict, its odds and its price", async () => {
  await channel("heavy", { priority: 5, weight: 3 });
  await channel("light", { priority: 5, weight: 1 });
  await channel("spare", { priority: 5, weight: 0 });
  await channel("lower", { priority: 1, limits: { rpm: 60 } });
  await channel("others", { group: "vip" });
  await channel("else", { models: "gpt-4o" });
  await channel("off", { status: 2 });
  await channel("mapped", { priority: 9, status: 2, models: "x", model_mapping: '{"gpt-4":"gpt-4o"}' });
  const told = await explain(`token_id=${token.id}&model=gpt-4`);
  expect(told).toMatchObject({ group: "default", refusal: "" });
  expect(verdicts(told)).toEqual({
    ...{ heavy: "next", light: "next", spare: "weight_zero", lower: "priority_lower" },
    ...{ others: "group", else: "model", off: "disabled", mapped: "disabled" },
  });
  expect(told.channels[0]).toMatchObject({ name: "heavy", odds: 0.75 });
  const lower = told.channels.find(({ name }) => name === "lower");
  // Ratio 15, completion ratio 2.
  expect(lower).toMatchObject({
    limits: [{ name: "rpm", amount: 60, left: 60 }],
    price: { input: 15_000_000, output: 30_000_000 },
  });
  expect(told.channels.find(({ name }) => name === "mapped")?.upstream_model).toBe("gpt-4o");
});

test("what rests, what is full and what lacks the interface is told as the relay passes it over", async () => {
  await app.ctx.options.set("RetryTimes", "3");
  await app.ctx.options.set("ChannelQueueSeconds", "0");
  await channel("full", { priority: 9, limits: { rpm: 1 } });
  await channel("broken", { priority: 8 });
  await channel("good", { priority: 1 });
  upstream.script((res, asked) =>
    asked.headers.authorization === "Bearer broken"
      ? json({ error: { message: "no" } }, 429, { "retry-after": "60" })(res, asked)
      : json(chatReply("hi"))(res, asked),
  );
  for (let call = 0; call < 3; call += 1) expect((await ask()).status).toBe(200);
  const told = await explain(`user_id=${user.id}&model=gpt-4`);
  expect(verdicts(told)).toEqual({ full: "limited", broken: "resting", good: "next" });
  const of = (name: string) => told.channels.find((one) => one.name === name);
  expect(of("full")).toMatchObject({ limit: "rpm", odds: 0 });
  expect(of("broken")).toMatchObject({ rests: "circuit" });
  expect(of("broken")?.until).toBeGreaterThan(Date.now() / 1_000);
  const images = await explain("group=default&model=gpt-4&format=images");
  expect(new Set(Object.values(verdicts(images)))).not.toContain("model");
});

test("why none: the token's models, no such model, another group, all off, no price", async () => {
  const refusal = async (question: string) => (await explain(question)).refusal;
  expect(await refusal("model=gpt-4")).toBe("还没有渠道");
  await channel("only", { models: "gpt-4,nobody-prices-this" });
  const narrow = await seedToken(app.ctx, user.id);
  await app.ctx.db.updateTable("tokens").set({ models: "gpt-4o" }).where("id", "=", narrow.id).execute();
  expect(await refusal(`token_id=${narrow.id}&model=gpt-4`)).toContain("模型范围");
  expect(await refusal("model=unheard")).toContain("没有渠道提供");
  expect(await refusal("group=vip&model=gpt-4")).toContain("不在分组 vip");
  expect(await refusal("model=nobody-prices-this")).toContain("没有价格");
  await app.ctx.db.updateTable("channels").set({ status: 2 }).execute();
  await app.ctx.candidates.reload();
  expect(await refusal("model=gpt-4")).toContain("已停用");
});

test("each key of a channel that has several is told too", async () => {
  await channel("keyed", { key: "k1" });
  const [{ id } = { id: 0 }] = app.ctx.candidates.find("default", "gpt-4");
  await app.call(asRoot, "POST", `/api/channel/${id}/keys`, { text: "key,name,weight\nk2,second,1" });
  const { data } = await app.call(asRoot, "GET", `/api/channel/${id}/keys`);
  await app.call(asRoot, "PUT", `/api/channel/${id}/keys`, { ids: [data[0].id], status: 2 });
  const [told] = (await explain("model=gpt-4")).channels;
  expect(told?.keys_total).toBe(2);
  expect(told?.keys).toEqual([
    { verdict: "next", count: 1 },
    { verdict: "disabled", count: 1 },
  ]);
});

test("each endpoint of the relay can be asked about, by its name in the relay's own table", async () => {
  await app.ctx.options.set("ModelRatio", '{"gpt-4":15,"only-ours":1}');
  await channel("whole", { type: 1 });
  await channel("narrow", { type: 18, key: "app|secret|key", models: "gpt-4,only-ours" });
  const verdictOf = async (format: string, model = "gpt-4") =>
    verdicts(await explain(`model=${model}&format=${format}`));
  const served: Record<string, string> = {};
  for (const { name } of RELAY_ENDPOINTS) served[name] = (await verdictOf(name))["narrow"] ?? "";
  // It speaks a wire of its own, with text alone.
  const text = ["chat", "messages", "responses", "generate", "completions"];
  expect(served).toEqual(
    Object.fromEntries(
      RELAY_ENDPOINTS.map(({ name }) => [name, text.includes(name) ? "next" : "endpoint_absent"]),
    ),
  );
  expect(await verdictOf("videos")).toEqual({ whole: "next", narrow: "endpoint_absent" });
  expect((await explain("model=only-ours&format=batches")).refusal).toBe("有此模型的渠道都不支持这种接口");
  await app.ctx.options.set("ModelRatio", "{}");
});

test("counts of tokens go to channels that count the format, and are done here where none does", async () => {
  await app.ctx.options.set("RefuseBelowCostEnabled", "true");
  await channel("openai", { type: 1, models: "nobody-prices-this" });
  const question = "model=nobody-prices-this&format=count-messages";
  const none = await explain(question);
  expect(verdicts(none)).toEqual({ openai: "endpoint_absent" });
  expect(none.refusal).toBe("没有渠道可以计数，由本服务自行计数，请求不会被拒绝");
  const limits = { rpm: 1 };
  await channel("claude", { type: 14, models: "nobody-prices-this", cost_ratio: 50, limits });
  await channel("gemini", { type: 24, models: "nobody-prices-this" });
  const told = await explain(question);
  expect(told).toMatchObject({ refusal: "", by_token: false });
  expect(verdicts(told)).toMatchObject({
    ...{ claude: "next", gemini: "endpoint_absent", openai: "endpoint_absent" },
  });
  expect(told.channels.every(({ price }) => price === null)).toBe(true);
  const google = await explain("model=nobody-prices-this&format=count-generate");
  expect(verdicts(google)).toMatchObject({ claude: "endpoint_absent", gemini: "next" });
  expect((await explain("model=unheard&format=count-messages")).refusal).toContain("没有渠道提供");
  upstream.script(json({ input_tokens: 7 }));
  const counted = await fetch(`${url}/v1/messages/count_tokens`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${token.key}` },
    body: JSON.stringify({ model: "nobody-prices-this", messages: [{ role: "user", content: "hi" }] }),
  });
  expect(await counted.json()).toEqual({ input_tokens: 7 });
  // A call of the minute was made.
  const full = await explain(question);
  expect(verdicts(full)).toMatchObject({ claude: "limited" });
  expect(full.refusal).toBe(none.refusal);
  await app.ctx.options.set("RefuseBelowCostEnabled", "false");
});

test("limits of all keys are looked up at once", async () => {
  const ids: number[] = [];
  for (const name of ["one", "two", "three"]) {
    await channel(name, { key: `${name}-1` });
    const [{ id } = { id: 0 }] = app.ctx.candidates.all().filter((live) => live.name === name);
    ids.push(id);
    await app.call(asRoot, "POST", `/api/channel/${id}/keys`, { text: `${name}-2\n${name}-3` });
    const { data } = await app.call(asRoot, "GET", `/api/channel/${id}/keys`);
    const [first, second] = data;
    await app.call(asRoot, "PUT", `/api/channel/${id}/keys`, { ids: [first.id], limits: { rpm: 60 } });
    await app.call(asRoot, "PUT", `/api/channel/${id}/keys`, { ids: [second.id], status: 2 });
  }
  const look = vi.spyOn(app.ctx.limits, "look");
  const told = await explain("model=gpt-4");
  expect(look).toHaveBeenCalledTimes(1);
  look.mockRestore();
  expect(told.channels.filter(({ id }) => ids.includes(id)).map(({ keys }) => keys)).toEqual(
    ids.map(() => [
      { verdict: "next", count: 2 },
      { verdict: "disabled", count: 1 },
    ]),
  );
});

test("the route of each row of the relay's table is served", () => {
  for (const { name, path } of RELAY_ENDPOINTS) {
    const { kind } = findRoute(name === "realtime" ? "GET" : "POST", path.replace("{model}", "m"));
    expect([name, kind]).not.toEqual([name, expect.stringMatching(/unknown|absent/)]);
  }
});

test("why responses in the background, videos without a price and calls below cost go nowhere", async () => {
  await channel("claude", { type: 14 });
  await channel("plain", { type: 1, models: "gpt-4,nobody-prices-this" });
  await channel("dear", { type: 1, cost_ratio: 50 });
  expect(verdicts(await explain("model=gpt-4&format=background"))).toEqual({
    ...{ claude: "endpoint_absent", plain: "next", dear: "next" },
  });
  const video = await explain("model=nobody-prices-this&format=videos");
  expect(verdicts(video)).toMatchObject({ plain: "price_missing" });
  expect(video.refusal).toContain("没有价格");
  expect(video.channels.every(({ price }) => price === null)).toBe(true);
  await app.ctx.options.set("RefuseBelowCostEnabled", "true");
  const told = await explain("model=gpt-4");
  await app.ctx.options.set("RefuseBelowCostEnabled", "false");
  expect(verdicts(told)).toEqual({ claude: "next", plain: "next", dear: "below_cost" });
});

test("a channel that is off says why, since when, and by whom", async () => {
  await channel("by-hand", { status: 2 });
  await channel("by-itself");
  const failed = { status: 3, status_reason: "账户欠费", status_time: 1_800_000_000 };
  await app.ctx.db.updateTable("channels").set(failed).where("name", "=", "by-itself").execute();
  await app.ctx.candidates.reload();
  const { channels } = await explain("model=gpt-4");
  const of = (name: string) => channels.find((one) => one.name === name);
  expect(of("by-itself")).toMatchObject({
    ...{ verdict: "auto_disabled", reason: "账户欠费", since: 1_800_000_000 },
  });
  expect(of("by-hand")).toMatchObject({ verdict: "disabled", reason: "" });
});

test("a strategy's verdicts, costs and latencies are told", async () => {
  await app.ctx.options.set("ChannelStrategyByGroup", '{"default":"cost"}');
  await channel("cheap", { cost_ratio: 1 });
  await channel("near", { cost_ratio: 1.03 });
  await channel("dear", { cost_ratio: 2 });
  const told = await explain("model=gpt-4");
  expect(told.strategy).toBe("cost");
  expect(verdicts(told)).toEqual({ cheap: "next", near: "next", dear: "dearer" });
  const of = (name: string) => told.channels.find((one) => one.name === name);
  // Ratio 15, completion ratio 2: 750,000 of input and 250,000 of output.
  expect([of("cheap")?.cost, of("dear")?.cost]).toEqual([18_750_000, 37_500_000]);
  expect([of("cheap")?.odds, of("dear")?.odds]).toEqual([0.5, 0]);
  expect((await explain("group=vip&model=gpt-4")).strategy).toBe("weight");
  await app.ctx.options.set("ChannelStrategyByGroup", "{}");
});

test("only administrators ask; nonsense is refused with a sentence", async () => {
  for (const path of ["explain?model=gpt-4", "keys/1?model=gpt-4", "call/1"])
    expect(await app.call(user.who, "GET", `/api/route/${path}`)).toMatchObject({
      ...{ success: false, message: "权限不够，无法执行该操作" },
    });
  for (const question of [
    "",
    "model=gpt-4&format=fax",
    "model=gpt-4&token_id=999999",
    "model=gpt-4&user_id=999999",
  ])
    expect(await app.call(asRoot, "GET", `/api/route/explain?${question}`)).toMatchObject({
      success: false,
      message: expect.stringMatching(/[\u4e00-\u9fff]/),
    });
});

interface Told {
  readonly verdict: string;
  readonly odds: number;
}

/** One is chosen where any is left, and the odds are those of what is left. */
function expectWhole(all: readonly Told[], chosen: Told | undefined): void {
  const [most, sum] = [chosen === undefined ? 0 : 1, all.reduce((total, { odds }) => total + odds, 0)];
  expect(sum).toBeCloseTo(most, 9);
  expect(all.filter(({ verdict }) => verdict === "chosen")).toHaveLength(most);
  expect(chosen?.odds ?? 1).toBeGreaterThan(0);
  for (const { verdict } of all.filter(({ odds }) => odds > 0)) expect(["chosen", "left"]).toContain(verdict);
}

describe("the choice and what is told of it", () => {
  const world = fc.record({
    channels: fc.array(
      fc.record({
        priority: fc.integer({ min: -2, max: 2 }),
        weight: fc.nat(3),
        state: fc.nat(5),
        share: fc.constantFrom<number | Passed>("dearer", "slower", "format_other", 0, 0.5, 2),
      }),
      { maxLength: 8 },
    ),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    conversation: fc.option(fc.nat(), { nil: undefined }),
    hasStrategy: fc.boolean(),
  });

  /** Gives each channel its share, and all the same where none has one. */
  function strategyOf(
    channels: readonly { readonly share: number | Passed }[],
  ): Strategy<{ readonly id: number }> {
    return {
      weigh(tier) {
        const shares = tier.map(({ id }) => channels[id]?.share ?? 1);
        return shares.some((share) => typeof share === "number" && share > 0) ? shares : tier.map(() => 1);
      },
    };
  }

  test("in any world each candidate is told once, what is chosen had odds, and the odds are whole", () => {
    fc.assert(
      fc.property(world, ({ channels, random, conversation, hasStrategy }) => {
        const candidates = channels.map(({ priority, weight }, id) => ({ id, priority, weight }));
        const having = (state: number) =>
          new Set(channels.flatMap((one, id) => (one.state === state ? [id] : [])));
        const resting = having(3);
        const choice = {
          ...{ tried: having(1), full: having(2), random, conversation },
          isOpen: (id: number) => resting.has(id),
          strategy: hasStrategy ? strategyOf(channels) : undefined,
        };
        const told = new Map<number, Told>();
        const chosen = choose(candidates, choice, {
          most: Number.POSITIVE_INFINITY,
          tell({ id }, verdict, odds) {
            expect(told.has(id)).toBe(false);
            told.set(id, { verdict, odds: odds() });
          },
        });
        expect(told.size).toBe(candidates.length);
        expect(choose(candidates, choice)).toBe(chosen);
        expectWhole([...told.values()], chosen && told.get(chosen.id));
        const of = (ids: ReadonlySet<number>) => [...ids].map((id) => told.get(id)?.verdict);
        expect(new Set(of(choice.tried))).toEqual(new Set(choice.tried.size > 0 ? ["tried"] : []));
        expect(new Set(of(choice.full))).toEqual(new Set(choice.full.size > 0 ? ["limited"] : []));
      }),
      { numRuns: 10_000, seed: 20_261_126 },
    );
  });
});
