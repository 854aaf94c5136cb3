// What the audit log says of logins, of opened keys and of denied acts (requirements K09, P05).
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type SeededUser, seedPassword, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asGuest, asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

interface Row {
  readonly action: string;
  readonly target: string;
  readonly actor_name: string;
  readonly detail: string;
  readonly address: string;
  readonly request_id: string;
}

/** Makes the database answer like a full disk. Returns a function that ends it. */
async function refuseWrites({ ctx: { db, store } }: TestApp): Promise<() => Promise<void>> {
  const run = async (...statements: string[]) => {
    for (const statement of statements) await sql.raw(statement).execute(db);
  };
  if (store.dialect === "sqlite") {
    await run("PRAGMA query_only = 1");
    return () => run("PRAGMA query_only = 0");
  }
  await run(
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
      AS $$BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END$$`,
    "CREATE TRIGGER full_disk BEFORE UPDATE ON audit_head FOR EACH STATEMENT EXECUTE FUNCTION full_disk()",
    "CREATE TRIGGER full_disk BEFORE UPDATE ON sessions FOR EACH STATEMENT EXECUTE FUNCTION full_disk()",
  );
  return () => run("DROP FUNCTION full_disk CASCADE");
}

describe.each(databases)("the audit log of access on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let alice: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    alice = await seedUser(app.ctx, "alice");
  });
  afterAll(() => app.close());

  /** Rows of an action, newest first. */
  const rows = async (action: string): Promise<Row[]> =>
    (await app.call(asRoot, "GET", `/api/audit/?size=100&action=${action}`)).data;

  const login = (username: string, password: string) =>
    app.call(asGuest, "POST", "/api/user/login", { username, password });

  test("a login is logged: the user, how, from where", async () => {
    expect((await login("alice", seedPassword)).success).toBe(true);
    expect((await rows("auth.login"))[0]).toMatchObject({
      actor_name: "alice",
      target: String(alice.id),
      detail: '{"via":"password"}',
      address: "127.0.0.1",
      request_id: expect.stringMatching(/^\d{8,}/),
    });
    const who = await app.login("alice", seedPassword);
    await app.call(who, "GET", "/api/user/logout");
    expect((await rows("auth.logout"))[0]).toMatchObject({ actor_name: "alice", target: String(alice.id) });
  });

  test("a refused login is logged, with the account it was for and nothing of what was typed", async () => {
    const banned = await seedUser(app.ctx, "banned", { status: 2 });
    await login("alice", "typed-canary-1");
    await login("typed-canary-2", "typed-canary-3");
    await login("banned", seedPassword);
    const found = await rows("auth.login_failed");
    expect(found.map(({ target, detail }) => [target, detail])).toEqual([
      [String(banned.id), '{"via":"password","reason":"disabled"}'],
      ["", '{"via":"password","reason":"unknown"}'],
      [String(alice.id), '{"via":"password","reason":"password"}'],
    ]);
    const all = await app.ctx.db.selectFrom("audit").selectAll().execute();
    expect(JSON.stringify(all)).not.toMatch(/typed-canary|river-stone/);
  });

  test("registering, a new password and a new access token are acts", async () => {
    await app.call(asGuest, "POST", "/api/user/register", { username: "newcomer", password: seedPassword });
    expect((await rows("auth.register"))[0]).toMatchObject({ actor_name: "newcomer" });
    const who = await app.login("newcomer", seedPassword);
    const { data: token } = await app.call(who, "GET", "/api/user/token");
    expect((await rows("user.access_token"))[0]).toMatchObject({ actor_name: "newcomer", detail: "" });
    const change = { password: "other-stone-43", original_password: seedPassword };
    expect((await app.call(who, "PUT", "/api/user/self", change)).success).toBe(true);
    expect((await rows("user.password"))[0]).toMatchObject({ actor_name: "newcomer", detail: "{}" });
    const all = JSON.stringify(await app.ctx.db.selectFrom("audit").selectAll().execute());
    expect(all).not.toContain(token);
    expect(all).not.toContain("other-stone");
  });

  test("making, changing and deleting a token is logged, its key is not", async () => {
    const draft = { name: "mine", remain_quota: 1_000, expired_time: -1, unlimited_quota: false };
    const { data: token } = await app.call(alice.who, "POST", "/api/token/", draft);
    await app.call(alice.who, "PUT", "/api/token/", { id: token.id, name: "ours", remain_quota: 7 });
    await app.call(alice.who, "PUT", "/api/token/?status_only=true", { id: token.id, status: 2 });
    await app.call(alice.who, "DELETE", `/api/token/${token.id}`);
    const found = (await rows("token")).filter(({ target }) => target === String(token.id));
    expect(found.map(({ action }) => action)).toEqual([
      "token.delete",
      "token.update",
      "token.update",
      "token.create",
    ]);
    expect(found[2]?.detail).toContain('"remain_quota":7');
    expect(JSON.stringify(await app.ctx.db.selectFrom("audit").selectAll().execute())).not.toContain(
      token.key,
    );
  });

  test.each([
    ["token", { name: "short", remain_quota: 1_000, expired_time: -1, unlimited_quota: true }],
    ["channel", { type: 1, name: "short", key: "sk-short", models: "gpt-4", group: "default" }],
  ])("no change of a %s is logged that was deleted by then", async (kind, draft) => {
    for (let round = 0; round < 10; round += 1) {
      await app.call(asRoot, "POST", `/api/${kind}/`, draft);
      const { id } = (await app.call(asRoot, "GET", `/api/${kind}/?size=1`)).data[0];
      const change = { ...draft, id, name: "long" };
      await Promise.all([
        app.call(asRoot, "PUT", `/api/${kind}/`, change),
        app.call(asRoot, "DELETE", `/api/${kind}/${id}`),
      ]);
      const [newest] = (await rows(kind)).filter(({ target }) => target === String(id));
      expect(newest?.action).toBe(`${kind}.delete`);
    }
  });

  test("an opened key is logged once an hour, address and account", async () => {
    const { id } = await seedToken(app.ctx, alice.id);
    for (let call = 0; call < 3; call += 1) await app.call(alice.who, "GET", `/api/token/${id}`);
    const opened = async () =>
      (await rows("token.reveal")).filter(({ target }) => target.split(",").includes(String(id)));
    expect(await opened()).toMatchObject([{ actor_name: "alice", address: "127.0.0.1" }]);
    clock.advance(3_600_001);
    await app.call(alice.who, "GET", "/api/token/?size=100");
    expect(await opened()).toHaveLength(2);
    await app.call(alice.who, "GET", "/api/token/search?keyword=seed");
    expect(await opened()).toHaveLength(2);
  });

  test("an opened code is logged too, for each administrator", async () => {
    const admin = await seedUser(app.ctx, "keeper", { role: 10 });
    await app.call(asRoot, "POST", "/api/redemption/", { name: "codes", quota: 5, count: 2 });
    await app.call(asRoot, "GET", "/api/redemption/");
    await app.call(admin.who, "GET", "/api/redemption/search?keyword=codes");
    await app.call(admin.who, "GET", "/api/redemption/1");
    const found = await rows("redemption.reveal");
    expect(found.map(({ actor_name, target }) => [actor_name, target])).toEqual([
      ["keeper", "2,1"],
      ["root", "2,1"],
    ]);
  });

  test("a hundred openings in a minute are too many, for one account and not for others", async () => {
    clock.advance(60_000);
    const bob = await seedUser(app.ctx, "bob");
    const statuses: number[] = [];
    for (let call = 0; call < 100; call += 1)
      statuses.push((await app.call(bob.who, "GET", "/api/token/")).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.at(-1)).toBe(429);
    expect((await app.call(alice.who, "GET", "/api/token/")).status).toBe(200);
    clock.advance(60_000);
    expect((await app.call(bob.who, "GET", "/api/token/")).status).toBe(200);
  });

  test("a key whose opening cannot be logged is not shown", async () => {
    const { id, key } = await seedToken(app.ctx, alice.id);
    const head = await app.ctx.db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await app.ctx.db.deleteFrom("audit_head").execute();
    const answer = await app.call(alice.who, "GET", `/api/token/${id}`);
    await app.ctx.db.insertInto("audit_head").values(head).execute();
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer)).not.toContain(key);
    expect((await app.call(alice.who, "GET", `/api/token/${id}`)).data.key).toBe(key);
  });

  test("while nothing can be written, lists are read in old sessions, without keys that are not in the audit log", async () => {
    clock.advance(60_000);
    const carol = await seedUser(app.ctx, "carol");
    const known = await seedToken(app.ctx, carol.id);
    const who = await app.login("carol", seedPassword);
    await app.call(who, "GET", `/api/token/${known.id}`);
    const fresh = await seedToken(app.ctx, carol.id);
    const list = async () => {
      const { success, data } = await app.call(who, "GET", "/api/token/");
      return success && data.map(({ id, key }: { id: number; key: string }) => [id, key]);
    };
    const heal = await refuseWrites(app);
    clock.advance(70_000);
    expect(await list()).toEqual([
      [fresh.id, ""],
      [known.id, known.key],
    ]);
    expect((await app.call(who, "GET", `/api/token/${fresh.id}`)).data).toMatchObject({ key: "", status: 1 });
    await heal();
    expect(await list()).toEqual([
      [fresh.id, fresh.key],
      [known.id, known.key],
    ]);
    expect((await rows("token.reveal")).slice(0, 2).map(({ target }) => target)).toEqual([
      String(fresh.id),
      String(known.id),
    ]);
  });

  test("an act that the role does not allow is logged once an hour", async () => {
    for (let call = 0; call < 3; call += 1) await app.call(alice.who, "GET", "/api/channel/");
    expect(await rows("auth.denied")).toMatchObject([{ actor_name: "alice", target: "GET /api/channel/" }]);
    clock.advance(3_600_001);
    await app.call(alice.who, "GET", "/api/channel/");
    expect(await rows("auth.denied")).toHaveLength(2);
  });

  test("an act that the rank does not allow is logged with its target, once an hour, though all else is rolled back", async () => {
    const admin = await seedUser(app.ctx, "climber", { role: 10 });
    const tries: readonly [string, string, object | undefined, string][] = [
      ["GET", "/api/user/1", undefined, "user 1"],
      ["PUT", "/api/user/", { id: 1, display_name: "mine" }, "user 1"],
      ["PUT", "/api/user/", { id: alice.id, role: 10 }, `user ${alice.id}`],
      ["POST", "/api/user/", { username: "twin", password: seedPassword, role: 10 }, "role"],
      ["POST", "/api/user/manage", { username: "root", action: "disable" }, "user 1"],
      ["POST", "/api/user/manage", { username: "alice", action: "promote" }, `user ${alice.id}`],
      ["DELETE", "/api/user/1", undefined, "user 1"],
      ["POST", "/api/topup", { user_id: 1, quota: 5, remark: "x" }, "user 1"],
      ["PUT", "/api/option/", { key: "SMTPServer", value: "mail.evil.example" }, "SMTPServer"],
    ];
    const before = (await rows("auth.denied")).length;
    for (let round = 0; round < 2; round += 1)
      for (const [method, path, body] of tries) {
        const answer = await app.call(admin.who, method, path, body);
        expect(answer, `${method} ${path}`).toMatchObject({ status: 200, success: false });
      }
    const found = (await rows("auth.denied")).slice(0, -before).reverse();
    expect(found.map(({ actor_name, target, detail }) => [actor_name, target, detail])).toEqual(
      tries.map(([method, path, , about]) => [
        "climber",
        `${method} ${path.replace("/1", "/:id")}`,
        JSON.stringify({ about }),
      ]),
    );
    expect((await rows("option.update")).some(({ target }) => target === "SMTPServer")).toBe(false);
  });

  test("the chain of the audit log is intact after all of it", async () => {
    const { chain, total } = await app.call(asRoot, "GET", "/api/audit/?verify=true");
    expect(chain).toEqual({ checked: total, broken_id: 0 });
  });
});
