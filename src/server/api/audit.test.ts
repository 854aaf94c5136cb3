// The audit log of administrators' acts: complete, chained, append-only, one with the act itself (requirements Z13, P05).
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { LogType } from "#contract/log.ts";
import { verifyAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";
import { insertLog } from "#server/store/logs.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { newLog } from "#test/worlds/stores.ts";

const CHANNEL = {
  type: 1,
  name: "main",
  key: "sk-trail-canary-1234567890",
  models: "gpt-4o",
  group: "default",
};

/** Endpoints that have a test of their own. */
const MADE_FOR =
  /^\/api\/(payment|payout_queue|plan|limit|login_provider|mail_domain|price|alert|team|staff|service_account|group|task|invoice_queue)\b|\/keys\b|\/upstream_models\/|^\/api\/token\/forget|^\/api\/user\/:id\/(token|view)/;

describe.each(databases)("the audit log on $name", (database) => {
  let app: TestApp;
  let admin: SeededUser;
  let upstream: FakeUpstream;
  let db: Db;

  beforeAll(async () => {
    app = await createAppOn(database);
    upstream = await createFakeUpstream();
    upstream.script((res, asked) =>
      json(asked.path.includes("/billing/") ? { hard_limit_usd: 5, total_usage: 0 } : chatReply("hi"))(
        res,
        asked,
      ),
    );
    admin = await seedUser(app.ctx, "admin", { role: 10 });
    db = app.ctx.db;
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });

  const read = (query = "") => app.call(admin.who, "GET", `/api/audit/?${query}`);
  const newest = async () => (await read("size=1")).data[0];
  const put = (key: string, value: string, who = asRoot) =>
    app.call(who, "PUT", "/api/option/", { key, value });

  test("each row has the actor, the act, its target, the address and the request", async () => {
    const response = await app.request("/api/option/", {
      method: "PUT",
      headers: { ...asRoot, host: "localhost" },
      body: JSON.stringify({ key: "SystemName", value: "Trail" }),
    });
    expect(await newest()).toMatchObject({
      actor_name: "root",
      action: "option.update",
      target: "SystemName",
      detail: '{"value":"Trail","before":{"value":"Tollgate"}}',
      address: "127.0.0.1",
      request_id: response.headers.get("x-oneapi-request-id"),
    });
  });

  test("what was done to a channel is logged in full, its key is not", async () => {
    const { data: count } = await app.call(admin.who, "POST", "/api/channel/", CHANNEL);
    expect(count).toBe(1);
    const { id } = (await app.call(admin.who, "GET", "/api/channel/?size=1")).data[0];
    expect(await newest()).toMatchObject({ actor_id: admin.id, action: "channel.create", target: "main" });
    await app.call(admin.who, "PUT", "/api/channel/", {
      id,
      key: "sk-trail-canary-0987654321",
      weight: 3,
      name: "main",
    });
    expect(await newest()).toMatchObject({
      action: "channel.update",
      target: String(id),
      detail: '{"weight":3,"key":"changed","before":{"weight":0}}',
    });
    await app.call(admin.who, "DELETE", `/api/channel/${id}`);
    expect(await newest()).toMatchObject({
      action: "channel.delete",
      target: String(id),
      detail: '{"name":"main"}',
    });
    await app.call(admin.who, "DELETE", "/api/channel/disabled");
    expect(await newest()).toMatchObject({ action: "channel.delete_disabled", detail: '{"count":0}' });
    await put("SMTPToken", "mail-trail-canary");
    expect(await newest()).toMatchObject({ target: "SMTPToken", detail: '{"value":"changed"}' });
    expect(JSON.stringify(await db.selectFrom("audit").selectAll().execute())).not.toContain("canary");
  });

  test("what a field was stands beside what it became; of long texts the part that differs", async () => {
    const models = Array.from({ length: 200 }, (_, index) => `model-${index}`);
    await app.call(admin.who, "POST", "/api/channel/", {
      ...CHANNEL,
      name: "long",
      models: models.join(","),
    });
    const { id } = (await app.call(admin.who, "GET", "/api/channel/?size=1")).data[0];
    const changed = models.map((model) => (model === "model-150" ? "model-x" : model)).join(",");
    await app.call(admin.who, "PUT", "/api/channel/", { id, models: changed, name: "short" });
    const { detail } = await newest();
    const { name, models: after, before } = JSON.parse(detail);
    expect([before.name, name]).toEqual(["long", "short"]);
    expect(after).toContain("model-149,model-x,model-151");
    expect(before.models).toContain("model-149,model-150,model-151");
    expect(after.length).toBeLessThan(250);
    const someone = await seedUser(app.ctx, "changed");
    await app.call(asRoot, "PUT", "/api/user/", { id: someone.id, password: "quiet-lantern-7", role: 10 });
    expect((await newest()).detail).toBe('{"role":10,"password":"changed","before":{"role":1}}');
    await app.call(asRoot, "POST", "/api/user/manage", { username: "changed", action: "demote" });
    expect(JSON.parse((await newest()).detail)).toMatchObject({ role: 1, before: { role: 10 } });
  });

  test("is filtered by actor, act, target and time, and the total is that of the filter", async () => {
    const { id } = await seedUser(app.ctx, "filtered");
    const rename = (display_name: string, who = asRoot) =>
      app.call(who, "PUT", "/api/user/", { id, display_name });
    await rename("甲");
    await rename("乙", admin.who);
    const found = async (query: string) => {
      const { data, total } = await read(`${query}&target=${id}`);
      expect(total).toBe(data.length);
      return data.map((row: { actor_name: string; detail: string }) => [
        row.actor_name,
        JSON.parse(row.detail),
      ]);
    };
    const first = ["root", { display_name: "甲", before: { display_name: "filtered" } }];
    const second = ["admin", { display_name: "乙", before: { display_name: "甲" } }];
    expect(await found("action=user")).toEqual([second, first]);
    expect(await found("action=user.update&username=root")).toEqual([first]);
    expect(await found(`actor_id=${admin.id}`)).toEqual([second]);
    expect(await found("action=use")).toEqual([]);
    const { created_at: at } = await newest();
    expect(await found(`start_timestamp=${at}&end_timestamp=${at}&username=admin`)).toEqual([second]);
    expect(await found(`start_timestamp=${at + 1}`)).toEqual([]);
    expect(await found("end_timestamp=1")).toEqual([]);
    expect(await found("start_timestamp=x&end_timestamp=-1")).toHaveLength(2);
  });

  test("there is no administrative write without its row", async () => {
    const user = await seedUser(app.ctx, "subject");
    const gone = await seedUser(app.ctx, "gone");
    const leaked = await seedToken(app.ctx, user.id);
    await sql`UPDATE users SET invite_commission_micro = 200000000 WHERE id = ${user.id}`.execute(db);
    const codes = await app.call(admin.who, "POST", "/api/redemption/", {
      name: "codes",
      quota: 5,
      count: 1,
    });
    expect(codes.success).toBe(true);
    const code = (await app.call(admin.who, "GET", "/api/redemption/?size=1")).data[0];
    await app.call(admin.who, "POST", "/api/channel/", { ...CHANNEL, base_url: upstream.url });
    const channel = (await app.call(admin.who, "GET", "/api/channel/?size=1")).data[0];
    const invitation = (await app.call(admin.who, "POST", "/api/invitation/", {})).data;
    const writes: Record<string, object | undefined> = {
      "POST /api/user/": { username: "newcomer", password: "river-stone-42", display_name: "x" },
      "PUT /api/user/": { id: user.id, display_name: "renamed" },
      "POST /api/user/factor/reset": { id: user.id, reason: "lost" },
      "POST /api/user/manage": { username: "subject", action: "disable" },
      "DELETE /api/user/:id": undefined,
      "POST /api/invitation/": { quota: 5 },
      "DELETE /api/invitation/:id": undefined,
      "POST /api/redemption/": { name: "more", quota: 5, count: 2 },
      "PUT /api/redemption/": { id: code.id, name: "renamed", quota: 6 },
      "DELETE /api/redemption/:id": undefined,
      "POST /api/topup": { user_id: user.id, quota: 5, remark: "x" },
      "POST /api/user/withdrawal": { user_id: user.id, amount: "150", remark: "paid" },
      "GET /api/channel/test/:id": undefined,
      "GET /api/channel/test": undefined,
      "GET /api/channel/update_balance/:id": undefined,
      "GET /api/channel/update_balance": undefined,
      "POST /api/channel/": CHANNEL,
      "POST /api/channel/copy/:id": undefined,
      "POST /api/token/find": { key: leaked.key },
      "POST /api/token/disable": { id: leaked.id },
      "PUT /api/channel/": { id: channel.id, weight: 9 },
      "DELETE /api/channel/disabled": undefined,
      "DELETE /api/channel/:id": undefined,
      "DELETE /api/log/": undefined,
      "PUT /api/option/": { key: "Notice", value: "x" },
    };
    const ids: Record<string, number> = {
      user: gone.id,
      invitation: invitation.id,
      redemption: code.id,
      channel: channel.id,
    };
    const endpoints = Object.values(api)
      .flatMap((resource) => Object.values<Endpoint>(resource))
      .filter(
        ({ level, method, mutates }) => ["admin", "root"].includes(level) && (method !== "GET" || mutates),
      )
      // Asks a provider for its models, shows a request: queries with a body, which change nothing.
      .filter(({ path }) => !/upstream_models$|rewrite\/preview$/.test(path))
      // Need orders, limits, keys and tokens made for them: audit-made-rows.test.ts.
      .filter(({ path }) => !MADE_FOR.test(path));
    expect(endpoints.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      Object.keys(writes).sort(),
    );
    // What asks for a proof takes no access token.
    const traits = { stepup_at: app.ctx.clock.seconds() };
    const proven = { cookie: `session=${await app.ctx.sessions.start(1, {}, { traits })}` };
    for (const { method, path, stepUp } of endpoints) {
      const before = (await read("size=1")).total;
      const id = ids[path.split("/")[2] ?? ""] ?? 0;
      const target = path === "/api/log/" ? `${path}?target_timestamp=1` : path.replace(":id", String(id));
      const answer = await app.call(
        stepUp === "always" ? proven : asRoot,
        method,
        target,
        writes[`${method} ${path}`],
      );
      expect(answer, `${method} ${path}`).toMatchObject({ success: true });
      const { total, data } = await read("size=1");
      // A clearing has two rows: that it began, and its outcome.
      expect(total, `${method} ${path}`).toBe(before + (path === "/api/log/" ? 2 : 1));
      expect(data[0]).toMatchObject({ actor_name: "root", action: expect.stringMatching(/^[a-z]+\./) });
    }
  });

  test("clearing the usage log is an act, and leaves the audit log alone", async () => {
    const { total } = await read();
    await insertLog(db, newLog({ type: LogType.consume }));
    const { data: count } = await app.call(admin.who, "DELETE", "/api/log/?target_timestamp=9999999999");
    expect(count).toBeGreaterThan(0);
    expect((await read()).total).toBe(total + 2);
    expect((await read("size=2")).data).toMatchObject([
      { action: "log.cleared", target: "9999999999", detail: JSON.stringify({ count }) },
      { action: "log.clear", target: "9999999999" },
    ]);
  });

  test("pages and filters by actor and by action", async () => {
    const all = await read("size=100");
    expect(all.total).toBe(all.data.length);
    expect((await read("size=2&p=1")).data).toEqual(all.data.slice(2, 4));
    const channel = await read("action=channel&size=100");
    expect(channel.data.length).toBeGreaterThan(3);
    expect(channel.data.every((row: { action: string }) => row.action.startsWith("channel."))).toBe(true);
    expect((await read("action=option.update&actor_id=1")).total).toBeGreaterThan(0);
    expect((await read(`action=option.update&actor_id=${admin.id}`)).total).toBe(0);
    expect((await read("action=chan")).total).toBe(0);
  });

  test("acts at the same time make one chain without gaps", async () => {
    await Promise.all(Array.from({ length: 30 }, (_, index) => put("TopUpLink", `/topup/${index}`)));
    const { chain, total } = await read("verify=true");
    expect(chain).toEqual({ checked: total, broken_id: 0 });
    expect((await read("verify=false")).chain).toBeUndefined();
  });

  test("the whole chain is read once for all requests at the same time, and again for a later one", async () => {
    const first = verifyAudit(db);
    expect(verifyAudit(db)).toBe(first);
    const { checked } = await first;
    await put("TopUpLink", "/topup/once-more");
    expect(await verifyAudit(db)).toEqual({ checked: checked + 1, brokenId: 0 });
  });

  test("an act that cannot be logged does not happen", async () => {
    const before = app.ctx.options.get("SystemName");
    await app.call(admin.who, "POST", "/api/channel/", { ...CHANNEL, base_url: upstream.url });
    const { total, data } = await app.call(asRoot, "GET", "/api/channel/");
    const [channel] = data;
    // Runs that earlier tests started end first.
    for (const name of ["channel-tests", "channel-balances"])
      await expect.poll(() => app.ctx.coord.lock(name, async () => true)).toBe(true);
    upstream.journal.length = 0;
    const logs = await app.call(asRoot, "GET", "/api/log/?type=3");
    const head = await db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await db.deleteFrom("audit_head").execute();
    expect((await put("SystemName", "Unwritten")).status).toBe(500);
    expect((await app.call(admin.who, "POST", "/api/channel/", CHANNEL)).status).toBe(500);
    await insertLog(db, newLog({ type: LogType.consume, content: "stays" }));
    for (const [method, path] of [
      ["DELETE", "/api/log/?target_timestamp=9999999999"],
      ["GET", `/api/channel/test/${channel.id}`],
      ["GET", "/api/channel/test"],
      ["GET", `/api/channel/update_balance/${channel.id}`],
      ["GET", "/api/channel/update_balance"],
    ] as const)
      expect((await app.call(admin.who, method, path)).status, path).toBe(500);
    expect(upstream.journal).toEqual([]);
    expect(await db.selectFrom("logs").select("id").where("content", "=", "stays").execute()).toHaveLength(1);
    await db.insertInto("audit_head").values(head).execute();
    await app.ctx.options.reload();
    expect(app.ctx.options.get("SystemName")).toBe(before);
    expect((await app.call(asRoot, "GET", "/api/channel/")).total).toBe(total);
    expect((await app.call(asRoot, "GET", "/api/log/?type=3")).total).toBe(logs.total);
  });

  test("the database itself refuses to change or remove an act", async () => {
    await expect(db.updateTable("audit").set({ detail: "" }).where("id", "=", 1).execute()).rejects.toThrow(
      /append-only/,
    );
    await expect(db.deleteFrom("audit").where("id", "=", 1).execute()).rejects.toThrow(/append-only/);
  });

  test("changes behind the database's back are found: an edited row, a removed one, a cut end", async () => {
    const rows = await db.selectFrom("audit").selectAll().orderBy("id").execute();
    const last = rows.at(-1);
    if (database.name === "SQLite") {
      await sql`DROP TRIGGER audit_no_update`.execute(db);
      await sql`DROP TRIGGER audit_no_delete`.execute(db);
    } else await sql`ALTER TABLE audit DISABLE TRIGGER ALL`.execute(db);
    const broken = async () => (await read("verify=true")).chain.broken_id;
    await db.updateTable("audit").set({ actor_name: "nobody" }).where("id", "=", 2).execute();
    expect(await broken()).toBe(2);
    await db
      .updateTable("audit")
      .set({ actor_name: rows[1]?.actor_name ?? "" })
      .where("id", "=", 2)
      .execute();
    expect(await broken()).toBe(0);
    await db.deleteFrom("audit").where("id", "=", 3).execute();
    expect(await broken()).toBe(3);
    if (rows[2]) await db.insertInto("audit").values(rows[2]).execute();
    expect(await broken()).toBe(0);
    await db
      .deleteFrom("audit")
      .where("id", "=", last?.id ?? 0)
      .execute();
    expect(await broken()).toBe(last?.id);
  });

  test("users do not read it", async () => {
    const alice = await seedUser(app.ctx, "alice");
    expect(await app.call(alice.who, "GET", "/api/audit/")).toMatchObject({ success: false, data: null });
  });
});
