// What a key reads of itself, over real HTTP (requirements L11).
import { beforeEach, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { fakeClock } from "#server/clock.ts";
import { chatReply } from "#test/emulators/fake-upstream.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { createTestApp, databases } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";
import { moveToken, seedMember, seedProject, seedTeam } from "#test/worlds/teams.ts";

describe.each(databases)("what a key reads of itself on $name", (database) => {
  const world = createRelayWorld({ database });
  beforeEach(() => dropLimits(world.ctx));

  /** Answers of these paths are JSON of known form; a test that gets another fails on its first look. */
  async function read(path: string, key = world.token.key) {
    const answer = await fetch(world.url + path, { headers: { authorization: `Bearer sk-${key}` } });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  }

  test("a key reads balance and its own windows after a call, in each form", async () => {
    await world.addChannel();
    await world.changeToken({ unlimited_quota: 0, remain_quota: 1_000_000 });
    await seedLimit(world.ctx, {
      subject: "token",
      subject_id: world.token.id,
      kind: "quota",
      amount: 500_000,
      time_window: "day",
    });
    await seedLimit(world.ctx, { subject: "all", kind: "quota", amount: 9_000_000 });
    const { charged } = await world.costOf(async () => (await world.ask(QUESTION)).text());
    expect(charged).toBeGreaterThan(0);
    const key = await read("/v1/key");
    expect(key.body.data).toMatchObject({
      limit: 2,
      limit_remaining: (1_000_000 - charged) / 500_000,
      usage: charged / 500_000,
      usage_daily: charged / 500_000,
      usage_weekly: charged / 500_000,
      usage_monthly: charged / 500_000,
    });
    // Not what everybody together uses.
    expect(key.body.data.windows).toMatchObject([
      { scope: "token", window: "day", limit: 500_000, used: charged, remaining: 500_000 - charged },
    ]);
    expect(key.body.data.windows[0].resets_at).toBeGreaterThan(world.ctx.clock.seconds());
    expect((await read("/v1/usage")).body).toMatchObject({ used: charged, remaining: 1_000_000 - charged });
    expect((await read("/api/usage/token")).body).toMatchObject({
      code: true,
      data: {
        total_granted: 1_000_000,
        total_used: charged,
        total_available: 1_000_000 - charged,
        windows: [
          { scope: "token", window: "day", limit: 500_000, used: charged, remaining: 500_000 - charged },
        ],
      },
    });
  });

  test.each([
    [{ status: 4, remain_quota: 0, unlimited_quota: 0 }, 200],
    [{ status: 3, expired_time: 1 }, 200],
    [{ status: 2 }, 401],
    [{ subnet: "192.0.2.0/24" }, 403],
  ] as const)("of a key that is %j: %d", async (change, status) => {
    await world.changeToken(change);
    for (const path of ["/v1/key", "/v1/usage", "/api/usage/token"])
      expect((await read(path)).status, path).toBe(status);
  });

  test("an unknown key is refused, and others' names are not told", async () => {
    const other = await seedToken(world.ctx, world.userId, "somebody-else");
    expect(other.id).not.toBe(world.token.id);
    expect((await read("/v1/key", "nobody")).status).toBe(401);
    for (const path of ["/v1/key", "/v1/usage", "/api/usage/token"])
      expect(JSON.stringify((await read(path)).body)).not.toMatch(/somebody-else|caller/);
  });

  test("a key of the relay opens nothing else below /api", async () => {
    const made = await database.create();
    const app = await createTestApp({ databaseUrl: made.url });
    const { key } = await seedToken(app.ctx, 1);
    const guarded = Object.values(api)
      .flatMap((resource) => Object.values<Endpoint>(resource))
      .filter(({ level }) => level !== "public");
    expect(guarded.length).toBeGreaterThan(100);
    for (const { method, path } of guarded)
      for (const authorization of [`Bearer sk-${key}`, `sk-${key}`, key]) {
        // As the family answers an access token that is none.
        const answer = await app.call({ authorization }, method, path.replace(/:\w+/g, "1"));
        expect(answer, `${method} ${path}`).toMatchObject({ success: false, message: "访问凭证无效" });
      }
    await app.close();
    await made.drop();
  });

  test("30 times in a minute, each key by itself", async () => {
    // At once: a slow machine would get one more every two seconds.
    const reads = await Promise.all(Array.from({ length: 31 }, () => read("/v1/usage")));
    const statuses = reads.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 200), 429]);
    const other = await seedToken(world.ctx, world.userId, "second");
    expect((await read("/v1/usage", other.key)).status).toBe(200);
  });

  const limits = async (key = world.token.key) => (await read("/v1/usage", key)).body.limits;
  const own = () => ({ subject: "token", subject_id: world.token.id }) as const;

  test("what binds it by the minute, at once and by call, with what is left, also once it is used up", async () => {
    await world.addChannel();
    await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 6 });
    await seedLimit(world.ctx, { ...own(), kind: "tpm", amount: 100, model_pattern: "gpt-*" });
    await seedLimit(world.ctx, { ...own(), kind: "input_tpm", amount: 70 });
    await seedLimit(world.ctx, { ...own(), kind: "output_tpm", amount: 20 });
    await seedLimit(world.ctx, { ...own(), kind: "running", amount: 4 });
    const raised = { boost_amount: 500, boost_until: world.ctx.clock.seconds() + 3_600 };
    await seedLimit(world.ctx, { ...own(), kind: "cost", amount: 1_000, mode: "clamp", ...raised });
    await seedLimit(world.ctx, { ...own(), kind: "calls", amount: 100, time_window: "day" });
    // Their amounts bind this key; how much others have used of them does not concern it.
    await seedLimit(world.ctx, { subject: "all", kind: "rpm", amount: 900 });
    await seedLimit(world.ctx, { subject: "group", subject_name: "default", kind: "running", amount: 50 });
    await (await world.ask({ ...QUESTION, max_tokens: 5 })).text();
    const of = { scope: "token", model: "" };
    const at = expect.any(Number);
    const isLeft = { remaining: at, resets_at: at };
    const told = [
      { ...of, kind: "rpm", limit: 6, remaining: 5, resets_at: at },
      { ...of, kind: "tpm", model: "gpt-*", limit: 100, ...isLeft },
      { ...of, kind: "input_tpm", limit: 70, ...isLeft },
      { ...of, kind: "output_tpm", limit: 20, ...isLeft },
      { ...of, kind: "running", limit: 4, running: 0 },
      { ...of, kind: "cost", mode: "clamp", limit: 1_500 },
      { ...of, scope: "group", kind: "running", limit: 50, running: null },
      { ...of, scope: "all", kind: "rpm", limit: 900, remaining: null, resets_at: null },
    ];
    expect(await limits()).toEqual(told);
    await world.changeToken({ status: 4, remain_quota: 0, unlimited_quota: 0 });
    for (const [path, part] of [
      ["/v1/usage", (body: object) => body],
      ["/v1/key", ({ data }: { data: object }) => data],
      ["/api/usage/token", ({ data }: { data: object }) => data],
    ] as const) {
      const { status, body } = await read(path);
      expect([path, status]).toEqual([path, 200]);
      expect(part(body)).toMatchObject({
        limits: told,
        windows: [{ scope: "token", kind: "calls", window: "day", limit: 100, used: 1, remaining: 99 }],
      });
    }
  });

  test("calls that run now, and the limits that options set for all", async () => {
    await world.addChannel();
    await seedLimit(world.ctx, { ...own(), kind: "running", amount: 4 });
    const options = { TokenRequestsPerMinute: "30", UserConcurrency: "8" } as const;
    for (const [key, value] of Object.entries(options))
      await world.setOption(key as keyof typeof options, value);
    let open = () => undefined as unknown;
    world.upstream.script((res) => {
      open = () =>
        res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(chatReply("hi")));
    });
    const before = world.upstream.journal.length;
    const running = world.ask(QUESTION);
    await expect.poll(() => world.upstream.journal.length).toBe(before + 1);
    const of = { model: "" };
    expect(await limits()).toEqual([
      { ...of, scope: "token", kind: "rpm", limit: 30, remaining: 29, resets_at: expect.any(Number) },
      { ...of, scope: "user", kind: "running", limit: 8, running: 1 },
      { ...of, scope: "token", kind: "running", limit: 4, running: 1 },
    ]);
    open();
    await (await running).text();
    await expect
      .poll(async () => (await limits()).map((one: { running?: number }) => one.running))
      .toEqual([undefined, 0, 0]);
    for (const key of Object.keys(options)) await world.setOption(key as keyof typeof options, "0");
  });

  test.each([
    ["member", false],
    ["manager", true],
    ["owner", true],
  ] as const)(
    "of a team's key the caps of its member, project and team, and no others; its %s reads what they use: %s",
    async (role, isTold) => {
      const { ctx } = world;
      const { walletId } = await seedTeam(ctx.db, ctx.ledger, { quota: 1_000_000n });
      await seedMember(ctx.db, world.userId, walletId, role);
      const seat = await ctx.db
        .selectFrom("team_members")
        .innerJoin("teams", "teams.id", "team_members.team_id")
        .select("team_members.id")
        .where("teams.wallet_id", "=", walletId)
        .executeTakeFirstOrThrow();
      const [mine, others] = [await seedProject(ctx.db, walletId), await seedProject(ctx.db, walletId)];
      await moveToken(ctx.db, world.token.id, { wallet_id: walletId, project_id: mine });
      const month = { amount: 500_000, time_window: "month" } as const;
      await seedLimit(ctx, { ...month, subject: "seat", subject_id: seat.id });
      await seedLimit(ctx, { ...month, subject: "project", subject_id: mine });
      await seedLimit(ctx, { ...month, subject: "project", subject_id: others, amount: 7 });
      await seedLimit(ctx, { ...month, subject: "team", subject_id: walletId });
      await seedLimit(ctx, { subject: "team", subject_id: walletId, kind: "rpm", amount: 90 });
      await world.addChannel();
      const { body } = await read("/v1/usage");
      const cap = { kind: "quota", window: "month", limit: 500_000, used: 0, remaining: 500_000 };
      const hidden = { ...cap, used: null, remaining: null, resets_at: null };
      const shared = isTold ? cap : hidden;
      expect(body.windows).toMatchObject([
        { ...cap, scope: "member" },
        { ...shared, scope: "project" },
        { ...shared, scope: "team" },
      ]);
      expect(body.limits).toEqual([
        { scope: "team", model: "", kind: "rpm", limit: 90, remaining: isTold ? 90 : null, resets_at: null },
      ]);
      for (const path of ["/v1/key", "/api/usage/token"])
        expect((await read(path)).body.data.windows).toEqual(body.windows);
      const text = JSON.stringify(body);
      for (const name of [/team\d/, /project\d/, /@/, new RegExp(MODEL)]) expect(text).not.toMatch(name);
    },
  );
});

describe.each(databases)("what a key has used in its days, weeks and months on $name", (database) => {
  const clock = fakeClock();
  const world = createRelayWorld({ database, clock });
  const DAY_MS = 86_400_000;

  test("is its own by the calendar of budgets, whatever a token of the same name is called", async () => {
    await world.addChannel();
    // The 3rd of March 2027 is a Wednesday: 10:00 in Shanghai.
    const wednesday = Date.UTC(2027, 2, 3, 2);
    // When calls are made: the last day of February (a Sunday), Monday, Tuesday, today.
    const days = [-3, -2, -1, 0];
    const namesake = await seedToken(world.ctx, world.userId, "caller");
    await world.changeToken({ name: "caller" });
    let charged = 0;
    for (const day of days) {
      clock.advance(wednesday + day * DAY_MS - clock.now());
      charged = (await world.costOf(async () => (await world.ask(QUESTION)).text())).charged;
      await (await world.ask(QUESTION, { key: namesake.key })).text();
    }
    const answer = await fetch(`${world.url}/v1/key`, {
      headers: { authorization: `Bearer sk-${world.token.key}` },
    });
    const dollars = charged / 500_000;
    expect((await answer.json()).data).toMatchObject({
      usage: dollars * 4,
      usage_daily: dollars,
      usage_weekly: dollars * 3,
      usage_monthly: dollars * 3,
    });
  });
});
