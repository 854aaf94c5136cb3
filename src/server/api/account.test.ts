import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureAffCode } from "#server/accounts/new-account.ts";
import { DAY_SEC, fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { findAffOwner } from "#server/store/partners.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { seedPassword, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("the own account beside its profile on $name", (database) => {
  // 2027-01-15 08:00:00 UTC.
  const clock = fakeClock(1_800_000_000_000);
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
  });
  afterAll(async () => {
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await app.close();
  });

  test("an access token is 32 hex characters, shown once, stored as a hash, and replaces the one before", async () => {
    const alice = await seedUser(app.ctx, "alice");
    const session = await app.login("alice", seedPassword);
    const { data: first } = await app.call(session, "GET", "/api/user/token");
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect((await app.call({ authorization: first }, "GET", "/api/user/self")).data.username).toBe("alice");
    expect((await app.call({ authorization: `Bearer ${first}` }, "GET", "/api/user/self")).success).toBe(
      true,
    );
    expect((await app.call(alice.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
    const { data: second } = await app.call(session, "GET", "/api/user/token");
    expect(second).not.toBe(first);
    expect((await app.call({ authorization: first }, "GET", "/api/user/self")).message).toBe("访问凭证无效");
    const rows = await app.ctx.db.selectFrom("users").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(second);
    for (const who of [{ authorization: second }, asRoot])
      for (const path of [
        "/api/user/self",
        "/api/user/",
        "/api/user/search?keyword=alice",
        `/api/user/${alice.id}`,
      ])
        expect(JSON.stringify(await app.call(who, "GET", path))).not.toContain(second);
  });

  test("a client that only answers a proxy's question for a password is not signed in", async () => {
    const through = { authorization: "Basic dTpw" };
    expect(await app.call(through, "GET", "/api/user/self")).toMatchObject({ status: 401, success: false });
    expect((await app.call({ authorization: "Digest username=u" }, "GET", "/api/user/self")).status).toBe(
      401,
    );
    await seedUser(app.ctx, "proxied");
    const session = await app.login("proxied", seedPassword);
    expect((await app.call({ ...session, ...through }, "GET", "/api/user/self")).success).toBe(true);
    // An unknown access token is not answered with a request to sign in (requirements W1.2).
    for (const authorization of ["0".repeat(32), `Bearer ${"0".repeat(32)}`, "bearer x y"])
      expect((await app.call({ authorization }, "GET", "/api/user/self")).status).toBe(200);
  });

  test("an invitation code has five upper-case characters without look-alikes, and stays", async () => {
    const bob = await seedUser(app.ctx, "bob");
    expect((await app.call(bob.who, "GET", "/api/user/aff")).data).toBe("BOB");
    await updateUserProfile(app.ctx.db, bob.id, { aff_code: "" });
    const codes = await Promise.all(
      Array.from({ length: 5 }, async () => (await app.call(bob.who, "GET", "/api/user/aff")).data),
    );
    expect(codes[0]).toMatch(/^[2-9A-HJ-NP-Z]{5}$/);
    expect(new Set(codes).size).toBe(1);
    expect((await getUser(app.ctx.db, bob.id)).aff_code).toBe(codes[0]);
  });

  test("an invitation code that is taken is drawn again, and belongs to one user in whatever case it is typed", async () => {
    const [one, two] = [await seedUser(app.ctx, "one"), await seedUser(app.ctx, "two")];
    await updateUserProfile(app.ctx.db, one.id, { aff_code: "AbCdE" });
    await updateUserProfile(app.ctx.db, two.id, { aff_code: "aBcDe" });
    const ownerOf = async (code: string) => (await findAffOwner(app.ctx.db, code))?.id;
    expect(await ownerOf("AbCdE")).toBe(one.id);
    expect(await ownerOf("aBcDe")).toBe(two.id);
    expect(await ownerOf("abcde")).toBeUndefined();
    await updateUserProfile(app.ctx.db, two.id, { aff_code: "XYZ99" });
    expect(await ownerOf("abcde")).toBe(one.id);
    expect(await ownerOf("xyz99")).toBe(two.id);
    for (const code of ["", "%", "_____", "nobody"]) expect(await ownerOf(code), code).toBeUndefined();
    expect(await ensureAffCode(app.ctx.db, one.id)).toBe("AbCdE");
  });

  test("the dashboard sums the last seven days by day and model, also after the log was cleared", async () => {
    const carol = await seedUser(app.ctx, "carol");
    const token = await seedToken(app.ctx, carol.id);
    let calls = 0;
    const call = async (model: string, charge: bigint) => {
      calls += 1;
      const order = {
        requestId: `d${calls}`,
        userId: carol.id,
        tokenId: token.id,
        amount: charge,
        modelName: model,
      };
      await app.ctx.ledger.reserve(order);
      await app.ctx.ledger.settle({
        ...order,
        channelId: 0,
        charge,
        usage: { promptTokens: 10, completionTokens: 4, cachedTokens: 0 },
        log: {
          content: "",
          model_name: model,
          elapsed_time: 1,
          first_byte_time: 1,
          is_stream: 0,
          estimated: 0,
          trail: "",
        },
      });
    };
    expect((await app.call(carol.who, "GET", "/api/user/dashboard")).data).toEqual([]);
    await call("gone", 1n);
    clock.advance(7 * DAY_SEC * 1000);
    await call("m-b", 5n);
    await call("m-a", 3n);
    clock.advance(3_600_000);
    await call("m-b", 6n);
    clock.advance(2 * DAY_SEC * 1000);
    await call("m-b", 9n);
    await app.ctx.db.deleteFrom("logs").where("user_id", "=", carol.id).execute();
    const row = (Day: string, ModelName: string, RequestCount: number, Quota: number) => ({
      Day,
      ModelName,
      RequestCount,
      Quota,
      PromptTokens: 10 * RequestCount,
      CompletionTokens: 4 * RequestCount,
    });
    expect((await app.call(carol.who, "GET", "/api/user/dashboard")).data).toEqual([
      row("2027-01-22", "m-a", 1, 3),
      row("2027-01-22", "m-b", 2, 11),
      row("2027-01-24", "m-b", 1, 9),
    ]);
    clock.advance(4 * DAY_SEC * 1000);
    expect((await app.call(carol.who, "GET", "/api/user/dashboard")).data).toHaveLength(3);
    clock.advance(DAY_SEC * 1000);
    expect((await app.call(carol.who, "GET", "/api/user/dashboard")).data).toEqual([
      row("2027-01-24", "m-b", 1, 9),
    ]);
  });

  test("a user who deletes the own account is signed out at once, and name, keys and sessions end", async () => {
    const dave = await seedUser(app.ctx, "dave");
    await seedToken(app.ctx, dave.id);
    const [session, other] = [await app.login("dave", seedPassword), await app.login("dave", seedPassword)];
    expect((await app.call(session, "DELETE", "/api/user/self?username=david")).message).toBe(
      "请输入您的账户名以确认删除",
    );
    expect((await app.call(session, "DELETE", "/api/user/self?username=dave")).success).toBe(true);
    for (const who of [session, other])
      expect((await app.call(who, "GET", "/api/user/self")).status).toBe(401);
    expect((await app.call(dave.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
    const row = await getUser(app.ctx.db, dave.id);
    expect(row.username).toMatch(/^deleted_[0-9a-f]{32}$/);
    expect(row).toMatchObject({ status: 3, quota: 500_000 });
    const living = app.ctx.db.selectFrom("tokens").select("id").where("user_id", "=", dave.id);
    expect(await living.where("deleted_at", "=", 0).execute()).toEqual([]);
    await seedUser(app.ctx, "dave");
  });

  test("with the human check on, an account is not deleted without a proof", async () => {
    const eve = await seedUser(app.ctx, "eve");
    await app.ctx.options.set("TurnstileSiteKey", "site");
    await app.ctx.options.set("TurnstileSecretKey", "secret");
    await app.ctx.options.set("TurnstileCheckEnabled", "true");
    expect((await app.call(eve.who, "DELETE", "/api/user/self")).message).toBe("请先完成人机验证");
    await app.ctx.options.set("TurnstileCheckEnabled", "false");
    expect((await getUser(app.ctx.db, eve.id)).status).toBe(1);
  });
});
