// Limits that are raised for a while by who may set them (requirements L14): of a token, a member, a project and a team, one raise at a time,
// with its reason in the audit log; it ends by itself, where calls are counted as well as where it is shown.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const DAY = { kind: "quota", amount: 100, time_window: "day" } as const;

describe.each(databases)("raised limits on $name", (database) => {
  const clock = fakeClock(Date.parse("2026-11-25T02:00:00Z"));
  let app: TestApp;
  let owner: SeededUser;
  let member: SeededUser;
  let stranger: SeededUser;
  let admin: SeededUser;
  let team = 0;
  let project = 0;
  let tokenId = 0;
  let serial = 0;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    owner = await seedUser(app.ctx, "owner");
    member = await seedUser(app.ctx, "member");
    stranger = await seedUser(app.ctx, "stranger");
    admin = await seedUser(app.ctx, "admin1", { role: 10 });
    tokenId = (await seedToken(app.ctx, owner.id)).id;
    const by = { kind: "adjust", actorId: 1, reason: "test" } as const;
    await app.ctx.ledger.adjust({ userId: owner.id, quota: { delta: 1_000_000n }, ...by });
    team = (await app.call(owner.who, "POST", "/api/team/", { name: "研发" })).data.id;
    const { data } = await app.call(owner.who, "POST", `/api/team/${team}/invitation`, { role: "member" });
    await app.call(member.who, "POST", "/api/team/invitation/accept", { code: data.code });
    project = (await app.call(owner.who, "POST", `/api/team/${team}/project`, { name: "网站" })).data.id;
  });
  afterAll(() => app.close());

  /** Whether a call of this amount fits now. */
  async function fits(limitId: number, amount: number): Promise<boolean> {
    const requestId = `boost-${++serial}`;
    const order = { requestId, userId: owner.id, tokenId, amount: BigInt(amount), modelName: "m" };
    const limits = [{ limitId, holder: 0 }];
    const verdict = await app.ctx.ledger.reserve({ ...order, limits, zone: "Asia/Shanghai" });
    if (verdict === "reserved") await app.ctx.ledger.release(requestId);
    return verdict === "reserved";
  }

  /** Whose limit it is, where it is set, and by whom. */
  const kinds = {
    token: () => ({ path: `/api/token/${tokenId}/limit`, who: owner.who, whose: {} }),
    "token of a user below": () => ({
      path: `/api/user/${owner.id}/token/${tokenId}/limit`,
      who: admin.who,
      whose: {},
    }),
    member: () => ({ path: `/api/team/${team}/member/limit`, who: owner.who, whose: { user_id: member.id } }),
    project: () => ({
      path: `/api/team/${team}/project/limit`,
      who: owner.who,
      whose: { project_id: project },
    }),
    team: () => ({ path: `/api/team/${team}/limit`, who: owner.who, whose: {} }),
  } as const;

  test.each(Object.keys(kinds) as (keyof typeof kinds)[])("of a %s", async (kind) => {
    const { path, who, whose } = kinds[kind]();
    const { data: set } = await app.call(who, "PUT", path, { ...whose, limits: [DAY] });
    const limit_id: number = set[0].id;
    const boost = (body: object, by = who) =>
      app.call(by, "PUT", `${path}/boost`, { limit_id, reason: "月底赶工", ...whose, ...body });
    const nowSec = clock.seconds();
    const until = nowSec + 3_600;
    expect(await fits(limit_id, 150)).toBe(false);
    for (const past of [1, nowSec])
      expect((await boost({ amount: 60, until: past })).message).toBe("结束时间须在将来");
    for (const wrong of [{ amount: -1 }, { amount: 5, reason: " " }, { amount: 5, limit_id: 987_654_321 }])
      expect((await boost({ until, ...wrong })).success).toBe(false);
    for (const by of [stranger.who, member.who])
      expect((await boost({ amount: 60, until }, by)).success, "a stranger").toBe(false);
    // Of two at once one is told that there is another.
    const both = await Promise.all([boost({ amount: 60, until }), boost({ amount: 60, until })]);
    expect(both.map(({ success }) => success).sort()).toEqual([false, true]);
    expect(both.find(({ success }) => success)?.data).toMatchObject([
      { id: limit_id, boost_amount: 60, boost_until: until, boost_reason: "月底赶工" },
    ]);
    expect((await boost({ amount: 60, until })).message).toBe("该限额已在临时提高中，请先结束");
    expect([await fits(limit_id, 160), await fits(limit_id, 161)]).toEqual([true, false]);
    const { data: entries } = await app.call(asRoot, "GET", "/api/audit/?action=limit.boost");
    expect(entries[0]).toMatchObject({ target: String(limit_id) });
    const before = { amount: 0, until: 0, reason: "" };
    expect(JSON.parse(entries[0].detail)).toMatchObject({ amount: 60, until, reason: "月底赶工", before });
    // Setting the limits as they are leaves it raised.
    await app.call(who, "PUT", path, { ...whose, limits: [{ ...DAY, id: limit_id }] });
    expect(await fits(limit_id, 160)).toBe(true);
    // It ends by itself: no job runs, and no user acts.
    clock.advance(3_600_000);
    expect(await fits(limit_id, 101)).toBe(false);
    // Then it may be raised again, and ended at once.
    expect((await boost({ amount: 5, until: until + 3_600 })).success).toBe(true);
    expect(await fits(limit_id, 105)).toBe(true);
    expect((await boost({ amount: 0, until: 0 })).data).toMatchObject([{ boost_amount: 0, boost_until: 0 }]);
    // What it ended, and before that what had ended by itself.
    const { data: later } = await app.call(asRoot, "GET", "/api/audit/?action=limit.boost");
    const told = later.map(({ detail }: { detail: string }) => JSON.parse(detail));
    expect(told.slice(0, 2)).toMatchObject([
      { amount: 0, before: { amount: 5, until: until + 3_600 } },
      { amount: 5, before: { amount: 60, until } },
    ]);
    expect(await fits(limit_id, 101)).toBe(false);
    await app.call(who, "PUT", path, { ...whose, limits: [] });
    expect((await boost({ amount: 5, until: until + 7_200 })).message).toBe("找不到该限额");
  });

  test("a limit of another token is none of this one's", async () => {
    const other = (await seedToken(app.ctx, stranger.id)).id;
    const { data } = await app.call(stranger.who, "PUT", `/api/token/${other}/limit`, { limits: [DAY] });
    const body = { limit_id: data[0].id, amount: 5, until: clock.seconds() + 60, reason: "r" };
    const answer = await app.call(owner.who, "PUT", `/api/token/${tokenId}/limit/boost`, body);
    expect(answer).toMatchObject({ success: false, message: "找不到该限额" });
  });

  test("what was counted in one zone does not fill the window of another", async () => {
    const { path, who } = kinds.token();
    const { data } = await app.call(who, "PUT", path, { limits: [DAY] });
    const limits = [{ limitId: data[0].id, holder: 0 }];
    const order = { userId: owner.id, tokenId, amount: 90n, modelName: "m", limits };
    const reserve = (requestId: string, zone: string) =>
      app.ctx.ledger.reserve({ ...order, requestId, zone });
    expect(await reserve("zone-1", "Asia/Shanghai")).toBe("reserved");
    expect(await reserve("zone-2", "Asia/Shanghai")).toMatchObject({ used: 90n });
    // The same moment: the day of UTC began eight hours after that of Shanghai.
    expect(await reserve("zone-3", "UTC")).toBe("reserved");
    expect(await reserve("zone-4", "UTC")).toMatchObject({ used: 90n });
    for (const id of ["zone-1", "zone-3"]) await app.ctx.ledger.release(id);
  });
});
