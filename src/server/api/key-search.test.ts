// From a leaked key to its owner, and an end to it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("search by key on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const acts = (action: string) =>
    app.ctx.db.selectFrom("audit").selectAll().where("action", "=", action).orderBy("id", "desc").execute();

  test("a key leads to its token and owner, in each form that clients send, and is repeated nowhere", async () => {
    const admin = await seedUser(app.ctx, "finder", { role: 10 });
    const owner = await seedUser(app.ctx, "careless");
    const { id, key } = await seedToken(app.ctx, owner.id, "leaked");
    for (const text of [key, `sk-${key}`, ` sk-${key}-7 `, `Bearer sk-${key}`]) {
      const answer = await app.call(admin.who, "POST", "/api/token/find", { key: text });
      expect(answer).toMatchObject({
        success: true,
        data: {
          token_id: id,
          token_name: "leaked",
          user_id: owner.id,
          username: "careless",
          token_status: 1,
        },
      });
      expect(JSON.stringify(answer)).not.toContain(key);
    }
    const [act] = await acts("token.find");
    expect(act).toMatchObject({ actor_id: admin.id, target: String(id) });
    expect(JSON.stringify(act)).not.toContain(key);
  });

  test("an unknown or deleted key leads nowhere, and that is logged too", async () => {
    const answer = await app.call(asRoot, "POST", "/api/token/find", { key: `sk-${"A".repeat(48)}` });
    expect(answer).toMatchObject({ success: false, message: "没有令牌使用这个密钥，它可能已被删除" });
    expect((await acts("token.find"))[0]).toMatchObject({ target: "0", detail: '{"found":false}' });
  });

  test("an administrator disables its token, and the next call is refused", async () => {
    const admin = await seedUser(app.ctx, "ender", { role: 10 });
    const owner = await seedUser(app.ctx, "victim");
    const { id, key } = await seedToken(app.ctx, owner.id);
    const url = await app.listen();
    const headers = { authorization: `Bearer sk-${key}` };
    const ask = async () => (await fetch(`${url}/v1/models`, { headers })).status;
    expect(await ask()).toBe(200);
    expect(await app.call(admin.who, "POST", "/api/token/disable", { id })).toMatchObject({ success: true });
    expect(await ask()).toBe(401);
    expect((await acts("token.disable"))[0]).toMatchObject({ actor_id: admin.id, target: String(id) });
  });

  test("tokens of an equal or higher rank are out of reach, one's own are not", async () => {
    const admin = await seedUser(app.ctx, "peer", { role: 10 });
    const other = await seedUser(app.ctx, "other-peer", { role: 10 });
    for (const userId of [1, other.id]) {
      const { id, key } = await seedToken(app.ctx, userId);
      const refused = { success: false, message: "不能操作同级或更高级别的用户" };
      expect(await app.call(admin.who, "POST", "/api/token/find", { key })).toMatchObject(refused);
      expect(await app.call(admin.who, "POST", "/api/token/disable", { id })).toMatchObject(refused);
      expect(await app.call(asRoot, "POST", "/api/token/find", { key })).toMatchObject({ success: true });
    }
    const { key } = await seedToken(app.ctx, admin.id);
    expect(await app.call(admin.who, "POST", "/api/token/find", { key })).toMatchObject({ success: true });
  });
});
