// Models of channels that no price table has are reported before a caller uses them (requirements W9.4, W10.8).
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChannelStatus } from "#contract/channel.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

let app: TestApp;
let admin: SeededUser;

beforeEach(async () => {
  app = await createTestApp();
  admin = await seedUser(app.ctx, "admin", { role: 10 });
});
afterEach(() => app.close());

async function addChannel(fields: { name: string; models: string; model_mapping?: string; status?: number }) {
  const { ctx } = app;
  const key = `sk-${fields.name}`;
  const sealed = { key_hash: ctx.secrets.hash(key), key_sealed: ctx.secrets.seal(key, "channels.key") };
  await seedChannel(ctx.db, { type: 1, ...sealed, ...fields });
  await ctx.candidates.reload();
}
const told = async () => (await app.call(admin.who, "GET", "/api/channel/unpriced")).data;

test("are listed with their channels; a model with a price under any of its names is not", async () => {
  await addChannel({
    name: "东",
    models: "gpt-4o,gpt-5-high,my-llm,alias,house-model",
    model_mapping: '{"alias":"gpt-4o","asked":"unknown-upstream"}',
  });
  await addChannel({ name: "西", models: "my-llm,gpt-4o" });
  await addChannel({ name: "自动禁用", models: "resting-model", status: ChannelStatus.autoDisabled });
  await addChannel({ name: "手动禁用", models: "left-alone", status: ChannelStatus.disabled });
  await app.ctx.options.set("ModelRatio", '{"house-model":0.5}');
  expect(await told()).toEqual([
    { model: "asked", channels: ["东"] },
    { model: "my-llm", channels: ["东", "西"] },
    { model: "resting-model", channels: ["自动禁用"] },
  ]);
});

test("are none where a ratio is set for models without a price", async () => {
  await addChannel({ name: "东", models: "my-llm" });
  await app.ctx.options.set("FallbackModelRatio", "1");
  expect(await told()).toEqual([]);
});
