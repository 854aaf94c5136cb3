// Revenue, cost and margin of calls, and what caches saved, along each dimension (requirements X10).
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { revenueOf } from "#server/money/earned.ts";
import type { Settlement } from "#server/money/operations.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

describe.each(databases)("margins on $name", (database) => {
  let app: TestApp;
  let userId: number;
  let tokenId: number;
  beforeEach(async () => {
    app = await createAppOn(database);
    const user = await seedUser(app.ctx, "alice");
    userId = user.id;
    // As of a balance that was imported, nothing is known of where it comes from.
    await app.ctx.db.updateTable("users").set({ bought: "" }).where("id", "=", userId).execute();
    tokenId = (await seedToken(app.ctx, user.id)).id;
  });
  afterEach(() => app.close());

  let calls = 0;
  async function book(model: string, charge: bigint, more: Partial<Settlement> = {}): Promise<void> {
    calls += 1;
    await app.ctx.ledger.settle({
      requestId: `margin-${calls}`,
      userId,
      tokenId,
      channelId: 0,
      charge,
      usage: { promptTokens: 100, completionTokens: 10, cachedTokens: 40 },
      log: {
        content: "",
        model_name: model,
        elapsed_time: 1,
        first_byte_time: 0,
        is_stream: 0,
        estimated: 0,
        trail: "",
      },
      ...more,
    });
  }
  const cost = (nano: number, group = "default") => ({ cost: { cost: nano, saved: 1_000, group } });
  const list = (query: string) => app.call(asRoot, "GET", `/api/margin?size=50&${query}`);

  test("are revenue less cost, and what is not known is told apart", async () => {
    const channelId = await seedChannel(app.ctx.db, { name: "上游" });
    // $0.002 for what cost $0.0015; then a loss; then one whose cost is not known.
    await book("good", 1_000n, { channelId, ...cost(1_500_000) });
    await book("bad", 1_000n, { channelId, ...cost(5_000_000, "vip") });
    await book("dark", 1_000n, { channelId });
    const { data, total, sums } = await list("by=model&order=margin");
    expect(total).toBe(3);
    expect(data).toMatchObject([
      { name: "bad", revenue: 2_000_000, cost: 5_000_000, margin: -3_000_000, uncosted: 0, requests: 1 },
      { name: "dark", revenue: 0, cost: 0, margin: 0, uncosted: 2_000_000 },
      { name: "good", revenue: 2_000_000, cost: 1_500_000, margin: 500_000, saved: 1_000, cached_tokens: 40 },
    ]);
    expect(sums).toMatchObject({
      revenue: 4_000_000,
      cost: 6_500_000,
      margin: -2_500_000,
      uncosted: 2_000_000,
    });
    expect((await list("by=channel")).data).toMatchObject([
      { name: "上游", subject_id: channelId, requests: 3, cost: 6_500_000, prompt_tokens: 300 },
    ]);
    const groups = (await list("by=group&order=name")).data;
    expect(groups).toMatchObject([{ name: "default" }, { name: "vip", margin: -3_000_000 }]);
    expect((await list("by=user")).data).toMatchObject([{ name: "alice", subject_id: userId, requests: 3 }]);
    expect((await list("by=token")).total).toBe(1);
    expect((await list("by=day&days=30")).data).toMatchObject([{ requests: 3, cost: 6_500_000 }]);
    expect((await list("by=model&keyword=GOOD")).data).toMatchObject([{ id: 1, name: "good" }]);
  });

  test("count what users in fact pay for a dollar of quota", async () => {
    await book("good", 1_000n, cost(1_500_000));
    // $10 of quota are sold for 6 yuan.
    await app.ctx.options.set("SoldDollarYuan", "0.6");
    const [row] = (await list("by=model")).data;
    expect(row).toMatchObject({ revenue: 171_429, margin: 171_429 - 1_500_000 });
  });

  test("are for those who may see money", async () => {
    const admin = await seedUser(app.ctx, "admin", { role: 10 });
    expect(await app.call(admin.who, "GET", "/api/margin")).toMatchObject({ success: true });
    const user = await seedUser(app.ctx, "bob", { role: 1 });
    expect(await app.call(user.who, "GET", "/api/margin")).toMatchObject({ success: false });
  });
});

test("revenue is exact whatever a dollar of quota is and sells for, and never below nothing", () => {
  const worth = { quotaPerUnit: 500_000, soldYuan: 7 };
  expect(revenueOf(1, worth)).toBe(2_000);
  expect(revenueOf(-5, worth)).toBe(0);
  expect(revenueOf(9_007_199_254_740, worth)).toBe(Number.MAX_SAFE_INTEGER);
  expect(revenueOf(3, { quotaPerUnit: 7, soldYuan: 0.6 })).toBe(36_734_694);
});
