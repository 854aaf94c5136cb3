// Prices that move in: what the source charged is kept row by row, and the report names before the move what has another price after it.
import { describe, expect, onTestFinished, test } from "vitest";
import { charge } from "#server/money/price.ts";
import { oneApi } from "#test/seeds/one-api.ts";
import type { Cell, OneApi } from "#test/seeds/one-api-files.ts";
import { createTestApp, databases } from "#test/worlds/app.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { buildSource, engines, importInto } from "#test/worlds/import-world.ts";

interface Site {
  readonly options: Readonly<Record<string, string>>;
  /** What the one channel serves. */
  readonly models?: string;
  readonly mapping?: Readonly<Record<string, string>>;
  readonly type?: number;
  readonly isNewApi?: boolean;
}

/** A database of One API, or of New API, with these options and one channel. */
function site({ options, models = "gpt-4o", mapping = {}, type = 1, isNewApi = false }: Site): OneApi {
  const data = oneApi("later");
  const { channels, users } = data;
  const [channel] = channels?.rows ?? [];
  if (!channels || !users || !channel) throw new Error("the source has no channel");
  const rows: Readonly<Record<string, Cell>>[] = [
    { ...channel, type, models, model_mapping: JSON.stringify(mapping) },
  ];
  return {
    ...data,
    channels: { columns: channels.columns, rows },
    options: {
      columns: { key: "indexed", value: "text" },
      rows: Object.entries(options).map(([key, value]) => ({ key, value })),
    },
    users: isNewApi ? { ...users, columns: { ...users.columns, aff_quota: "int" } } : users,
  };
}

/** What a dry run reports of a source. */
async function rehearsed(what: Site, engine: (typeof engines)[number] = "SQLite file") {
  return importInto(
    await buildSource(engine, site(what)),
    { dataDir: testDirectory(), url: undefined },
    true,
  );
}

/** The lines below a heading of the report, without their dashes. */
function below(report: string, heading: string): string[] {
  const lines = report.split("\n");
  const at = lines.findIndex((line) => line.startsWith(heading));
  if (at < 0) return [];
  const end = lines.findIndex((line, index) => index > at && !line.startsWith("- "));
  return lines.slice(at + 1, end < 0 ? undefined : end).map((line) => line.slice(2));
}

const SKIPPED = "rows of price tables that are no ratio";
const CHANGED = "models whose price changes";
const UNPRICED = "models that are left without a price";

const ORDINARY: Site = {
  models: "house-model,gpt-4o-mini",
  options: {
    ModelRatio: '{"house-model":1.5,"gpt-4o-mini":0.3,"openrouter/auto":-500000,"odd":"1","null":null}',
    CompletionRatio: '{"house-model":2,"gpt-4o-mini":4,"worse":-1}',
    GroupRatio: '{"vip":0.8,"never":-1}',
  },
};

describe.each(databases)("a price table with rows that are no ratio, into $name", (database) => {
  test("keeps the others, and names those that it lost", async () => {
    const made = await database.create();
    onTestFinished(made.drop);
    const dataDir = testDirectory();
    const address = await buildSource("SQLite file", site(ORDINARY));
    const { report, isExact } = await importInto(address, { dataDir, url: made.url });
    const app = await createTestApp({ dataDir, databaseUrl: made.url });
    onTestFinished(() => app.close());
    const { options } = app.ctx;
    expect(options.get("ModelRatio")).toEqual({ "house-model": 1.5, "gpt-4o-mini": 0.3 });
    expect(options.get("CompletionRatio")).toMatchObject({ "house-model": 2 });
    // One API charges a group that its table lacks by 1.
    expect(options.get("GroupRatio")).toEqual({ vip: 0.8, default: 1 });
    expect(below(report, SKIPPED)).toEqual([
      "ModelRatio openrouter/auto: -500000",
      'ModelRatio odd: "1"',
      "ModelRatio null: null",
      "CompletionRatio worse: -1",
      "GroupRatio never: -1",
    ]);
    expect(report).toContain(`${SKIPPED} were skipped (5)`);
    expect(below(report, CHANGED)).toEqual([]);
    expect(below(report, UNPRICED)).toEqual([]);
    // What was lost is a price: the operator has to look.
    expect(isExact).toBe(false);
  });
});

test.each(engines)("a %s reports lost rows in a dry run too", async (engine) => {
  const { report, isExact } = await rehearsed(ORDINARY, engine);
  expect(below(report, SKIPPED)).toContain("ModelRatio openrouter/auto: -500000");
  expect(isExact).toBe(false);
});

test("a price table whose rows are all ratios loses nothing", async () => {
  const { report, isExact } = await rehearsed({
    models: "house-model",
    options: { ModelRatio: '{"house-model":0}' },
  });
  expect(report).not.toContain(SKIPPED);
  expect(isExact).toBe(true);
});

test("One API: a model with another price is reported with both, and one that is refused with the old one", async () => {
  const { report, isExact } = await rehearsed({
    models: "gpt-4o-mini,gpt-4o,unheard-of,house-model,gpt-4,openrouter/auto,text-embedding-3-small",
    mapping: { "gpt-4o-mini": "my-deployment", "gpt-4": "house-model" },
    options: {
      ModelRatio:
        '{"gpt-4o-mini":0.075,"gpt-4o":2.5,"house-model":1.5,"gpt-4":15,"openrouter/auto":-500000,"text-search-ada-doc-001":10}',
      CompletionRatio: '{"house-model":2}',
    },
  });
  expect(below(report, CHANGED)).toEqual([
    // A call of 165 tokens that cost 30 each: 4,950 there, 37 here.
    "gpt-4o-mini, mapped to my-deployment: 30, completion 1 → 0.075, completion 4",
    "gpt-4, mapped to house-model: 1.5, completion 2 → 15, completion 2",
  ]);
  expect(report).toContain(`${CHANGED} (2): there → here`);
  expect(below(report, UNPRICED)).toEqual([
    "unheard-of: 30, completion 1",
    "openrouter/auto: -500000, completion 1",
  ]);
  expect(report).toMatch(/a model that no table prices cost 30 there.*FallbackModelRatio/);
  expect(report).toMatch(/a mapped model is priced by the name that a call asks for.*by the mapped name/);
  expect(isExact).toBe(false);
});

test("One API: what its table lacks has the price built into it, by channel type too", async () => {
  const built = await rehearsed({ models: "gpt-4o,glm-4,gpt-4-turbo", options: { RetryTimes: "1" } });
  expect(below(built.report, CHANGED)).toContain("gpt-4o: 2.5, completion 4 → 1.25, completion 4");
  expect(built.report).toContain("the prices built into release 0.6.11");
  const typed = await rehearsed({
    models: "llama-x",
    type: 33,
    options: { ModelRatio: '{"llama-x(33)":0.15,"llama-x":0.025}', CompletionRatio: '{"llama-x(33)":2}' },
  });
  expect(below(typed.report, CHANGED)).toEqual(["llama-x: 0.15, completion 2 → 0.025, completion 1"]);
});

test("New API: prices go by the requested name, some completion ratios are its own, and it refuses too", async () => {
  const site: Site = {
    isNewApi: true,
    models: "gpt-4o,gpt-4,unheard-of,suno-x,gpt-3.5-turbo",
    mapping: { "gpt-4": "unheard-of" },
    options: {
      ModelRatio: '{"gpt-4o":1.25,"gpt-4":15}',
      CompletionRatio: '{"gpt-4o":7,"gpt-4":2.5}',
      ModelPrice: '{"suno-x":0.1,"mj_imagine":0.1}',
    },
  };
  const { report } = await rehearsed(site);
  expect(below(report, CHANGED)).toEqual([
    "gpt-4o: 1.25, completion 4 → 1.25, completion 7",
    "gpt-3.5-turbo: refused → 0.25, completion 3",
  ]);
  // A call of it costs the same here.
  expect(below(report, UNPRICED)).toEqual([]);
  expect(report).toContain("prices per call are charged by the call here too: suno-x");
  expect(report).toContain("prices per call (ModelPrice) have no place here: mj_imagine");
  const alone = await rehearsed({ ...site, options: { ...site.options, SelfUseModeEnabled: "true" } });
  expect(below(alone.report, UNPRICED)).toContain("unheard-of: 37.5, completion 1");
  expect(alone.report).toMatch(/cost 37\.5 there.*FallbackModelRatio/);
  const bare = await rehearsed({ ...site, options: {} });
  expect(below(bare.report, CHANGED)).toContain(
    "gpt-4o: built in there, its database does not tell → 1.25, completion 4",
  );
});

test("New API: the price of a picture becomes a ratio, other prices per call are named", async () => {
  const { report, isExact } = await rehearsed({
    isNewApi: true,
    models: "dall-e-3",
    options: { ModelRatio: "{}", ModelPrice: '{"dall-e-3":0.08,"mj_imagine":0.1,"suno_music":-1}' },
  });
  expect(below(report, CHANGED)).toEqual([]);
  expect(report).toContain("prices per call became ratios of pictures: dall-e-3");
  expect(report).toContain("prices per call (ModelPrice) have no place here (2): mj_imagine, suno_music");
  expect(isExact).toBe(true);
});

test("New API: what is charged by the call there is charged so here, at the same price", async () => {
  const dataDir = testDirectory();
  const data = site({
    isNewApi: true,
    models: "house-chat,house-image,gpt-realtime,sora-2",
    options: {
      ModelRatio: '{"house-chat":3}',
      QuotaPerUnit: "500000",
      ModelPrice: '{"house-chat":0.25,"house-image":0.1,"gpt-realtime":0.1,"sora-2":0.3,"free-chat":0}',
    },
  });
  const { report } = await importInto(await buildSource("SQLite file", data), { dataDir, url: undefined });
  // Of pictures each counts there, of a conversation each answer, and of a video its seconds here.
  expect(report).toContain("prices per call are charged by the call here too (2): house-chat, free-chat");
  expect(report).toContain(
    "prices per call (ModelPrice) have no place here (3): house-image, gpt-realtime, sora-2",
  );
  expect(below(report, CHANGED).join()).not.toContain("house-chat");
  const app = await createTestApp({ dataDir });
  onTestFinished(() => app.close());
  const { options } = app.ctx;
  expect(options.get("ModelUnits")).toEqual({ "house-chat": "call", "free-chat": "call" });
  expect(options.get("ModelRatio")).toEqual({ "house-chat": 125, "free-chat": 0 });
  const price = app.ctx.prices().find("house-chat", "house-chat", "default");
  const usage = { promptTokens: 10, completionTokens: 90_000, cachedTokens: 0 };
  // $0.25 at 500,000 a dollar.
  expect(price && charge(usage, price)).toBe(125_000n);
});

test("every option that has no place here is named, and those with another name here are kept", async () => {
  const foreign = "SensitiveWords CheckSensitiveEnabled Price MinTopUp EpayId MjNotifyEnabled";
  const made = { dataDir: testDirectory() };
  const data = site({
    isNewApi: true,
    models: "gpt-4o",
    options: {
      ...Object.fromEntries(foreign.split(" ").map((key) => [key, "canary-0009"])),
      QuotaPerUnit: "-1",
      RetryTimes: "many",
      UserUsableGroups: '{"vip":"更稳定"}',
      "general_setting.docs_link": "https://docs.example.com/start",
      Chats: JSON.stringify([
        { 安卓: "ama://set-api-key?server={address}&key={key}" },
        { Next: 'https://chat.example.com/#/?settings={"key":"{key}","url":"{address}"}' },
        { Lobe: "https://lobe.example.com/?settings={key}" },
      ]),
    },
  });
  const destination = { dataDir: made.dataDir, url: undefined };
  const { report } = await importInto(await buildSource("SQLite file", data), destination);
  for (const name of foreign.split(" ")) expect(report).toContain(name);
  expect(report).toContain("options that do not exist here were left out (6)");
  expect(report).toMatch(/keep their default \(2\): QuotaPerUnit: .*, RetryTimes: /);
  // A value may be a secret.
  expect(report).not.toContain("canary-0009");
  expect(report).toMatch(/of Chats one page was kept as ChatLink.*Next.*left out: 安卓, Lobe/);
  const app = await createTestApp({ dataDir: made.dataDir, databaseUrl: undefined });
  onTestFinished(() => app.close());
  expect(app.ctx.options.get("DocsLink")).toBe("https://docs.example.com/start");
  expect(app.ctx.options.get("ChatLink")).toBe("https://chat.example.com/");
  expect(app.ctx.options.get("UserUsableGroups")).toEqual({ vip: "更稳定" });
});
