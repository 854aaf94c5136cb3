// The catalogue: who sees which models at which price (requirements X05, X06).
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Catalogue } from "#contract/catalogue.ts";
import { dayOf } from "#contract/month.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asGuest, createTestApp, type TestApp, type Who } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

let app: TestApp;
let li: SeededUser;
let vip: SeededUser;

beforeAll(async () => {
  app = await createTestApp();
  const { ctx } = app;
  li = await seedUser(ctx, "lihua");
  vip = await seedUser(ctx, "vipper", { group: "vip" });
  const channel = async (name: string, fields: object) => {
    const sealed = { key_hash: ctx.secrets.hash(name), key_sealed: ctx.secrets.seal(name, "channels.key") };
    await seedChannel(ctx.db, { type: 1, name, ...sealed, ...fields });
  };
  await channel("one", {
    models: "gpt-4o,unpriced,alias",
    group: "default,vip",
    model_mapping: '{"alias":"gpt-4o-mini"}',
  });
  await channel("two", { models: "alias,tts-1", group: "default", model_mapping: '{"alias":"gpt-4o"}' });
  await channel("off", { models: "gpt-5", group: "default", status: 2 });
  await channel("vip", { models: "gpt-4.1", group: "vip" });
  await ctx.candidates.reload();
  await ctx.options.set("GroupRatio", '{"default":1,"vip":0.5,"secret":9}');
  await ctx.options.set("UserUsableGroups", '{"vip":"更稳定"}');
}, 60_000);
afterAll(() => app?.close());
beforeEach(() => app.ctx.options.set("CatalogueForGuestsEnabled", "true"));

const look = (who: Who, group = "") => app.call(who, "GET", `/api/catalogue?group=${group}`);

test("guests see what the default group would be served, at its prices, and no other group", async () => {
  const { data } = await look(asGuest);
  expect(Catalogue.parse(data)).toEqual(data);
  expect({ group: data.group, groups: data.groups }).toEqual({
    group: "default",
    groups: [{ name: "default", text: "" }],
  });
  expect(data.models).toMatchObject([
    // Mapped to two models: at the price of the dearer.
    { model: "alias", input: "2.5", output: "10" },
    { model: "gpt-4o", maker: "OpenAI", ability: "chat", input: "2.5", output: "10", cache_read: "1.25" },
    { model: "tts-1", ability: "speech", unit: "character", input: "15" },
  ]);
  expect(await look(asGuest, "vip")).toMatchObject({ success: false });
});

test("users see the prices of their own group, and of those that are open to them", async () => {
  const own = (await look(vip.who)).data;
  expect(own.group).toBe("vip");
  expect(own.models).toMatchObject([
    { model: "alias", input: "0.075" },
    { model: "gpt-4.1", input: "1" },
    { model: "gpt-4o", input: "1.25", output: "5" },
  ]);
  const other = (await look(li.who, "vip")).data;
  expect(other.models).toEqual(own.models);
  expect(other.groups).toEqual([
    { name: "default", text: "" },
    { name: "vip", text: "更稳定" },
  ]);
  for (const group of ["secret", "constructor"])
    expect(await look(li.who, group)).toMatchObject({
      success: false,
      message: `不能查看分组“${group}”的价格`,
    });
});

test("no name of a channel, of its key or of an upstream is in it", async () => {
  const text = JSON.stringify((await look(vip.who)).data);
  expect(text).not.toMatch(/"one"|"two"|gpt-4o-mini|model_mapping/);
});

test("closed, it is there for users alone", async () => {
  await app.ctx.options.set("CatalogueForGuestsEnabled", "false");
  expect(await look(asGuest)).toMatchObject({ success: false, status: 401 });
  expect((await look(li.who)).data.models).toHaveLength(3);
  expect((await app.call(asGuest, "GET", "/api/status")).data.catalogue_open).toBe(false);
});

test("a model's last day is told, and the day after it is gone", async () => {
  const { options, clock } = app.ctx;
  const [today, yesterday] = [dayOf(clock.seconds()), dayOf(clock.seconds() - 86_400)];
  await options.set("ModelLastDays", JSON.stringify({ "gpt-4o": today, "tts-1": yesterday }));
  expect((await look(asGuest)).data.models).toMatchObject([
    { model: "alias", last_day: "" },
    { model: "gpt-4o", last_day: today },
  ]);
  await options.set("ModelLastDays", "{}");
});
