// Consoles and scripts of the One API family work as they did (requirements Z19): the calls of One API's web console as it sends them, in the
// order in which its user works with it, and those of scripts with an access token. Bodies are what its forms send: whole rows, numbers
// that came as such, fields that we do not know. What they read of the answers is what is expected here.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { assignStaffSet, insertStaffSet } from "#server/store/staff.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { type Answer, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";

/** What the console's HTTP client adds to each call. */
const BROWSER: Who = {
  accept: "application/json, text/plain, */*",
  "accept-language": "zh-CN,zh;q=0.9",
  "sec-fetch-site": "same-origin",
  "sec-fetch-mode": "cors",
  "sec-fetch-dest": "empty",
  referer: "http://localhost/",
};
type Row = Record<string, unknown>;

describe.each(databases)("One API's consoles and scripts on $name", (database) => {
  let app: TestApp;
  /** Root's browser. */
  let root: Who;

  beforeAll(async () => {
    app = await createAppOn(database);
    root = { ...BROWSER, ...(await app.login("root", "123456")) };
  });
  afterAll(() => app.close());

  async function played(who: Who, line: string, body?: unknown): Promise<Answer> {
    const [method = "", path = ""] = line.split(" ");
    const answer = await app.call(who, method, path, body);
    expect(answer, `${line}: ${answer.message}`).toMatchObject({ status: 200, success: true });
    return answer;
  }

  const firstOf = async (who: Who, path: string): Promise<Row> => {
    const { data } = await played(who, `GET ${path}`);
    expect(Array.isArray(data), path).toBe(true);
    return data[0];
  };

  test("the login gives the numbers that its menu and its guard compare", async () => {
    await seedUser(app.ctx, "menu_user");
    await seedUser(app.ctx, "menu_admin", { role: Role.admin });
    const roles: unknown[] = [];
    for (const [username, password] of [
      ["menu_user", seedPassword],
      ["menu_admin", seedPassword],
      ["root", "123456"],
    ]) {
      const { data } = await played(BROWSER, "POST /api/user/login?turnstile=", { username, password });
      expect(data).toMatchObject({ id: expect.any(Number), username, status: 1 });
      roles.push(data.role);
    }
    expect(roles).toEqual([1, 10, 100]);
  });

  test("what is read before and after the login", async () => {
    const { data } = await played(BROWSER, "GET /api/status");
    expect(data).toMatchObject({ system_name: expect.any(String), quota_per_unit: expect.any(Number) });
    for (const path of ["/api/notice", "/api/about", "/api/home_page_content"])
      expect((await played(BROWSER, `GET ${path}`)).data).toEqual(expect.any(String));
    expect((await played(root, "GET /api/user/self")).data).toMatchObject({ username: "root", role: 100 });
    expect((await played(root, "GET /api/user/aff")).data).toEqual(expect.any(String));
    expect(Array.isArray((await played(root, "GET /api/user/dashboard")).data)).toBe(true);
    expect((await played(root, "GET /api/channel/models")).data[0].id).toEqual(expect.any(String));
    expect((await played(root, "GET /api/group/")).data).toContain("default");
  });

  test("channels: several keys at once, the whole row back, switches, a priority, tests, deletion", async () => {
    await played(root, "POST /api/channel/", {
      name: "老渠道",
      type: 1,
      key: "sk-old-a\nsk-old-b",
      base_url: "",
      other: "",
      model_mapping: "",
      system_prompt: "",
      models: "gpt-4o,gpt-4o-mini",
      groups: ["default"],
      group: "default",
      config: '{"region":"","sk":"","ak":"","user_id":"","vertex_ai_project_id":""}',
    });
    const row = await firstOf(root, "/api/channel/?p=0");
    expect(row).toMatchObject({ name: "老渠道", key: "", status: 1, group: "default" });
    const id = Number(row["id"]);
    const { data: loaded } = await played(root, `GET /api/channel/${id}`);
    // The form adds what it works with, and leaves the key empty.
    const form = { ...loaded, groups: ["default"], basic_models: "", name: "改过的渠道", id };
    expect((await played(root, "PUT /api/channel/", form)).data).toMatchObject({ name: "改过的渠道" });
    await played(root, "PUT /api/channel/", { id, status: 2 });
    await played(root, "PUT /api/channel/", { id, status: 1 });
    expect((await played(root, "PUT /api/channel/", { id, priority: 7 })).data.priority).toBe(7);
    await played(root, "PUT /api/channel/", { id, weight: 3 });
    expect((await played(root, "GET /api/channel/search?keyword=改过")).data[0].id).toBe(id);
    const tested = await app.call(root, "GET", `/api/channel/test/${id}/?model=gpt-4o`);
    expect(tested, JSON.stringify(tested)).toMatchObject({
      status: 200,
      success: false,
      message: expect.stringMatching(/./),
    });
    await played(root, `DELETE /api/channel/${id}/`);
    await played(root, "DELETE /api/channel/disabled");
  });

  test("tokens and codes: made, switched by status alone, the whole row back, deleted", async () => {
    const draft = { name: "老令牌", remain_quota: 500_000, expired_time: -1, unlimited_quota: false };
    await played(root, "POST /api/token/", { ...draft, models: "", subnet: "" });
    const token = await firstOf(root, "/api/token/?p=0&order=");
    expect(token).toMatchObject({ ...draft, status: 1, key: expect.stringMatching(/^\w{48}$/) });
    const id = Number(token["id"]);
    expect((await played(root, "PUT /api/token/?status_only=true", { id, status: 2 })).data.status).toBe(2);
    expect((await played(root, "PUT /api/token/?status_only=true", { id, status: 1 })).data.status).toBe(1);
    const { data: loaded } = await played(root, `GET /api/token/${id}`);
    const form = { ...loaded, name: "改过的令牌", remain_quota: 7, id };
    expect((await played(root, "PUT /api/token/", form)).data).toMatchObject({ remain_quota: 7, status: 1 });
    expect((await played(root, "GET /api/token/search?keyword=改过")).data).toHaveLength(1);
    await played(root, `DELETE /api/token/${id}/`);

    const { data: keys } = await played(root, "POST /api/redemption/", {
      name: "老码",
      quota: 1_000,
      count: 2,
    });
    expect(keys).toEqual([expect.stringMatching(/^\w{32}$/), expect.stringMatching(/^\w{32}$/)]);
    const code = await firstOf(root, "/api/redemption/?p=0");
    await played(root, "PUT /api/redemption/?status_only=true", { id: code["id"], status: 2 });
    await played(root, "PUT /api/redemption/?status_only=true", { id: code["id"], status: 1 });
    await played(root, "PUT /api/redemption/", { ...code, name: "改过的码", quota: 2_000 });
    expect((await played(root, "GET /api/redemption/search?keyword=改过")).data[0].quota).toBe(2_000);
    await played(root, `DELETE /api/redemption/${code["id"]}/`);
    expect((await played(root, "POST /api/user/topup", { key: keys[0] })).data).toBe(1_000);
  });

  test("users: made, switched, promoted, and the whole row back", async () => {
    await played(root, "POST /api/user/", {
      username: "olduser",
      display_name: "老用户",
      password: seedPassword,
    });
    const { data: found } = await played(root, "GET /api/user/search?keyword=olduser");
    const id = Number(found[0].id);
    expect(found[0]).toMatchObject({ role: 1, status: 1, group: "default" });
    for (const [action, data] of [
      ["disable", { status: 2, role: 1 }],
      ["enable", { status: 1, role: 1 }],
      ["promote", { status: 1, role: 10 }],
      ["demote", { status: 1, role: 1 }],
    ])
      expect(
        (await played(root, "POST /api/user/manage", { username: "olduser", action })).data,
      ).toMatchObject(data as object);
    const { data: loaded } = await played(root, `GET /api/user/${id}`);
    await played(root, "PUT /api/user/", { ...loaded, password: "", display_name: "改过", quota: 900, id });
    expect((await played(root, `GET /api/user/${id}`)).data).toMatchObject({
      display_name: "改过",
      quota: 900,
    });
    // Roles are 1, 10 and 100 on the wire, whatever permissions there are beside them.
    for (const role of [9, 2, 0, 11, 99, 100, 101, -1, 1.5])
      expect((await app.call(root, "PUT", "/api/user/", { ...loaded, password: "", id, role })).success).toBe(
        false,
      );
    expect((await played(root, `GET /api/user/${id}`)).data.role).toBe(loaded.role);
    expect((await firstOf(root, "/api/user/?p=0&order=quota"))["username"]).toEqual(expect.any(String));
    await played(root, "POST /api/topup", { user_id: id, quota: 100, remark: "补" });
    expect((await played(root, `GET /api/user/${id}`)).data.quota).toBe(1_000);
  });

  test("logs, options, and the user's own form", async () => {
    const filters = "p=0&type=0&username=&token_name=&model_name=&start_timestamp=0&end_timestamp=1999999999";
    expect((await played(root, `GET /api/log/?${filters}&channel=`)).data).toEqual(expect.any(Array));
    expect((await played(root, `GET /api/log/stat?${filters}&channel=`)).data).toMatchObject({ quota: 0 });
    expect((await played(root, `GET /api/log/self/?${filters}`)).data).toEqual(expect.any(Array));
    expect((await played(root, `GET /api/log/self/stat?${filters}`)).data).toMatchObject({ quota: 0 });
    const { data: options } = await played(root, "GET /api/option/");
    expect(options).toContainEqual({ key: "QuotaForNewUser", value: expect.any(String) });
    await played(root, "PUT /api/option/", { key: "QuotaForNewUser", value: "0" });
    await played(root, "PUT /api/option/", { key: "DisplayInCurrencyEnabled", value: "true" });
    const { data: self } = await played(root, "GET /api/user/self");
    await played(root, "PUT /api/user/self", { ...self, password: "", display_name: "Root" });
  });

  test("scripts: the access token alone, without Bearer and with it, and no header of a browser", async () => {
    const { data: token } = await played(root, "GET /api/user/token");
    expect(token).toMatch(/^[0-9a-f]{32}$/);
    for (const authorization of [token, `Bearer ${token}`]) {
      const who = { authorization };
      expect((await played(who, "GET /api/user/self")).data.role).toBe(100);
      const key = "sk-script-a\r\n\r\nsk-script-b\n";
      const channel = { name: "script", type: 1, key, models: "gpt-4o", group: "default" };
      await played(who, "POST /api/channel/", channel);
      const { data } = await played(who, "GET /api/channel/?p=0&page_size=100");
      const made = data.filter(({ name }: { name: string }) => name === "script");
      expect(made).toHaveLength(2);
      for (const { id } of made) await played(who, `DELETE /api/channel/${id}`);
      await played(who, "POST /api/token", { name: "by script", expired_time: -1, unlimited_quota: true });
    }
  });

  test("the wire knows three roles: no other is taken from any administrator, and staff with a set is 10", async () => {
    const target = await seedUser(app.ctx, "three_roles");
    const admin = await seedUser(app.ctx, "three_admin", { role: Role.admin });
    for (const role of [9, 0, 2, 11, 99, 100, 101, -1, 1e9]) {
      const refused = await app.call(root, "PUT", "/api/user/", { id: target.id, role });
      expect(refused, String(role)).toMatchObject({ success: false, message: "不能授予该角色" });
      const created = { username: `role${role}`, password: seedPassword, role };
      expect((await app.call(root, "POST", "/api/user/", created)).success, String(role)).toBe(false);
      expect((await app.call(admin.who, "PUT", "/api/user/", { id: target.id, role })).success).toBe(false);
    }
    for (const role of ["9", 9.5, null, "root", [10]])
      expect((await app.call(root, "PUT", "/api/user/", { id: target.id, role })).success).toBe(false);
    const set = await insertStaffSet(
      app.ctx.db,
      { name: "old console", permissions: "user.read,user.write" },
      1,
    );
    await assignStaffSet(app.ctx.db, admin.id, set);
    await app.ctx.coord.publish("users", "");
    expect((await played(admin.who, "GET /api/user/self")).data.role).toBe(10);
    const { data: all } = await played(root, "GET /api/user/?size=100");
    expect(new Set(all.map(({ role }: { role: number }) => role))).toEqual(new Set([1, 10, 100]));
    expect((await played(root, `GET /api/user/${target.id}`)).data.role).toBe(1);
  });

  test("an administrator with a set edits in the old console what the set allows, and nothing beside", async () => {
    const admin = await seedUser(app.ctx, "bound_admin", { role: Role.admin });
    const target = await seedUser(app.ctx, "edited");
    const set = await insertStaffSet(app.ctx.db, { name: "editor", permissions: "user.read,user.write" }, 1);
    await assignStaffSet(app.ctx.db, admin.id, set);
    await app.ctx.coord.publish("users", "");
    const { data: loaded } = await played(admin.who, `GET /api/user/${target.id}`);
    const form = { ...loaded, password: "", id: target.id };
    await played(admin.who, "PUT /api/user/", { ...form, display_name: "改名" });
    for (const change of [{ quota: 5_000 }, { group: "vip" }, { role: 10 }, { status: 2 }])
      expect(await app.call(admin.who, "PUT", "/api/user/", { ...form, ...change })).toMatchObject({
        success: false,
        message: "权限不够，无法修改这一项",
      });
    expect((await played(root, `GET /api/user/${target.id}`)).data).toMatchObject({
      ...{ display_name: "改名", quota: 500_000, group: "default", role: 1, status: 1 },
    });
  });
});
