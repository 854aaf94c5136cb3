// Limits through the management API (requirements L07): owners limit their tokens, administrators everybody below them, and each sees what
// holds for him, with what is used.
import { sql, type Transaction } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Limit } from "#contract/limit.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { findWindows } from "#server/store/limits.ts";
import type { Tables } from "#server/store/tables.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";

const DAY = { kind: "quota", amount: 1_000, time_window: "day" } as const;

describe.each(databases)("limits on $name", (database) => {
  let app: TestApp;
  let owner: { id: number; who: Who };
  let admin: { id: number; who: Who };
  let tokenId = 0;

  beforeAll(async () => {
    app = await createAppOn(database);
    owner = await seedUser(app.ctx, "owner");
    admin = await seedUser(app.ctx, "admin1", { role: 10 });
    tokenId = (await seedToken(app.ctx, owner.id)).id;
  });
  afterAll(() => app.close());

  /** A call of the token is running, and holds so much of a limit. */
  function reserve(call: { requestId: string; amount: bigint; limitId: number }) {
    const { limitId, ...rest } = call;
    const order = { ...rest, userId: owner.id, tokenId, modelName: "m", zone: "Asia/Shanghai" };
    return app.ctx.ledger.reserve({ ...order, limits: [{ limitId, holder: 0 }] });
  }

  test("an owner sets the limits of his token; what stays keeps its count, what is left out goes", async () => {
    const path = `/api/token/${tokenId}/limit`;
    const first = await app.call(owner.who, "PUT", path, { limits: [DAY, { kind: "rpm", amount: 5 }] });
    expect(first.data).toMatchObject([
      { ...DAY, subject: "token", used: 0 },
      { kind: "rpm", used: null, resets_at: 0 },
    ]);
    const [day] = first.data;
    // Its day ends, though no call came yet.
    expect(day.resets_at).toBeGreaterThan(app.ctx.clock.seconds());
    const requestId = "limits-api-1";
    expect(await reserve({ requestId, amount: 400n, limitId: day.id })).toBe("reserved");
    const second = await app.call(owner.who, "PUT", path, {
      limits: [{ ...DAY, id: day.id, amount: 2_000 }],
    });
    expect(second.data).toMatchObject([{ id: day.id, amount: 2_000, used: 400 }]);
    expect(second.data[0].resets_at).toBeGreaterThan(app.ctx.clock.seconds());
    // Another way of counting begins at zero, and the call that is running settles where it was reserved.
    const third = await app.call(owner.who, "PUT", path, {
      limits: [{ ...DAY, id: day.id, time_window: "week" }],
    });
    expect(third.data).toMatchObject([{ id: day.id, used: 0 }]);
    await app.ctx.ledger.release(requestId);
    expect((await app.call(owner.who, "PUT", path, { limits: [] })).data).toEqual([]);
    // Of several calls at the same moment the limits of one stay.
    const at = [1, 2, 3, 4].map((amount) =>
      app.call(owner.who, "PUT", path, { limits: [{ ...DAY, amount }] }),
    );
    expect((await Promise.all(at)).every(({ success }) => success)).toBe(true);
    expect((await app.call(owner.who, "GET", path)).data).toHaveLength(1);
    await app.call(owner.who, "PUT", path, { limits: [] });
    const strangers = await app.call(admin.who, "PUT", path, { limits: [] });
    expect(strangers).toMatchObject({ success: false, message: "找不到该令牌" });
  });

  if (database.name === "PostgreSQL")
    test("limits are changed in the order in which calls lock them, however they are sent", async () => {
      const path = `/api/token/${tokenId}/limit`;
      const sent = [DAY, { ...DAY, time_window: "week" }];
      const { data } = await app.call(owner.who, "PUT", path, { limits: sent });
      const [one, two] = data.map(({ id }: { id: number }) => id);
      const lock = (tx: Transaction<Tables>, id: number) =>
        sql`SELECT id FROM limits WHERE id = ${id} FOR UPDATE NOWAIT`.execute(tx);
      let changed: Promise<unknown> = Promise.resolve();
      await app.ctx.db.transaction().execute(async (tx) => {
        await lock(tx, one);
        const limits = [
          { ...DAY, id: two, amount: 5 },
          { ...DAY, id: one, amount: 6 },
        ];
        changed = app.call(owner.who, "PUT", path, { limits });
        const waiting = sql<{ waits: number }>`SELECT count(*) AS waits FROM pg_locks
          WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`;
        await expect.poll(async () => (await waiting.execute(tx)).rows[0]?.waits).toBe(1);
        // It waits for the first, and holds nothing that a call with the first would wait for.
        await lock(tx, two);
      });
      expect(await changed).toMatchObject({ success: true });
      await app.call(owner.who, "PUT", path, { limits: [] });
    });

  test("an administrator limits users below him, groups and models, and raises a limit once for a while, with a reason", async () => {
    const draft = { subject: "user", subject_id: owner.id, ...DAY };
    const { data: limit } = await app.call(admin.who, "POST", "/api/limit/", draft);
    expect(limit).toMatchObject({ ...draft, boost_amount: 0 });
    for (const subject_id of [1, admin.id])
      expect(await app.call(admin.who, "POST", "/api/limit/", { ...draft, subject_id })).toMatchObject({
        success: false,
      });
    const until = app.ctx.clock.seconds() + 60;
    const boost = (body: object) =>
      app.call(admin.who, "PUT", `/api/limit/${limit.id}/boost`, { reason: "赶工", ...body });
    expect((await boost({ amount: 5, until: 1 })).message).toBe("结束时间须在将来");
    expect((await boost({ amount: 500, until })).data).toMatchObject({
      boost_amount: 500,
      boost_until: until,
    });
    expect((await boost({ amount: 500, until })).message).toBe("该限额已在临时提高中，请先结束");
    expect((await boost({ amount: 0, until: 0 })).data).toMatchObject({ boost_amount: 0, boost_until: 0 });
    const { data: rows } = await app.call(asRoot, "GET", "/api/audit/?action=limit.boost");
    expect(rows[0].detail).toContain("赶工");
    await app.call(admin.who, "POST", "/api/limit/", {
      subject: "member",
      subject_name: "default",
      kind: "calls",
      amount: 9,
      time_window: "day",
    });
    await app.call(admin.who, "POST", "/api/limit/", {
      subject: "all",
      model_pattern: "gpt-*",
      kind: "tpm",
      amount: 99,
    });
    const ofAll = { subject: "group", subject_name: "default", ...DAY };
    const { data: shared } = await app.call(admin.who, "POST", "/api/limit/", ofAll);
    expect(shared).toMatchObject({ subject: "group", used: 0 });
    const { data: mine } = await app.call(owner.who, "GET", "/api/limit/self");
    // What all users of a group use together would tell each what the others do.
    expect(mine.map(({ subject, used }: { subject: string; used: number }) => [subject, used])).toEqual([
      ["user", 0],
      ["member", 0],
      ["group", null],
      ["all", null],
    ]);
    expect(
      (await app.call(admin.who, "GET", `/api/limit/?subject=user&subject_id=${owner.id}`)).data,
    ).toHaveLength(1);
    await app.call(admin.who, "PUT", "/api/limit/", { ...DAY, id: limit.id, amount: 700 });
    for (const { id } of (await app.call(admin.who, "GET", "/api/limit/")).data)
      await app.call(admin.who, "DELETE", `/api/limit/${id}`);
    // The log tells whose it was, and how much, when the limit itself is gone.
    const acts = (await app.call(asRoot, "GET", "/api/audit/?action=limit&size=100")).data;
    const detailOf = (action: string) => {
      const act = acts.find(
        (one: { action: string; target: string }) => one.action === action && one.target === `${limit.id}`,
      );
      return JSON.parse(act.detail);
    };
    const whose = { subject: "user", subject_id: owner.id };
    expect(detailOf("limit.update")).toMatchObject({ ...whose, amount: 700, before: { amount: 1_000 } });
    expect(detailOf("limit.delete")).toMatchObject({ ...whose, ...DAY, amount: 700 });
    expect((await app.call(owner.who, "GET", "/api/limit/self")).data).toEqual([]);
  });

  test("a limit says what it is of, what running calls hold, in which zone it counts, and that it is too small for any call", async () => {
    const path = `/api/token/${tokenId}/limit`;
    const { data } = await app.call(owner.who, "PUT", path, {
      limits: [DAY, { kind: "quota", amount: 499 }],
    });
    const requestId = "limits-api-2";
    await reserve({ requestId, amount: 300n, limitId: data[0].id });
    const { data: rows } = await app.call(owner.who, "GET", "/api/limit/self");
    const { data: token } = await app.call(owner.who, "GET", `/api/token/${tokenId}`);
    expect(rows).toMatchObject([
      { used: 300, reserved: 300, subject_label: token.name, time_zone: "Asia/Shanghai", is_small: false },
      { used: 0, reserved: 0, is_small: true },
    ]);
    await app.ctx.ledger.release(requestId);
    await app.call(owner.who, "PUT", path, { limits: [] });
  });

  test("another time zone begins days anew, whichever side of the old one its day began; the same one changes nothing", async () => {
    const path = `/api/token/${tokenId}/limit`;
    const { data } = await app.call(owner.who, "PUT", path, {
      limits: [DAY, { ...DAY, kind: "calls" }, { ...DAY, time_window: "total" }],
    });
    const limits = data.map(({ id }: { id: number }) => ({ limitId: id, holder: 0 }));
    const used = async () =>
      (await app.call(owner.who, "GET", path)).data.map((one: { used: number }) => one.used);
    const order = { userId: owner.id, tokenId, modelName: "m", limits };
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const zones = ["Asia/Shanghai", "America/New_York", "Pacific/Kiritimati", "UTC", "Asia/Shanghai"];
    const write = (value: string) =>
      app.call(asRoot, "PUT", "/api/option/", { key: "BudgetTimeZone", value });
    for (const [at, zone] of zones.entries()) {
      const requestId = `zone-${at}`;
      const spent = at * 50;
      expect(await app.ctx.ledger.reserve({ ...order, requestId, amount: 90n, zone })).toBe("reserved");
      expect((await write(zone)).success).toBe(true);
      expect(await used()).toEqual([90, 1, 90 + spent]);
      // Windows are known by the second they begin in.
      const second = app.ctx.clock.seconds();
      await expect.poll(() => app.ctx.clock.seconds()).toBeGreaterThan(second);
      expect((await write(zones[at + 1] ?? "Asia/Tokyo")).success).toBe(true);
      expect(await used()).toEqual([0, 0, 90 + spent]);
      // What ran meanwhile is booked where it was set aside.
      await app.ctx.ledger.settle({
        ...{ requestId, userId: owner.id, tokenId, channelId: 0, charge: 50n, usage, log: null },
      });
      expect(await used()).toEqual([0, 0, 50 + spent]);
    }
    expect(await checkLimits(app.ctx.db)).toEqual([]);
    await write("Asia/Shanghai");
    await app.call(owner.who, "PUT", path, { limits: [] });
  });

  test("lists come page by page with their total, and one limit is found by its id", async () => {
    const ids: number[] = [];
    for (let at = 0; at < 12; at += 1)
      ids.push(await seedLimit(app.ctx, { subject: "all", amount: 10 + at }));
    for (const [who, path] of [
      [admin.who, "/api/limit/"],
      [owner.who, "/api/limit/self"],
    ] as const) {
      const pages = await Promise.all(
        [0, 1, 2].map((page) => app.call(who, "GET", `${path}?p=${page}&size=5`)),
      );
      expect(pages.map(({ total, data }) => [total, data.length])).toEqual([
        [12, 5],
        [12, 5],
        [12, 2],
      ]);
      expect(pages.flatMap(({ data }) => data.map(({ id }: { id: number }) => id))).toEqual(ids);
    }
    const one = await app.call(admin.who, "GET", `/api/limit/?id=${ids[7]}`);
    expect([one.total, one.data]).toMatchObject([1, [{ id: ids[7], amount: 17 }]]);
    await dropLimits(app.ctx);
  });

  test("the windows of more limits than a statement takes parameters are read", async () => {
    const id = await seedLimit(app.ctx, { subject: "all", amount: 1_000 });
    const order = { userId: owner.id, tokenId, modelName: "m", zone: "UTC", amount: 7n };
    const limits = [{ limitId: id, holder: 0 }];
    expect(await app.ctx.ledger.reserve({ ...order, requestId: "many windows", limits })).toBe("reserved");
    await app.ctx.ledger.release("many windows");
    const many = Array.from({ length: 70_000 }, (_, at) => id - at);
    const windows = await findWindows(app.ctx.db, many, owner.id);
    expect(windows.filter(({ limit_id }) => limit_id === id)).toHaveLength(1);
    await dropLimits(app.ctx);
  });

  test("a user is told what he has used, never what a group or everybody has", async () => {
    const whole: number[] = [];
    const day = { amount: 1_000, time_window: "day" } as const;
    whole.push(await seedLimit(app.ctx, { ...day, subject: "group", subject_name: "default" }));
    whole.push(await seedLimit(app.ctx, { ...day, subject: "all" }));
    whole.push(await seedLimit(app.ctx, { ...day, subject: "all", time_window: "session" }));
    whole.push(
      await seedLimit(app.ctx, { ...day, subject: "all", kind: "calls", time_window: "rolling_day" }),
    );
    const own = await seedLimit(app.ctx, { ...day, subject: "user", subject_id: owner.id });
    const member = await seedLimit(app.ctx, { ...day, subject: "member", subject_name: "default" });
    const limits = [
      ...[...whole, own].map((limitId) => ({ limitId, holder: 0 })),
      { limitId: member, holder: owner.id },
    ];
    const order = { userId: owner.id, tokenId, modelName: "m", zone: "Asia/Shanghai", amount: 90n };
    expect(await app.ctx.ledger.reserve({ ...order, requestId: "told", limits })).toBe("reserved");
    const list = async (who: Who, path: string) => {
      const { data } = await app.call(who, "GET", path);
      return data.map(({ id, used, reserved, resets_at }: Limit) => [id, used, reserved, resets_at > 0]);
    };
    const mine = await list(owner.who, "/api/limit/self");
    expect(mine.filter(([id]: [number]) => !whole.includes(id))).toEqual([
      [own, 90, 90, true],
      [member, 90, 90, true],
    ]);
    // When a day ends is known to all; when a window began would tell of others.
    expect(mine.filter(([id]: [number]) => whole.includes(id))).toEqual(
      whole.map((id, at) => [id, null, 0, at < 2]),
    );
    const all = await list(admin.who, "/api/limit/?size=50");
    expect(all.find(([id]: [number]) => id === whole[0])).toEqual([whole[0], 90, 90, true]);
    await app.ctx.ledger.release("told");
    await dropLimits(app.ctx);
  });

  test("a limit for a group that no user has and no ratio names is refused with the name", async () => {
    const draft = { subject: "group", subject_name: "vpi", kind: "rpm", amount: 5 };
    expect((await app.call(admin.who, "POST", "/api/limit/", draft)).message).toBe(
      "没有名为“vpi”的分组，也没有用户属于它",
    );
    await seedUser(app.ctx, "odd", { group: "vpi" });
    const { data: limit } = await app.call(admin.who, "POST", "/api/limit/", draft);
    expect(limit).toMatchObject({ subject: "group", subject_name: "vpi" });
    await app.call(admin.who, "DELETE", `/api/limit/${limit.id}`);
  });

  test.each([
    [{ kind: "rpm", amount: -1 }],
    [{ kind: "cost", amount: 0.5 }],
    [{ kind: "cost", amount: -1 }],
    [{ kind: "quota", amount: 1e308 }],
    [{ kind: "rpm", amount: 1, mode: "soft" }],
    [{ kind: "quota", amount: 1, mode: "clamp" }],
    [{ kind: "quota", amount: 1, model_pattern: "*gpt" }],
    [{ kind: "quota", amount: 1, time_window: "month", anchor: 32 }],
    [{ kind: "quota", amount: 1, id: 4_711 }],
    [{ kind: "unknown", amount: 1 }],
  ])("%j is refused", async (draft) => {
    const answer = await app.call(owner.who, "PUT", `/api/token/${tokenId}/limit`, { limits: [draft] });
    expect(answer.success).toBe(false);
  });
});
