import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";

describe.each(databases)("redemption codes on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let admin: SeededUser;
  let alice: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    admin = await seedUser(app.ctx, "admin", { role: 10 });
    alice = await seedUser(app.ctx, "alice");
  });
  afterAll(async () => {
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await app.close();
  });

  const create = (body: object, more: Who = {}) =>
    app.call({ ...admin.who, ...more }, "POST", "/api/redemption/", body);
  const update = (body: object) => app.call(admin.who, "PUT", "/api/redemption/", body);
  const toggle = (id: number, status: unknown) =>
    app.call(admin.who, "PUT", "/api/redemption/?status_only=true", { id, status, quota: 9, name: "no" });
  const topUp = (key: string) => app.call(alice.who, "POST", "/api/user/topup", { key });
  const newest = async () => (await app.call(admin.who, "GET", "/api/redemption/?size=1")).data[0];

  test("codes are 32 hex characters, made in one go and listed in order, with the defaults of the spec", async () => {
    const { data } = await create({ name: "春节", quota: 500_000, count: 3 });
    expect(data).toHaveLength(3);
    for (const key of data) expect(key).toMatch(/^[0-9a-f]{32}$/);
    const list = await app.call(admin.who, "GET", "/api/redemption/?p=0&size=3");
    expect(list.total).toBe(3);
    expect(list.data.map((code: { key: string }) => code.key).reverse()).toEqual(data);
    expect(list.data[0]).toEqual({
      id: list.data[0].id,
      user_id: admin.id,
      key: data[2],
      status: 1,
      name: "春节",
      quota: 500_000,
      price_minor: -1,
      created_time: clock.seconds(),
      redeemed_time: 0,
      count: 0,
      used_user_id: 0,
    });
    const { data: one } = await create({ name: "default" });
    expect(one).toHaveLength(1);
    expect(await newest()).toMatchObject({ quota: 100_000, price_minor: -1, name: "default" });
    await create({ name: "sold", price_minor: 2_950 });
    const { id } = await newest();
    expect(await newest()).toMatchObject({ price_minor: 2_950 });
    // A form without the field leaves it; another price is one of the code from now on.
    expect((await update({ id, name: "sold", quota: 100_000 })).data).toMatchObject({ price_minor: 2_950 });
    expect((await update({ id, price_minor: 0 })).data).toMatchObject({ price_minor: 0 });
    expect((await create({ name: "odd", price_minor: -2 })).success).toBe(false);
  });

  test("the database holds no code in clear", async () => {
    const { data } = await create({ name: "sealed" });
    const stored = await app.ctx.db.selectFrom("redemptions").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(data[0]);
  });

  test.each([
    [{ name: "" }, "请输入名称"],
    [{}, "请求参数有误"],
    [{ name: "x".repeat(21) }, "名称须为 1 到 20 个字符"],
    [{ name: "x", count: 0 }, "数量须在 1 到 100 之间"],
    [{ name: "x", count: 101 }, "数量须在 1 到 100 之间"],
    [{ name: "x", count: 1.5 }, "请求参数有误"],
    [{ name: "x", quota: 0 }, "额度须大于 0"],
    [{ name: "x", quota: -5 }, "额度须大于 0"],
    [{ name: "x", quota: 1.5 }, "请求参数有误"],
    [{ name: "x", quota: "9" }, "请求参数有误"],
    [{ name: "x", quota: 2 ** 53 }, "请求参数有误"],
  ])("refuses %j with %s", async (body, message) => {
    expect(await create(body)).toMatchObject({ status: 200, success: false, message, data: null });
  });

  test("a hundred codes with a name of twenty characters", async () => {
    const { data } = await create({ name: "码".repeat(20), count: 100, quota: 2 ** 53 - 1 });
    expect(new Set(data).size).toBe(100);
  });

  test("all or none: a batch whose act cannot be recorded leaves nothing", async () => {
    const count = async () => (await app.call(admin.who, "GET", "/api/redemption/")).total;
    const before = await count();
    await app.ctx.db.schema.alterTable("audit").renameTo("audit_away").execute();
    expect((await create({ name: "half", count: 50 })).status).toBe(500);
    await app.ctx.db.schema.alterTable("audit_away").renameTo("audit").execute();
    expect(await count()).toBe(before);
  });

  test("a call that is repeated with its Idempotency-Key gets the same codes", async () => {
    const key = { "idempotency-key": "batch-1" };
    const count = async () => (await app.call(admin.who, "GET", "/api/redemption/")).total;
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => create({ name: "again", count: 4 }, key)),
    );
    const first = answers[0]?.data;
    expect(first).toHaveLength(4);
    expect(answers.map(({ data }) => data)).toEqual(Array.from({ length: 5 }, () => first));
    expect(await count()).toBe(before + 4);
    const other = await app.call({ ...asRoot, ...key }, "POST", "/api/redemption/", { name: "other" });
    expect(first).not.toContain(other.data[0]);
  });

  test("search finds ids and begins of names; the list sorts by any column of the table", async () => {
    await create({ name: "sortable-b", quota: 3 });
    await create({ name: "sortable-a", quota: 7 });
    const names = async (path: string) =>
      (await app.call(admin.who, "GET", path)).data.map((code: { name: string }) => code.name);
    expect(await names("/api/redemption/search?keyword=sortable")).toEqual(["sortable-a", "sortable-b"]);
    expect(await names("/api/redemption/search?keyword=SORTABLE&order=name&desc=true")).toEqual([
      "sortable-b",
      "sortable-a",
    ]);
    expect(await names("/api/redemption/search?keyword=sortable&order=quota")).toEqual([
      "sortable-b",
      "sortable-a",
    ]);
    const { id } = await newest();
    expect(await names(`/api/redemption/search?keyword=${id}`)).toEqual(["sortable-a"]);
    expect((await app.call(admin.who, "GET", "/api/redemption/search?keyword=%25")).total).toBe(0);
  });

  test("an unused code goes to disabled and back, and is edited by name and quota", async () => {
    await create({ name: "switch", quota: 5 });
    const { id, key } = await newest();
    expect((await toggle(id, 2)).data).toMatchObject({ status: 2, name: "switch", quota: 5 });
    expect((await topUp(key)).message).toBe("兑换码无效");
    expect((await toggle(id, 1)).data.status).toBe(1);
    for (const status of [0, 3, 4, -1, undefined]) expect((await toggle(id, status)).success).toBe(false);
    expect((await update({ id, name: "edited", quota: 6, status: 3 })).data).toMatchObject({
      name: "edited",
      quota: 6,
      status: 1,
    });
    expect((await update({ id, name: "only the name" })).data).toMatchObject({
      name: "only the name",
      quota: 6,
    });
    expect((await update({ id: 987_654_321, name: "x" })).message).toBe("找不到该兑换码");
  });

  test("a used code stays used: status and quota stay, the name may change", async () => {
    await create({ name: "used", quota: 5 });
    const { id, key } = await newest();
    expect((await topUp(key)).data).toBe(5);
    expect(await newest()).toMatchObject({
      status: 3,
      redeemed_time: clock.seconds(),
      used_user_id: alice.id,
    });
    for (const status of [1, 2])
      expect((await toggle(id, status)).message).toBe("已使用的兑换码不能修改状态");
    const refusal = "已使用的兑换码不能修改额度与售价";
    expect((await update({ id, quota: 6 })).message).toBe(refusal);
    expect((await update({ id, price_minor: 600 })).message).toBe(refusal);
    expect((await update({ id, name: "spent", quota: 5 })).data).toMatchObject({ name: "spent", status: 3 });
    expect((await topUp(key)).message).toBe("兑换码已被使用");
  });

  test("a deleted code is gone everywhere but in the ledger", async () => {
    await create({ name: "gone", quota: 5, count: 2 });
    const codes = (await app.call(admin.who, "GET", "/api/redemption/?size=2")).data;
    const [unused, used] = codes;
    await topUp(used.key);
    for (const { id } of codes) {
      expect((await app.call(admin.who, "DELETE", `/api/redemption/${id}/`)).success).toBe(true);
      expect((await app.call(admin.who, "GET", `/api/redemption/${id}`)).message).toBe("找不到该兑换码");
      expect((await app.call(admin.who, "DELETE", `/api/redemption/${id}`)).message).toBe("找不到该兑换码");
      expect((await toggle(id, 1)).message).toBe("找不到该兑换码");
    }
    expect((await topUp(unused.key)).message).toBe("兑换码无效");
    const entries = await app.ctx.db
      .selectFrom("ledger")
      .select(["kind", "amount", "user_id"])
      .where("redemption_id", "=", used.id)
      .execute();
    expect(entries).toEqual([{ kind: "redeem", amount: 5, user_id: alice.id }]);
    expect(JSON.stringify(await app.ctx.db.selectFrom("redemptions").selectAll().execute())).not.toContain(
      unused.key,
    );
  });

  test("every act of an administrator is in the audit log", async () => {
    const acts = await app.ctx.db
      .selectFrom("audit")
      .select("action")
      .where("actor_id", "=", admin.id)
      .execute();
    expect(new Set(acts.map(({ action }) => action))).toEqual(
      new Set(["redemption.create", "redemption.update", "redemption.delete", "redemption.reveal"]),
    );
  });
});
