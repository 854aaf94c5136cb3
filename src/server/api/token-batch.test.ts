// Several tokens at once: all with the same settings, all or none.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("tokens made at once on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const tokensOf = (userId: number) =>
    app.ctx.db.selectFrom("tokens").selectAll().where("user_id", "=", userId).orderBy("id").execute();

  test("they are numbered, have a key each and the same settings, and are one act", async () => {
    const { id, who } = await seedUser(app.ctx, "batcher");
    const body = {
      name: "客户",
      count: 3,
      remain_quota: 700,
      expired_time: -1,
      unlimited_quota: false,
      models: "gpt-4o",
    };
    const { data } = await app.call(who, "POST", "/api/token/batch", body);
    expect(data).toMatchObject(
      [1, 2, 3].map((number) => ({ name: `客户-${number}`, remain_quota: 700, models: "gpt-4o", status: 1 })),
    );
    expect(new Set(data.map(({ key }: { key: string }) => key)).size).toBe(3);
    for (const { key } of data) expect(key).toHaveLength(48);
    const rows = await tokensOf(id);
    expect(rows.map(({ remain_quota }) => remain_quota)).toEqual([700, 700, 700]);
    const acts = app.ctx.db.selectFrom("audit").selectAll().where("actor_id", "=", id);
    expect(await acts.execute()).toMatchObject([
      { action: "token.create", target: rows.map((row) => row.id).join(",") },
    ]);
  });

  test.each([
    [{ count: 0 }, "数量须为 1 到 100"],
    [{ count: 101 }, "数量须为 1 到 100"],
    [{ name: "名".repeat(28), count: 100 }, "名称加上编号后最多 30 个字符"],
    [{ subnet: "not-a-net" }, "IP 限制须为以逗号分隔的 IP 或 CIDR"],
  ])("%j is refused, and nothing is made", async (change, message) => {
    const { id, who } = await seedUser(app.ctx, `r${JSON.stringify(change).length}`);
    const body = { name: "客户", count: 2, remain_quota: 5, ...change };
    expect(await app.call(who, "POST", "/api/token/batch", body)).toMatchObject({ success: false, message });
    expect(await tokensOf(id)).toEqual([]);
  });
});
