// A copy of a channel: all of it, the key too, which no browser sees; it serves no call before an administrator has enabled it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openKey } from "#server/secrets.ts";
import { insertChannels } from "#server/store/channels.ts";
import { channelRow } from "#test/seeds/channel-row.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const KEY = "sk-canary-copied-key-0123456789";

describe.each(databases)("copies of channels on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  test("a copy has everything but the usage, tests and status of the first", async () => {
    const { ctx } = app;
    const admin = await seedUser(ctx, "copier", { role: 10 });
    const kept = {
      name: "名".repeat(100),
      type: 3,
      base_url: "https://upstream.example",
      other: "2024-06-01",
      models: "gpt-4o,gpt-4o-mini",
      group: "default,vip",
      model_mapping: '{"a":"b"}',
      priority: 7,
      weight: 3,
      config: "{}",
    };
    const told = {
      status: 3,
      status_reason: "上游返回 401",
      status_time: 5,
      test_time: 6,
      response_time: 7,
      balance: 8,
    };
    const [id = 0] = await insertChannels(ctx.db, [channelRow(ctx.secrets, { key: KEY, ...kept, ...told })]);
    await ctx.db.updateTable("channels").set({ used_quota: 99 }).where("id", "=", id).execute();
    const answer = await app.call(admin.who, "POST", `/api/channel/copy/${id}`);
    expect(answer).toMatchObject({ success: true, data: { id: expect.any(Number) } });
    expect(JSON.stringify(answer)).not.toContain("canary");
    const rows = await ctx.db.selectFrom("channels").selectAll().where("id", "!=", id).execute();
    const [copy] = rows;
    expect(rows).toHaveLength(1);
    expect(copy).toMatchObject({ ...kept, name: `${"名".repeat(97)} 副本` });
    const fresh = {
      status: 2,
      status_reason: "",
      status_time: 0,
      test_time: 0,
      response_time: 0,
      balance: 0,
    };
    expect(copy).toMatchObject({ ...fresh, used_quota: 0 });
    expect(copy && openKey(ctx.secrets, copy, "channels.key")).toBe(KEY);
    const acts = ctx.db.selectFrom("audit").selectAll().where("action", "=", "channel.copy");
    expect(await acts.execute()).toMatchObject([{ actor_id: admin.id, target: String(copy?.id) }]);
  });

  test("a copy has the limits of the first and of each of its keys", async () => {
    const { ctx } = app;
    const admin = await seedUser(ctx, "limiter", { role: 10 });
    const [id = 0] = await insertChannels(ctx.db, [channelRow(ctx.secrets, { key: KEY })]);
    const text = "sk-canary-copied-b-0123456789\nsk-canary-copied-c-0123456789";
    await app.call(asRoot, "POST", `/api/channel/${id}/keys`, { text });
    const rowsOf = async (channel: number) =>
      ctx.db
        .selectFrom("channel_keys")
        .select(["id", "key_hash"])
        .where("channel_id", "=", channel)
        .execute();
    const [first, second] = await rowsOf(id);
    await app.call(asRoot, "PUT", "/api/channel/", { id, limits: { rpm: 100 } });
    const limited = { ids: [first?.id, second?.id], limits: { rpm: 7, day_quota: 9 } };
    expect(await app.call(asRoot, "PUT", `/api/channel/${id}/keys`, limited)).toMatchObject({
      success: true,
    });
    const { data } = await app.call(admin.who, "POST", `/api/channel/copy/${id}`);
    const copied = await app.call(admin.who, "GET", `/api/channel/${data.id}/keys`);
    const hashes = new Map((await rowsOf(data.id)).map((row) => [row.id, row.key_hash]));
    const told = new Map(
      (copied.data as { id: number; limits: object }[]).map((key) => [hashes.get(key.id), key.limits]), // rows of the contract
    );
    expect(told.get(first?.key_hash)).toEqual({ rpm: 7, tpm: 0, running: 0, day_quota: 9 });
    expect(told.get(second?.key_hash)).toEqual({ rpm: 7, tpm: 0, running: 0, day_quota: 9 });
    expect([...told.values()].filter((limits) => "rpm" in limits && limits.rpm === 0)).toHaveLength(1);
    expect((await app.call(admin.who, "GET", `/api/channel/${data.id}`)).data.limits).toMatchObject({
      rpm: 100,
    });
  });

  test("a channel that is not there has no copy", async () => {
    const admin = await seedUser(app.ctx, "late", { role: 10 });
    const answer = await app.call(admin.who, "POST", "/api/channel/copy/9999");
    expect(answer).toMatchObject({ success: false, message: "找不到该渠道" });
  });
});
