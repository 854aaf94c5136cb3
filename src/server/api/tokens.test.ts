import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("tokens on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let alice: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    alice = await seedUser(app.ctx, "alice");
  });
  afterAll(() => app.close());

  const create = (body: object) => app.call(alice.who, "POST", "/api/token/", body);
  const update = (body: object) => app.call(alice.who, "PUT", "/api/token/", body);
  const toggle = (id: number, status: number) =>
    app.call(alice.who, "PUT", "/api/token/?status_only=true", { id, status });

  test("a new token has a key of 48 letters and digits, the defaults of the spec, and can be read back", async () => {
    const { data, success } = await create({ name: "first" });
    expect(success).toBe(true);
    expect(data).toMatchObject({
      user_id: alice.id,
      status: 1,
      name: "first",
      expired_time: -1,
      remain_quota: 500_000,
      unlimited_quota: false,
      used_quota: 0,
      models: "",
      subnet: "",
      created_time: clock.seconds(),
    });
    expect(data.key).toMatch(/^[0-9A-Za-z]{48}$/);
    expect((await app.call(alice.who, "GET", `/api/token/${data.id}`)).data).toEqual(data);
    expect((await app.call(alice.who, "GET", `/api/token/${data.id}/`)).data).toEqual(data);
  });

  test("an edit that names nothing leaves the token as it is", async () => {
    const { data } = await create({ name: "left alone" });
    expect((await update({ id: data.id })).data).toEqual(data);
  });

  test("the database holds no key in clear", async () => {
    const { data } = await create({ name: "sealed" });
    const stored = await app.ctx.db.selectFrom("tokens").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(data.key);
  });

  test.each([
    [{ name: "" }, "请输入令牌名称"],
    [{ name: "x".repeat(31) }, "令牌名称须为 1 到 30 个字符"],
    [{ name: "x", remain_quota: -1 }, "额度不能小于 0"],
    [{ name: "x", remain_quota: 1.5 }, "请求参数有误"],
    [{ name: "x", remain_quota: "many" }, "请求参数有误"],
    [{ name: "x", expired_time: -2 }, "过期时间格式错误"],
    [{ name: "x", subnet: "10.0.0.0/99" }, "IP 限制须为以逗号分隔的 IP 或 CIDR"],
    [{}, "请求参数有误"],
  ])("refuses %j with %s", async (body, message) => {
    expect(await create(body)).toMatchObject({ status: 200, success: false, message, data: null });
  });

  test("thirty Chinese characters make a name", async () => {
    expect((await create({ name: "令".repeat(30) })).success).toBe(true);
  });

  test("fields that only the server sets are ignored", async () => {
    const { data } = await create({
      name: "mine",
      user_id: 1,
      used_quota: 77,
      status: 4,
      key: "k",
      created_time: 1,
    });
    expect(data).toMatchObject({
      user_id: alice.id,
      used_quota: 0,
      status: 1,
      created_time: clock.seconds(),
    });
    expect(data.key).not.toBe("k");
  });

  test("an edited quota becomes a ledger entry; the sum of entries is the balance", async () => {
    const { data } = await create({ name: "ledger", remain_quota: 1000 });
    expect((await update({ id: data.id, remain_quota: 250 })).data.remain_quota).toBe(250);
    expect((await update({ id: data.id, remain_quota: 4000 })).data.remain_quota).toBe(4000);
    const entries = await app.ctx.db
      .selectFrom("ledger")
      .select(["kind", "token_amount"])
      .where("token_id", "=", data.id)
      .orderBy("id")
      .execute();
    expect(entries.map((entry) => entry.token_amount)).toEqual([1000, -750, 3750]);
    expect(entries.every((entry) => entry.kind === "token-adjust")).toBe(true);
  });

  test("a balance that the form did not change stays as calls have left it", async () => {
    const { data } = await create({ name: "in use", remain_quota: 1000 });
    // What was spent since the form was opened.
    await update({ id: data.id, remain_quota: 400 });
    const form = { id: data.id, name: "renamed", remain_quota: 1000, original_remain_quota: 1000 };
    expect((await update(form)).data).toMatchObject({ name: "renamed", remain_quota: 400 });
    expect((await update({ ...form, remain_quota: 2000 })).data.remain_quota).toBe(2000);
  });

  test("an expired token is enabled only after its date is changed, and then by itself", async () => {
    const { data } = await create({ name: "expiring", expired_time: clock.seconds() + 60 });
    clock.advance(61_000);
    // It was not used since: its new status shows all the same.
    expect((await app.call(alice.who, "GET", `/api/token/${data.id}`)).data.status).toBe(3);
    await app.ctx.db.updateTable("tokens").set({ status: 3 }).where("id", "=", data.id).execute();
    expect((await toggle(data.id, 1)).message).toBe("令牌已到期，请先修改有效期");
    expect((await update({ id: data.id, name: "still expired" })).data.status).toBe(3);
    expect((await update({ id: data.id, expired_time: -1 })).data.status).toBe(1);
  });

  test("an exhausted token is enabled only after it has quota again, and then by itself", async () => {
    const { data } = await create({ name: "used up", remain_quota: 0 });
    await app.ctx.db.updateTable("tokens").set({ status: 4 }).where("id", "=", data.id).execute();
    expect((await toggle(data.id, 1)).message).toBe("令牌额度已用完，请先增加额度");
    expect((await update({ id: data.id, remain_quota: 10 })).data).toMatchObject({
      status: 1,
      remain_quota: 10,
    });
    await update({ id: data.id, remain_quota: 0 });
    await app.ctx.db.updateTable("tokens").set({ status: 4 }).where("id", "=", data.id).execute();
    expect((await update({ id: data.id, unlimited_quota: true })).data).toMatchObject({
      status: 1,
      unlimited_quota: true,
    });
  });

  test("disabling and enabling go through the status-only call; other fields are not touched there", async () => {
    const { data } = await create({ name: "switch" });
    expect((await toggle(data.id, 2)).data.status).toBe(2);
    const answer = await app.call(alice.who, "PUT", "/api/token/?status_only=1", {
      id: data.id,
      status: 1,
      name: "no",
    });
    expect(answer.data).toMatchObject({ status: 1, name: "switch" });
    expect((await toggle(data.id, 4)).success).toBe(false);
    expect((await update({ id: data.id, status: 2, name: "form" })).data).toMatchObject({
      status: 1,
      name: "form",
    });
  });

  test("a deleted token is gone", async () => {
    const { data } = await create({ name: "gone" });
    expect((await app.call(alice.who, "DELETE", `/api/token/${data.id}/`)).success).toBe(true);
    expect((await app.call(alice.who, "GET", `/api/token/${data.id}`)).message).toBe("找不到该令牌");
    expect((await app.call(alice.who, "DELETE", `/api/token/${data.id}/`)).message).toBe("找不到该令牌");
  });

  test("every change is announced, so that the relay drops its cache", async () => {
    const heard: string[] = [];
    const stop = app.ctx.coord.subscribe("tokens", (payload) => heard.push(payload));
    const { data } = await create({ name: "announced" });
    await toggle(data.id, 2);
    await update({ id: data.id, name: "again" });
    await app.call(alice.who, "DELETE", `/api/token/${data.id}`);
    stop();
    expect(heard.filter((payload) => payload === String(data.id)).length).toBeGreaterThanOrEqual(3);
  });

  test("pages are 0-based and of ten, with a total; nonsense counts as the first page", async () => {
    const bob = await seedUser(app.ctx, "bob");
    for (let index = 0; index < 25; index += 1) {
      await app.call(bob.who, "POST", "/api/token/", { name: `t${index}`, remain_quota: index });
    }
    const page = async (query: string) => {
      const answer = await app.call(bob.who, "GET", `/api/token/?${query}`);
      return { names: answer.data.map((token: { name: string }) => token.name), total: answer.total };
    };
    expect(await page("p=0")).toMatchObject({ total: 25 });
    expect((await page("p=0")).names).toHaveLength(10);
    expect((await page("p=2")).names).toEqual(["t4", "t3", "t2", "t1", "t0"]);
    expect((await page("p=3")).names).toEqual([]);
    for (const query of ["p=-1", "p=abc", "", "p=0.5"]) expect((await page(query)).names[0]).toBe("t24");
    expect((await page("size=3")).names).toEqual(["t24", "t23", "t22"]);
    expect((await page("page_size=4")).names).toHaveLength(4);
    expect((await page("size=1000")).names).toHaveLength(25);
    // Amounts sort downwards as in One API, where there is no `desc`.
    for (const more of ["", "&desc=true", "&desc=1", "&desc="])
      expect((await page(`order=remain_quota&size=2${more}`)).names).toEqual(["t24", "t23"]);
    for (const more of ["&desc=false", "&desc=0"])
      expect((await page(`order=remain_quota&size=2${more}`)).names).toEqual(["t0", "t1"]);
    expect((await page("order=name&size=2")).names).toEqual(["t0", "t1"]);
    await app.ctx.db.updateTable("tokens").set({ used_quota: 5 }).where("name", "=", "t7").execute();
    expect((await page("order=used_quota&size=2")).names).toEqual(["t7", "t24"]);
    expect((await page("order=key_sealed&size=1")).names).toEqual(["t24"]);
    const found = await app.call(bob.who, "GET", "/api/token/search?keyword=t1");
    expect(found.total).toBe(11);
    expect((await app.call(bob.who, "GET", "/api/token/search?keyword=%25")).total).toBe(0);
  });

  test("no user sees the tokens of others, not even root", async () => {
    const rootTokens = await app.call(asRoot, "GET", "/api/token/?size=100");
    expect(rootTokens.data.every((token: { user_id: number }) => token.user_id === 1)).toBe(true);
  });
});
