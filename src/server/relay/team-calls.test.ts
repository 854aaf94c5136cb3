// Calls with a team's token, over real HTTP (requirements O01, O08, O09): the wallet pays, also for a member who has nothing himself,
// exactly; the status of the person and of the team count on every node within a moment.
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { LogType } from "#contract/log.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { setUserStatus } from "#server/store/users.ts";
import { chatReply, chunk, DONE, json, usageChunk } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot } from "#test/worlds/app.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import { createCallNodes } from "#test/worlds/nodes.ts";
import { engines } from "#test/worlds/stores.ts";
import { moveToken, seedMember, seedProject, seedTeam } from "#test/worlds/teams.ts";

const USAGE = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const ANSWER = json({ ...chatReply("hi"), usage: USAGE });
const ASK = { model: "gpt-4", messages: [{ role: "user", content: "hello world" }], max_tokens: 5 };

describe.each(engines)("calls of a team on %s", (engine) => {
  const nodes = createCallNodes(engine, { count: 2 });
  const { urls, first } = nodes;
  let serial = 0;

  beforeAll(async () => {
    // Only the team's group reaches it.
    await nodes.addChannel("vip");
    nodes.upstream.script(ANSWER);
  });
  afterEach(async () => {
    expect(await checkLedger(first().ctx.db)).toEqual([]);
  });

  /** A person with a dollar, and a token that a team pays for. */
  async function member(quota: bigint) {
    serial += 1;
    const { ctx } = first();
    const { id: userId } = await seedUser(ctx, `${engine === "sqlite" ? "s" : "p"}${serial}team`);
    const { id: tokenId, key } = await seedToken(ctx, userId);
    const { walletId } = await seedTeam(ctx.db, ctx.ledger, { quota, group: "vip" });
    await moveToken(ctx.db, tokenId, { wallet_id: walletId });
    await seedMember(ctx.db, userId, walletId);
    return { userId, walletId, tokenId, key };
  }

  async function ask(key: string, at = 0): Promise<{ status: number; text: string }> {
    const response = await fetch(`${urls[at % urls.length]}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(ASK),
    });
    return { status: response.status, text: await response.text() };
  }

  const statusOf = async (key: string, at: number) => (await ask(key, at)).status;

  async function quotaOf(id: number): Promise<number> {
    const row = await first()
      .ctx.db.selectFrom("users")
      .select("quota")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return row.quota;
  }

  test("the team's group and wallet serve; exactly as many calls pass as the wallet pays for", async () => {
    const one = await member(1_000_000n);
    expect((await ask(one.key)).status).toBe(200);
    const cost = 1_000_000 - (await quotaOf(one.walletId));
    expect(cost).toBeGreaterThan(0);
    expect(await quotaOf(one.userId)).toBe(500_000);

    const { userId, walletId, key } = await member(BigInt(cost) * 7n);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => ask(key, at)));
    let passed = answers.filter(({ status }) => status === 200).length;
    // More are refused while those that pass are running, and have set aside more than they cost.
    while ((await ask(key)).status === 200) passed += 1;
    expect(passed).toBe(7);
    expect(await quotaOf(walletId)).toBe(0);
    expect(await quotaOf(userId)).toBe(500_000);
  });

  test("a person without quota calls, and is told nothing of the wallet", async () => {
    const { userId, key, walletId } = await member(1_000_000n);
    const { ledger } = first().ctx;
    await ledger.adjust({ userId, kind: "adjust", quota: { target: 0n }, actorId: userId, reason: "test" });
    expect((await ask(key)).status).toBe(200);
    const used = 1_000_000 - (await quotaOf(walletId));
    await first().ctx.options.set("DisplayTokenStatEnabled", "false");
    await first().ctx.options.set("DisplayInCurrencyEnabled", "false");
    const response = await fetch(`${urls[0]}/v1/dashboard/billing/usage`, {
      headers: { authorization: `Bearer sk-${key}` },
    });
    expect(await response.json()).toEqual({ object: "list", total_usage: used * 100 });
  });

  test.each([
    ["person", "user_disabled"],
    ["team", "team_disabled"],
  ] as const)("a %s that is disabled is refused on every node", async (whose, code) => {
    const { userId, walletId, key } = await member(1_000_000n);
    for (const at of urls.keys()) expect((await ask(key, at)).status).toBe(200);
    const id = whose === "person" ? userId : walletId;
    await setUserStatus(first().ctx.db, id, 1, 2);
    await first().ctx.coord.publish("users", String(id));
    for (const at of urls.keys())
      await vi.waitFor(
        async () => {
          const { status, text } = await ask(key, at);
          expect(status).toBe(403);
          expect(text).toContain(code);
        },
        { timeout: 10_000 },
      );
  });

  /** The membership's id and the team's wallet are what limits name. */
  async function seatOf(userId: number): Promise<number> {
    const seats = first().ctx.db.selectFrom("team_members").select("id").where("user_id", "=", userId);
    return (await seats.executeTakeFirstOrThrow()).id;
  }

  test.each(["seat", "project", "team"] as const)(
    "a limit of the %s lets exactly so many calls pass",
    async (subject) => {
      const { userId, walletId, tokenId, key } = await member(1_000_000n);
      const project_id = await seedProject(first().ctx.db, walletId);
      await moveToken(first().ctx.db, tokenId, { wallet_id: walletId, project_id });
      const subject_id = { seat: await seatOf(userId), project: project_id, team: walletId }[subject];
      await seedLimit(first().ctx, { subject, subject_id, kind: "calls", amount: 5, time_window: "day" });
      // The key was never seen before: no node remembers it without the limit.
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(key, at)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
      const rows = first().ctx.db.selectFrom("logs").select("id").where("member_id", "=", userId);
      const { spent, reserved } = await first()
        .ctx.db.selectFrom("limit_windows")
        .innerJoin("limits", "limits.id", "limit_windows.limit_id")
        .select(["spent", "reserved"])
        .where("limits.subject", "=", subject)
        .where("limits.subject_id", "=", subject_id)
        .executeTakeFirstOrThrow();
      expect({ spent, reserved }).toEqual({ spent: 5, reserved: 0 });
      expect(await rows.where("type", "=", LogType.consume).execute()).toHaveLength(5);
      const costs = first().ctx.db.selectFrom("log_sums").select("requests");
      const ofProject = costs.where("dimension", "=", "project").where("key", "=", String(project_id));
      expect(await ofProject.execute()).toEqual([{ requests: 5 }]);
    },
  );

  test("the token of a user who is no member any more is refused on every node", async () => {
    const { userId, walletId, key } = await member(1_000_000n);
    for (const at of urls.keys()) expect((await ask(key, at)).status).toBe(200);
    const before = await quotaOf(walletId);
    await first().ctx.db.deleteFrom("team_members").where("user_id", "=", userId).execute();
    await first().ctx.coord.publish("users", String(userId));
    for (const at of urls.keys())
      await vi.waitFor(async () => expect((await ask(key, at)).text).toContain("not_in_team"), {
        timeout: 10_000,
      });
    expect(await quotaOf(walletId)).toBeLessThanOrEqual(before);
  });

  test.each([
    ["goes on for whom his tokens are handed to", true],
    ["is refused within a second when his tokens end", false],
  ])("a stream of a member who is removed finishes, and the key %s", async (_, isHanded) => {
    const { ctx } = first();
    const one = await member(1_000_000n);
    const heir = await member(1_000_000n);
    await seedMember(ctx.db, heir.userId, one.walletId, "manager");
    const owner = await seedUser(ctx, `own${one.userId}`);
    await seedMember(ctx.db, owner.id, one.walletId, "owner");
    const teams = ctx.db.selectFrom("teams").select("id").where("wallet_id", "=", one.walletId);
    const { id: team } = await teams.executeTakeFirstOrThrow();
    // Each node has seen the key.
    for (const at of urls.keys()) expect((await ask(one.key, at)).status).toBe(200);
    const held = Promise.withResolvers<void>();
    const [begins, goesOn] = [chunk({ content: "be" }), chunk({ content: "gun" })];
    nodes.upstream.script(async (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(begins);
      await held.promise;
      res.end(goesOn + chunk({}, "stop") + usageChunk(USAGE) + DONE);
    });
    const before = await quotaOf(one.walletId);
    const running = await fetch(`${urls[0]}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${one.key}` },
      body: JSON.stringify({ ...ASK, stream: true }),
    });
    const query = `user_id=${one.userId}&heir_id=${isHanded ? heir.userId : 0}`;
    const gone = await first().call(owner.who, "DELETE", `/api/team/${team}/member?${query}`);
    expect(gone).toMatchObject({ success: true });
    nodes.upstream.script(ANSWER);
    await expect
      .poll(() => Promise.all(urls.map((_url, at) => statusOf(one.key, at))), {
        timeout: 1_000,
        interval: 50,
      })
      .toEqual(urls.map(() => (isHanded ? 200 : 401)));
    held.resolve();
    expect((await running.text()).trimEnd().endsWith(DONE.trimEnd())).toBe(true);
    const rows = () =>
      ctx.db
        .selectFrom("logs")
        .select("member_id")
        .where("user_id", "=", one.walletId)
        .where("is_stream", "=", 1)
        .execute();
    await expect.poll(rows).toEqual([{ member_id: one.userId }]);
    expect(await quotaOf(one.walletId)).toBeLessThan(before);
  });

  test("wallets are not among the people that administrators see", async () => {
    const { walletId } = await member(1n);
    const one = await first().call(asRoot, "GET", `/api/user/${walletId}`);
    expect(one).toMatchObject({ success: false });
    const found = await first().call(asRoot, "GET", "/api/user/search?keyword=wallet");
    expect(found).toMatchObject({ success: true, data: [] });
  });
});
