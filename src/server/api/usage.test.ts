import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import type { RelayDone } from "#server/events.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 2027-01-15 08:00:00 UTC, 16:00 in Shanghai. */
const START_SEC = 1_800_000_000;

describe.each(databases)("the reports of the dashboard on $name", (database) => {
  const clock = fakeClock(START_SEC * 1000);
  let app: TestApp;
  let alice: SeededUser;
  let bob: SeededUser;
  let channelId: number;
  let calls = 0;

  /** A call as the relay books and reports it. */
  async function call(user: SeededUser, change: Partial<RelayDone> & { name?: string } = {}): Promise<void> {
    calls += 1;
    const { name = "main", ...told } = change;
    const tokens = app.ctx.db.selectFrom("tokens").select("id").where("user_id", "=", user.id);
    const known = await tokens.where("name", "=", name).executeTakeFirst();
    const tokenId = known?.id ?? (await seedToken(app.ctx, user.id, name)).id;
    const event: RelayDone = {
      requestId: `u${calls}`,
      endpoint: "chat",
      model: "m-a",
      userId: user.id,
      tokenId,
      channelId,
      status: 200,
      fault: "",
      isStream: false,
      attempts: 1,
      promptTokens: 10,
      completionTokens: 4,
      chargedQuota: 5,
      elapsedMs: 900,
      firstByteMs: 300,
      ...told,
    };
    if (event.fault === "") {
      const order = {
        requestId: event.requestId,
        userId: user.id,
        tokenId,
        amount: BigInt(event.chargedQuota),
      };
      await app.ctx.ledger.reserve({ ...order, modelName: event.model });
      await app.ctx.ledger.settle({
        ...order,
        channelId: event.channelId,
        charge: order.amount,
        usage: { promptTokens: 10, completionTokens: 4, cachedTokens: 0 },
        log: {
          content: "",
          model_name: event.model,
          elapsed_time: 900,
          first_byte_time: 300,
          is_stream: 0,
          estimated: 0,
          trail: "",
        },
      });
    }
    app.ctx.events.relayDone(event);
  }

  const failAt = (id: number) =>
    app.ctx.events.channelFailed({
      requestId: "f",
      channelId: id,
      code: "upstream_error",
      status: 500,
      willRetry: true,
      detail: "",
    });

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    [alice, bob] = [await seedUser(app.ctx, "alice"), await seedUser(app.ctx, "bob")];
    channelId = await seedChannel(app.ctx.db, { name: "主线路" });
    await call(alice, { model: "old", chargedQuota: 100 });
    clock.advance(7 * DAY_MS);
    await call(alice, { isStream: true, firstByteMs: 200 });
    await call(alice, { isStream: true, firstByteMs: 400, name: "batch", chargedQuota: 7 });
    await call(alice, { fault: "insufficient_quota", status: 403, channelId: 0 });
    // Half past midnight in Shanghai: the next day there, the same in UTC.
    clock.advance(8.5 * HOUR_MS);
    await call(alice, { model: "m-b", chargedQuota: 30, fault: "" });
    await call(bob, { fault: "client_gone", status: 499 });
    await call(bob, { chargedQuota: 90 });
    failAt(channelId);
    failAt(77);
  });
  afterAll(() => app.close());

  test("cut days where the reader's day begins, and leave out what is older", async () => {
    const shanghai = (await app.call(alice.who, "GET", "/api/user/usage?days=7&offset=480")).data;
    const firstDay = START_SEC + 7 * 86_400 - 16 * 3_600;
    expect(shanghai.start).toBe(firstDay - 5 * 86_400);
    expect(
      shanghai.daily.map(({ day, model_name, quota }: Record<string, number>) => [day, model_name, quota]),
    ).toEqual([
      [firstDay, "m-a", 12],
      [firstDay + 86_400, "m-b", 30],
    ]);
    const utc = (await app.call(alice.who, "GET", "/api/user/usage")).data;
    expect(utc.daily.map(({ day }: { day: number }) => day)).toEqual(Array(2).fill(firstDay + 8 * 3_600));
    // 2027-01-22 is a Friday.
    expect(utc.weekly).toEqual([
      { hour: 4 * 24 + 8, requests: 2, quota: 12 },
      { hour: 4 * 24 + 16, requests: 1, quota: 30 },
    ]);
    expect(shanghai.weekly.map(({ hour }: { hour: number }) => hour)).toEqual([4 * 24 + 16, 5 * 24]);
    expect(utc.previous).toEqual({ quota: 100, prompt_tokens: 10, completion_tokens: 4, requests: 1 });
    expect((await app.call(alice.who, "GET", "/api/user/usage?days=8")).data.daily).toHaveLength(3);
  });

  test("show a user the outcomes of the own calls, and which token spent most", async () => {
    const { data } = await app.call(alice.who, "GET", "/api/user/usage?days=7");
    expect(data.outcomes).toEqual([
      { day: data.start + 6 * 86_400, calls: 4, failures: 1, first_byte_ms: 300 },
    ]);
    expect(data.tokens.map(({ token_name, quota }: Record<string, unknown>) => [token_name, quota])).toEqual([
      ["main", 35],
      ["batch", 7],
    ]);
    expect(JSON.stringify(data)).not.toContain("主线路");
  });

  test("show administrators all users, channels and their failures, also of channels without an answer", async () => {
    const { data } = await app.call(asRoot, "GET", "/api/usage?days=7");
    expect(data.users.map(({ username, quota }: Record<string, unknown>) => [username, quota])).toEqual([
      ["bob", 90],
      ["alice", 42],
    ]);
    expect(data.channels).toMatchObject([
      { channel_id: channelId, name: "主线路", quota: 132, calls: 6, failures: 1, first_byte_ms: 300 },
      { channel_id: 77, name: "", quota: 0, calls: 1, failures: 1 },
    ]);
    expect(data.outcomes).toMatchObject([{ calls: 6, failures: 1 }]);
    expect((await app.call(alice.who, "GET", "/api/usage")).success).toBe(false);
  });

  test("name the eight models that cost most, and sum the others", async () => {
    const carol = await seedUser(app.ctx, "carol");
    for (let index = 1; index <= 10; index += 1)
      await call(carol, { model: `m${index}`, chargedQuota: index });
    const { data } = await app.call(carol.who, "GET", "/api/user/usage");
    const names = data.daily.map((row: Record<string, unknown>) => [row["model_name"], row["quota"]]);
    expect(names).toHaveLength(9);
    expect(names).toContainEqual(["m10", 10]);
    expect(names.at(-1)).toEqual(["", 1 + 2]);
  });

  test("take any number as it is, or the default", async () => {
    for (const query of ["days=0", "days=91", "days=x", "offset=1440", "offset=-60", "days="])
      expect((await app.call(alice.who, "GET", `/api/user/usage?${query}`)).data.days, query).toBe(7);
    expect((await app.call(alice.who, "GET", "/api/user/usage?days=90")).data.days).toBe(90);
  });

  test("keep what was counted when the process ends", async () => {
    await call(bob);
    await app.ctx.traffic.close();
    const row = await app.ctx.db
      .selectFrom("traffic_hours")
      .select((select) => select.fn.sum<number>("calls").as("calls"))
      .where("scope", "=", "user")
      .where("id", "=", bob.id)
      .executeTakeFirstOrThrow();
    expect(Number(row.calls)).toBe(3);
  });
});
