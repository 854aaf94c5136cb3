// The old billing API over real HTTP (requirements W8.6, T20.9).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("the old billing API on $name", (database) => {
  let app: TestApp;
  let url: string;
  let user: SeededUser;
  let unlimited: { id: number; key: string };
  let limited: { id: number; key: string };

  beforeAll(async () => {
    app = await createAppOn(database);
    url = await app.listen();
    user = await seedUser(app.ctx, "alice");
    unlimited = await seedToken(app.ctx, user.id, "free");
    const created = await app.call(user.who, "POST", "/api/token/", {
      name: "limited",
      remain_quota: 300_000,
      expired_time: 4_000_000_000,
      unlimited_quota: false,
    });
    limited = { id: created.data.id, key: created.data.key };
    // Each token pays for one call.
    for (const [index, token] of [limited, unlimited].entries()) {
      const party = { requestId: `billing-${index}`, userId: user.id, tokenId: token.id };
      await app.ctx.ledger.reserve({ ...party, amount: 50_000n, modelName: "m" });
      await app.ctx.ledger.settle({
        ...party,
        channelId: 0,
        charge: 50_000n,
        usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
        log: null,
      });
    }
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await set("DisplayTokenStatEnabled", "true");
    await set("DisplayInCurrencyEnabled", "true");
    await set("QuotaPerUnit", "500000");
  });

  const set = (key: OptionKey, value: string) => app.ctx.options.set(key, value);
  async function ask(path: string, key: string): Promise<Record<string, unknown>> {
    const response = await fetch(url + path, { headers: { authorization: `Bearer sk-${key}` } });
    // The answers of these paths are JSON objects.
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, ...answer };
  }

  test.each(["/dashboard/billing", "/v1/dashboard/billing"])(
    "a limited token in dollars below %s",
    async (base) => {
      expect(await ask(`${base}/subscription`, limited.key)).toEqual({
        status: 200,
        object: "billing_subscription",
        has_payment_method: true,
        soft_limit_usd: 0.6,
        hard_limit_usd: 0.6,
        system_hard_limit_usd: 0.6,
        access_until: 4_000_000_000,
      });
      expect(await ask(`${base}/usage?start_date=2026-01-01&end_date=2026-02-01`, limited.key)).toEqual({
        status: 200,
        object: "list",
        total_usage: 10,
      });
      expect((await ask(`${base}/usage/`, limited.key))["total_usage"]).toBe(10);
    },
  );

  test("an unlimited token has the family's number, and what it used counts", async () => {
    expect(await ask("/dashboard/billing/subscription", unlimited.key)).toMatchObject({
      hard_limit_usd: 100_000_000,
      access_until: 0,
    });
    expect(await ask("/dashboard/billing/usage", unlimited.key)).toMatchObject({ total_usage: 10 });
  });

  test("in units when amounts are not shown as money", async () => {
    await set("DisplayInCurrencyEnabled", "false");
    expect(await ask("/dashboard/billing/subscription", limited.key)).toMatchObject({
      hard_limit_usd: 300_000,
    });
    expect(await ask("/dashboard/billing/usage", limited.key)).toMatchObject({ total_usage: 5_000_000 });
  });

  test("the user instead of the token when the option says so", async () => {
    await set("DisplayTokenStatEnabled", "false");
    expect(await ask("/dashboard/billing/subscription", unlimited.key)).toMatchObject({
      hard_limit_usd: 1,
      access_until: 0,
    });
    expect(await ask("/dashboard/billing/usage", limited.key)).toMatchObject({ total_usage: 20 });
  });

  test("the value of a unit counts", async () => {
    await set("QuotaPerUnit", "100000");
    expect(await ask("/dashboard/billing/subscription", limited.key)).toMatchObject({ hard_limit_usd: 3 });
  });

  test("a key is needed, other methods and paths are unknown", async () => {
    expect(await ask("/dashboard/billing/usage", "nobody")).toMatchObject({
      status: 401,
      error: { code: "invalid_key" },
    });
    const post = await fetch(`${url}/dashboard/billing/usage`, { method: "POST" });
    expect(post.status).toBe(404);
    expect((await fetch(`${url}/dashboard/billing/other`)).status).toBe(404);
  });

  test("these paths share the budget of the management API", async () => {
    const tight = await createTestApp({ env: { GLOBAL_API_RATE_LIMIT: "2" } });
    const owner = await seedUser(tight.ctx, "bob");
    const { key } = await seedToken(tight.ctx, owner.id);
    const address = await tight.listen();
    const statuses: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const response = await fetch(`${address}/dashboard/billing/usage`, {
        headers: { authorization: `Bearer ${key}` },
      });
      statuses.push(response.status);
      await response.text();
    }
    expect(statuses).toEqual([200, 200, 429]);
    await tight.close();
  });

  test.each([
    ["used up", { status: 4, remain_quota: 0 }, 50_000],
    ["expired", { status: 3, expired_time: 1 }, 300_000],
    ["expired and not yet marked", { expired_time: 1 }, 300_000],
  ] as const)("a key that is %s is told of itself, never of the account", async (_name, change, granted) => {
    const { db, coord } = app.ctx;
    const { data } = await app.call(user.who, "POST", "/api/token/", {
      name: "spent",
      remain_quota: 300_000,
    });
    const party = { requestId: `spent-${data.id}`, userId: user.id, tokenId: data.id };
    await app.ctx.ledger.reserve({ ...party, amount: 50_000n, modelName: "m" });
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    await app.ctx.ledger.settle({ ...party, channelId: 0, charge: 50_000n, usage, log: null });
    await db.updateTable("tokens").set(change).where("id", "=", data.id).execute();
    await coord.publish("tokens", String(data.id));
    await set("DisplayTokenStatEnabled", "false");
    expect(await ask("/v1/dashboard/billing/subscription", data.key)).toMatchObject({
      status: 200,
      hard_limit_usd: granted / 500_000,
    });
    expect(await ask("/v1/dashboard/billing/usage", data.key)).toMatchObject({
      status: 200,
      total_usage: 10,
    });
    // The same key still calls nothing.
    expect((await ask("/v1/models", data.key))["status"]).toBe(401);
  });

  test("a disabled key, one of another network and one of a banned user are told nothing", async () => {
    const { db, coord } = app.ctx;
    const { id, key } = await seedToken(app.ctx, user.id, "shut");
    for (const [change, status] of [
      [{ status: 2 }, 401],
      [{ status: 1, subnet: "192.0.2.0/24" }, 403],
    ] as const) {
      await db.updateTable("tokens").set(change).where("id", "=", id).execute();
      await coord.publish("tokens", String(id));
      expect((await ask("/dashboard/billing/subscription", key))["status"]).toBe(status);
    }
    const banned = await seedUser(app.ctx, "banned", { status: 2 });
    const other = await seedToken(app.ctx, banned.id);
    expect((await ask("/v1/dashboard/billing/usage", other.key))["status"]).toBe(403);
  });
});
