// The calls of the console (requirements B7) line by line, each as it is documented, by the role it is for, with what its line says of
// the answer.
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { guide } from "#test/seeds/fuzz-recipes.ts";
import { type Answer, databases } from "#test/worlds/app.ts";
import { createFuzzWorld, type FuzzWorld, type Generation, newPeople } from "#test/worlds/fuzz-world.ts";

/** What a line says of its answer; `data` is nothing when it says nothing. */
interface Line {
  /** Method and path as the specification writes them. */
  readonly call: string;
  readonly beside?: object;
  readonly data?: unknown;
}

const text = expect.any(String);
const number = expect.any(Number);
const list = expect.any(Array);
const user = { id: number, username: text, display_name: text, role: number, status: number };
const row = (fields: object) => expect.arrayContaining([expect.objectContaining(fields)]);
const token = { id: number, name: text, key: text, status: number, used_quota: number, remain_quota: number };
const code = { id: number, name: text, key: text, status: number, quota: number, created_time: number };
const channel = { id: number, name: text, type: number, models: text, group: text, status: number };

const LINES: readonly Line[] = [
  // Account and auth
  { call: "POST /api/user/register?turnstile=proof", data: null },
  { call: "POST /api/user/login", data: user },
  { call: "GET /api/user/logout", data: null },
  { call: "GET /api/verification", data: null },
  { call: "GET /api/oauth/state", data: expect.stringMatching(/^[\w-]{43}$/) },
  { call: "GET /api/oauth/github", data: user },
  { call: "GET /api/oauth/wechat", data: user },
  { call: "GET /api/oauth/wechat/bind", data: null },
  { call: "GET /api/oauth/email/bind", data: null },
  { call: "GET /api/reset_password", data: null },
  { call: "POST /api/user/reset", data: expect.stringMatching(/^.{20}$/) },
  {
    call: "GET /api/status",
    data: {
      system_name: text,
      logo: text,
      footer_html: text,
      quota_per_unit: number,
      display_in_currency: expect.any(Boolean),
      chat_link: text,
      version: text,
      email_verification: expect.any(Boolean),
      turnstile_check: expect.any(Boolean),
      turnstile_site_key: text,
      github_oauth: expect.any(Boolean),
      github_client_id: text,
      wechat_login: expect.any(Boolean),
      wechat_qrcode: text,
    },
  },
  { call: "GET /api/models", data: { 1: list, 14: list, 31: list } },
  // Users
  { call: "GET /api/user/?p=0", data: row(user) },
  { call: "GET /api/user/search?keyword=root", data: row({ ...user, username: "root" }) },
  { call: "POST /api/user/manage", data: { status: 2, role: 1 } },
  { call: "GET /api/user/{id}", data: { ...user, quota: number, used_quota: number, group: "default" } },
  {
    call: "GET /api/user/self",
    data: {
      ...user,
      github_id: text,
      wechat_id: text,
      email: text,
      quota: number,
      used_quota: number,
      request_count: number,
      group: text,
      invite_commission_balance: text,
      inviter_id: number,
    },
  },
  { call: "POST /api/user/", data: null },
  { call: "PUT /api/user/", data: null },
  { call: "PUT /api/user/self", data: null },
  { call: "DELETE /api/user/self", data: null },
  // A code of 1000 with a gift code: 5 % more.
  { call: "POST /api/user/topup", data: 1_050 },
  { call: "GET /api/user/friends?page=1&size=10", data: list },
  {
    call: "GET /api/user/partner_plan_info",
    data: { aff_code: text, gift_code: text, invite_balance: text },
  },
  { call: "GET /api/group/", data: expect.arrayContaining(["default"]) },
  // Options
  { call: "GET /api/option/", data: row({ key: "SystemName", value: text }) },
  { call: "PUT /api/option/", data: null },
  // Channels
  { call: "GET /api/channel/?p=0", data: row(channel) },
  { call: "GET /api/channel/search?keyword=channel", data: list },
  { call: "GET /api/channel/{id}", data: channel },
  { call: "GET /api/channel/models", data: row({ id: "gpt-4o" }) },
  { call: "POST /api/channel/", data: 2 },
  { call: "PUT /api/channel/", data: channel },
  { call: "DELETE /api/channel/{id}/", data: null },
  { call: "DELETE /api/channel/disabled", data: number },
  { call: "GET /api/channel/test?scope=disabled" },
  { call: "GET /api/channel/test/{id}/", beside: { time: number, message: expect.stringMatching(/./) } },
  { call: "GET /api/channel/update_balance/{id}/", beside: { balance: 7.5 } },
  // Tokens
  { call: "GET /api/token/?p=0", data: row(token) },
  { call: "GET /api/token/search?keyword=seed", data: row(token) },
  { call: "GET /api/token/{id}", data: { ...token, unlimited_quota: true, expired_time: -1 } },
  { call: "POST /api/token/", data: { ...token, remain_quota: 5_000, unlimited_quota: false } },
  { call: "PUT /api/token/", data: { ...token, name: "renamed", remain_quota: 7 } },
  { call: "DELETE /api/token/{id}/", data: null },
  // Redemptions
  { call: "GET /api/redemption/?p=0", data: row(code) },
  { call: "GET /api/redemption/search?keyword=r", data: row(code) },
  { call: "GET /api/redemption/{id}", data: { ...code, redeemed_time: 0 } },
  { call: "POST /api/redemption/", data: [text, text, text] },
  { call: "PUT /api/redemption/", data: { ...code, name: "renamed", quota: 2_000 } },
  { call: "DELETE /api/redemption/{id}/", data: null },
  // Logs
  {
    call: "GET /api/log/?p=0&type=0&username=&token_name=&model_name=&start_timestamp=0&end_timestamp=9999999999&channel=0",
    data: row({
      id: number,
      created_at: number,
      channel: number,
      username: text,
      token_name: text,
      type: number,
    }),
  },
  {
    call: "GET /api/log/self/?p=0&type=1&token_name=&model_name=&start_timestamp=0&end_timestamp=9999999999",
    data: list,
  },
  { call: "GET /api/log/stat", data: { quota: number, token: number } },
  { call: "GET /api/log/self/stat", data: { quota: number, token: number } },
  { call: "GET /api/log/self/history", data: { usage: number, request: number } },
  { call: "DELETE /api/log/?target_timestamp=1", data: number },
];

const operations = new Map(
  Object.values(api)
    .flatMap((resource) => Object.values<Endpoint>(resource))
    .map((endpoint) => [
      `${endpoint.method} ${endpoint.path.replace(":id", "{id}").replace(/\/$/, "")}`,
      endpoint,
    ]),
);

describe.each(databases)("the calls of the specification on $name", (database) => {
  let world: FuzzWorld;
  let people: Generation;

  beforeAll(async () => {
    world = await createFuzzWorld(database, pino({ level: "silent" }));
    people = await newPeople(world, 0);
  }, 60_000);
  afterAll(() => world.close());

  const callerOf = (name: keyof Generation["callers"]) => people.callers[name];

  /** Makes the call of a line, with what it needs made for it. */
  async function make(call: string): Promise<Answer> {
    const [method = "", written = ""] = call.split(" ");
    const [path = "", query] = written.split("?");
    const endpoint =
      operations.get(`${method} ${path.replace(/\/$/, "")}`) ?? expect.fail(`no such call: ${call}`);
    const guided = await guide(world, people, { endpoint, route: `${method} ${endpoint.path}` });
    const [made = "", madeQuery] = guided.path.split("?");
    const id = /\/(\d+)\/?$/.exec(made)?.[1] ?? "";
    const search = madeQuery ?? query;
    const target = path.replace("{id}", id) + (search === undefined ? "" : `?${search}`);
    const who = { ...callerOf(guided.caller), ...guided.headers };
    return world.app.call(who, method, target, guided.body);
  }

  test.each(LINES)("$call", async ({ call, data, beside }) => {
    const answer = await make(call);
    expect(answer).toMatchObject({ status: 200, success: true, message: "", ...beside });
    // Every response carries success, message and data.
    expect(answer).toHaveProperty("data");
    if (data === null) expect(answer.data).toBeNull();
    else if (data !== undefined) expect(answer).toMatchObject({ data });
  });

  test("every endpoint of the specification is one of ours, and each of its lines is above", () => {
    const lines = LINES.map(({ call }) => call.split("?")[0]?.replace(/\/$/, ""));
    expect(lines.filter((line) => !operations.has(line ?? ""))).toEqual([]);
    expect(new Set(lines).size).toBe(lines.length);
  });

  test("status-only updates of tokens, redemptions and channels change the status and nothing else", async () => {
    const { call } = world.app;
    const { data: made } = await make("POST /api/token/");
    const stopped = await call(callerOf("alice"), "PUT", "/api/token/?status_only=true", {
      id: made.id,
      status: 2,
      name: "ignored",
    });
    expect(stopped.data).toMatchObject({ id: made.id, status: 2, name: "fresh" });
    const { data: codes } = await call(callerOf("admin"), "GET", "/api/redemption/?size=1");
    const off = { id: codes[0].id, status: 2, quota: 9 };
    const switched = await call(callerOf("admin"), "PUT", "/api/redemption/?status_only=true", off);
    expect(switched.data).toMatchObject({ status: 2, quota: codes[0].quota });
    const { data: channels } = await call(callerOf("admin"), "GET", "/api/channel/?size=1");
    const [{ id, name }] = channels;
    for (const change of [{ status: 2 }, { status: 1 }, { priority: 5 }, { weight: 0 }]) {
      const { data } = await call(callerOf("admin"), "PUT", "/api/channel/", { id, ...change });
      expect(data).toMatchObject({ id, name, ...change });
    }
  });

  test("an empty or blank search is the list (requirements B5)", async () => {
    for (const [path, caller] of [
      ["/api/token", "alice"],
      ["/api/redemption", "admin"],
      ["/api/channel", "admin"],
      ["/api/user", "admin"],
    ] as const) {
      const { data } = await world.app.call(callerOf(caller), "GET", `${path}/?p=0`);
      expect(data.length).toBeGreaterThan(0);
      for (const keyword of ["", "%20%20"]) {
        const found = await world.app.call(callerOf(caller), "GET", `${path}/search?keyword=${keyword}`);
        expect(found.data).toEqual(data);
      }
    }
  });

  test("search terms are trimmed (requirements B5)", async () => {
    const find = async (keyword: string) =>
      (await world.app.call(callerOf("admin"), "GET", `/api/user/search?keyword=${keyword}`)).data;
    expect(await find("%20root%20")).toEqual(await find("root"));
  });

  test("what must not be empty is refused with a sentence (requirements B5)", async () => {
    const refusals = [
      ["POST", "/api/user/login", { username: "", password: "" }, "guest"],
      ["POST", "/api/user/register", { username: "", password: "" }, "guest"],
      ["GET", "/api/verification?email=", undefined, "guest"],
      ["GET", "/api/reset_password?email=", undefined, "guest"],
      ["GET", "/api/oauth/wechat?code=", undefined, "guest"],
      ["GET", "/api/oauth/wechat/bind?code=", undefined, "alice"],
      ["GET", "/api/oauth/email/bind?email=&code=", undefined, "alice"],
      ["POST", "/api/user/", { username: "", password: "" }, "admin"],
      [
        "POST",
        "/api/token/",
        { name: "", remain_quota: 1, expired_time: -1, unlimited_quota: false },
        "alice",
      ],
      ["POST", "/api/redemption/", { name: "", quota: 1, count: 1 }, "admin"],
      ["POST", "/api/user/topup", { key: "" }, "alice"],
      ["POST", "/api/channel/", { type: 1, name: "", key: "", models: "m", group: "default" }, "admin"],
      ["POST", "/api/channel/", { type: 1, name: "n", key: "k", models: "", group: "default" }, "admin"],
      ["POST", "/api/channel/", { type: 1, name: "n", key: "k", models: "m", group: "" }, "admin"],
      ["DELETE", "/api/log/", undefined, "admin"],
    ] as const;
    for (const [method, path, body, caller] of refusals) {
      const answer = await world.app.call(callerOf(caller), method, path, body);
      expect(answer, `${method} ${path}`).toMatchObject({ status: 200, success: false, data: null });
      expect(answer.message, `${method} ${path}`).toMatch(/[\u4e00-\u9fff]{4}/);
    }
  });

  test("roles are numbers: 10 and above administers, 100 and above is super, anything lower is ordinary (requirements B6)", async () => {
    const { ctx, call } = world.app;
    const id = people.bob.id;
    for (const [role, isAdmin] of [
      [0, false],
      [1, false],
      [9, false],
      [10, true],
      [11, true],
      [99, true],
      [100, true],
      [101, true],
    ] as const) {
      await ctx.db.updateTable("users").set({ role }).where("id", "=", id).execute();
      await ctx.coord.publish("users", String(id));
      const list = await call(people.bob.who, "GET", "/api/channel/");
      expect([role, list.success]).toEqual([role, isAdmin]);
      const self = await call(people.bob.who, "GET", "/api/user/self");
      // No signed-in user has the role of a guest.
      expect([role, self.success]).toEqual([role, role >= 1]);
      const root = await call(people.bob.who, "PUT", "/api/option/", { key: "ServerAddress", value: "" });
      expect([role, root.success]).toEqual([role, role >= 100]);
    }
    await ctx.db.updateTable("users").set({ role: 1 }).where("id", "=", id).execute();
    await ctx.coord.publish("users", String(id));
  });
});
